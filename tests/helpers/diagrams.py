"""Traces to draw, and what is in a drawing."""

import re
from functools import cache

import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, Patch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from tests.helpers.small import small
from tests.helpers.translators import DIMS, translator
from tformer_lite import (
    Block,
    DecoderOnly,
    EncoderDecoder,
    FusedAttention,
    Stack,
    join_heads,
    padding_mask,
    split_heads,
    trace,
)
from tformer_lite.drawing.surface.palette import HIGHLIGHT
from tformer_lite.drawing.surface.picture import Picture
from tformer_lite.model.models import InputEmbedding

SIZES = {"B": 4, "S": 7, "T": 5, "H": 2, "D": 8, "C": "H*D"}
LARGE = {"B": 32, "S": 100, "T": 90, "H": 8, "D": 16, "C": "H*D"}


def paper(B, S, T, H, D):
    """The paper's model: norms after the sums, fused projections."""
    sizes = {"d_model": H * D, "n_heads": H, "max_len": 128}
    config = small("paper_base", cross_attention="fused", **sizes)
    ids = [torch.randint(2, 9, (B, n)) for n in (S, T)]
    return EncoderDecoder(config).eval(), ids


class OneCall(FusedAttention):
    """Attention that PyTorch does in one call."""

    def forward(self, x, mask=None):
        heads = split_heads(self.qkv(x), self.n_heads).chunk(3, dim=-1)
        mixed = scaled_dot_product_attention(*heads, attn_mask=mask)
        return self.output(join_heads(mixed))


@cache
def traced(name: str):
    """Three models, two of them at two sizes, and names not proved."""
    if name == "kept writer":
        model, ids = decoder_only(2, 6, 2, 8)
        return trace(model, *ids, keep=True)
    if name == "unproved":
        model, ids = translator(2, 8, 8, 3, 4)
        return trace(model, *ids, dims=DIMS)
    build, dims = {
        "tiny": (translator, DIMS),
        "sizes": (translator, SIZES),
        "paper": (paper, SIZES),
        "large": (paper, LARGE),
        "writer": (decoder_only, {"B": 3, "T": 6, "H": 2, "D": 8, "C": "H*D"}),
    }[name]
    return trace(build=build, dims=dims)


def decoder_only(B, T, H, D):
    """A model that only writes, and ids for it."""
    config = small("char_lm", d_model=H * D, n_heads=H, max_len=T)
    return DecoderOnly(config).eval(), [torch.randint(2, 9, (B, T))]


class Reader(nn.Module):
    """An encoder alone, with a head: as BERT is."""

    def __init__(self, config):
        super().__init__()
        self.pad = config.pad
        self.embedding = InputEmbedding(config, config.vocab_size)
        self.encoder = Stack(config, Block)
        self.head = nn.Linear(config.d_model, 2)

    def forward(self, ids):
        mask = padding_mask(ids, self.pad)
        return self.head(self.encoder(self.embedding(ids), mask))


def lit(picture: Picture) -> list[Patch]:
    """What is in the colour of where we are: boxes, and the largest stop."""
    patches = [p for f in picture.figures for p in f.axes[0].patches]
    stops = [p for p in patches if isinstance(p, Circle) and p.radius == 8]
    return stops + [
        patch
        for patch in patches
        if patch.get_linewidth() == 2
        and to_hex(patch.get_facecolor()) == HIGHLIGHT[0]
    ]


def written_shapes(picture: Picture) -> list[str]:
    """The shapes in a drawing, put together from their columns."""
    texts = [x.get_text() for f in picture.figures for x in f.axes[0].texts]
    sizes = [text for text in texts if re.fullmatch(r"\(?\d+[,)]", text)]
    return re.findall(r"\([\d, ]+\)", " ".join(sizes))

"""Traces to draw, and what is in a drawing."""

from functools import cache

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from torch.nn.functional import scaled_dot_product_attention

from tests.helpers.small import small
from tests.helpers.translators import DIMS, translator
from tformer_lite import (
    EncoderDecoder,
    FusedAttention,
    join_heads,
    split_heads,
    trace,
    where,
)

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
    """Two models at two sizes each, and names that are not proved."""
    if name == "unproved":
        model, ids = translator(2, 8, 8, 3, 4)
        return trace(model, *ids, dims=DIMS)
    build, dims = {
        "tiny": (translator, DIMS),
        "sizes": (translator, SIZES),
        "paper": (paper, SIZES),
        "large": (paper, LARGE),
    }[name]
    return trace(build=build, dims=dims)


@cache
def drawn(name: str, part: str) -> Figure:
    """The map of a trace, ready to be measured."""
    figure = where(traced(name), part).figure
    figure.renderer = FigureCanvasAgg(figure).get_renderer()
    return figure


def boxes(figure: Figure) -> dict[FancyBboxPatch, Bbox]:
    """Every box and frame, and its place."""
    patches = figure.axes[0].patches
    found = [each for each in patches if isinstance(each, FancyBboxPatch)]
    return {box: box.get_window_extent() for box in found}


def written(figure: Figure) -> dict[Text, Bbox]:
    """Every text that says something, and its place."""
    render = figure.renderer
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    return {text: text.get_window_extent(render) for text in texts}


def holds(outer: Bbox, place: Bbox) -> bool:
    """Whether the middle of a place is in another."""
    middle = (place.x0 + place.x1) / 2, (place.y0 + place.y1) / 2
    return outer.contains(*middle)

"""Models that are right, however they differ: no property may object."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from gallery import planted
from tests.helpers.small import small
from tformer_lite import (
    Config,
    DecoderOnly,
    LayerNorm,
    running_example,
    running_model,
    tiny_translator,
    trained_translator,
)

Case = tuple[nn.Module, tuple[Tensor, ...]]


def seeded(build: Callable[[], nn.Module]) -> nn.Module:
    """A model with the same weights each time, in evaluation mode."""
    torch.manual_seed(0)
    return build().eval()


class Between(nn.Module):
    """Two embeddings and a head, and what a reader puts between them."""

    def __init__(self, body: nn.Module):
        super().__init__()
        self.tokens = nn.Embedding(1024, 12)
        self.places = nn.Embedding(8, 12)
        self.body = body
        self.head = nn.Linear(12, 1024)

    def embed(self, ids):
        return self.tokens(ids) + self.places(torch.arange(ids.shape[1]))

    def forward(self, ids):
        return self.head(self.body(self.embed(ids)))


class TorchTransformer(Between):
    """nn.Transformer between embeddings and a head, with all its masks."""

    def __init__(self):
        sizes = {"dim_feedforward": 48, "batch_first": True}
        sizes |= {"d_model": 12, "nhead": 3, "norm_first": True}
        layer = nn.TransformerEncoderLayer(**sizes)
        # Said outright, nested tensors give no warning about norm_first.
        encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        sizes |= {"num_decoder_layers": 2, "custom_encoder": encoder}
        super().__init__(nn.Transformer(**sizes))

    def forward(self, src, tgt):
        masks = {
            "tgt_mask": torch.ones(tgt.shape[1], tgt.shape[1]).triu(1).bool(),
            "src_key_padding_mask": src == 1,
            "tgt_key_padding_mask": tgt == 1,
            "memory_key_padding_mask": src == 1,
        }
        x = self.body(self.embed(src), self.embed(tgt), **masks)
        return self.head(x)


def masked_afterwards() -> nn.Module:
    """Softmax first, then the mask, then every row made to sum to 1. It is not
    trained: in half precision, larger scores of what is hidden would leave
    the others too few digits."""
    line = "heads = dot_product_attention(q, k, v, mask, self.dropout)"
    shares = "lambda w: w * mask / (w * mask).sum(-1, True).clamp(1e-9)"
    other = f"heads = dot_product_attention(q, k, v, None, {shares})"
    copy = planted("attention", line, other).running
    return copy.seeded_model(copy.EncoderDecoder, copy.tiny_translator, 1)


def running(config: Config = tiny_translator, **choices) -> Case:
    """The running model with another choice of parts, and the example."""
    return running_model(replace(config, **choices)), running_example()[:2]


def translating(build: Callable[[], nn.Module]) -> Case:
    """A model, and the example."""
    return seeded(build), running_example()[:2]


def alone(build: Callable[[], nn.Module]) -> Case:
    """A model of one sequence, and the example's targets."""
    return seeded(build), running_example()[1:2]


WORDS = {"vocab_size": 1024, "src_vocab_size": 1024}
LEGITIMATE: dict[str, Callable[[], Case]] = {
    "the running model": running,
    "post-norm": partial(running, residual="post"),
    "PyTorch's norm": partial(running, norm="layer"),
    "the written norm": partial(running, norm=LayerNorm),
    "RMSNorm": partial(running, norm=nn.RMSNorm),
    "one matrix for q, k and v": partial(running, attention="fused"),
    "sinusoids": partial(running, positions="sinusoidal"),
    "no positions": partial(running, positions="none"),
    "a sliding window": partial(running, window=4),
    "a narrow window": partial(running, window=2),
    "biases and GELU": partial(running, bias=True, activation="gelu"),
    "rotations": partial(running, positions="rotary"),
    "shared keys and values": partial(running, n_kv_heads=1),
    "gated": partial(running, feed_forward="gated", activation="silu"),
    "experts": partial(running, feed_forward="mixture"),
    "attention in tiles": partial(running, attention="tiled"),
    "three layers": partial(running, n_layers=3),
    "dropout in training": partial(running, dropout=0.3),
    "unscaled tokens": partial(running, embedding="plain"),
    "shrunk tokens": partial(running, embedding="shrunk"),
    "mask, and then sum to 1": partial(translating, masked_afterwards),
    "trained": partial(translating, lambda: trained_translator().model),
    "source 001": partial(running, small("building_blocks", **WORDS)),
    "source 002": partial(
        alone, partial(DecoderOnly, small("char_lm", vocab_size=1024))
    ),
    "source 003": partial(running, small("paper_base", **WORDS)),
    "source 004": partial(running, small("bert_window", **WORDS, pad=1)),
    "nn.Transformer": partial(translating, TorchTransformer),
}

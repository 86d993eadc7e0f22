"""The parts that a `Config` names, looked up and built."""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.nn import functional

from tformer_lite.model.attention import MultiHeadAttention
from tformer_lite.model.bert import BertEmbedding
from tformer_lite.model.config import Config
from tformer_lite.model.efficient import MixtureOfExperts, TiledAttention
from tformer_lite.model.layers import (
    FeedForward,
    LayerNorm,
    LearnedPositions,
    PostNorm,
    PreNorm,
    SinusoidalPositions,
    TokenEmbedding,
)
from tformer_lite.model.masks import causal_mask
from tformer_lite.model.modern import (
    GatedFeedForward,
    GroupedQueryAttention,
    RotaryAttention,
    RotaryGroupedAttention,
)
from tformer_lite.model.variants import (
    FusedAttention,
    FusedCrossAttention,
    PlainEmbedding,
    ShrunkEmbedding,
    UnbiasedNorm,
    gelu,
    gelu_tanh,
    sliding_mask,
)

EMBEDDINGS: dict[str, Callable] = {
    "scaled": TokenEmbedding,
    "plain": PlainEmbedding,
    "shrunk": ShrunkEmbedding,
}
POSITIONS: dict[str, Callable] = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
    "none": nn.Identity,
}
PARTS: dict[str, dict[str, Callable]] = {
    "embedding": EMBEDDINGS,
    "positions": POSITIONS,
    "src_embedding": EMBEDDINGS | {"bert": BertEmbedding},
    "src_positions": POSITIONS,
    "attention": {
        "split": MultiHeadAttention,
        "fused": FusedAttention,
        "rotary": RotaryAttention,
        "grouped": GroupedQueryAttention,
        "rotary_grouped": RotaryGroupedAttention,
        "tiled": TiledAttention,
    },
    "cross_attention": {
        "split": MultiHeadAttention,
        "fused": FusedCrossAttention,
        "rotary": MultiHeadAttention,
        "grouped": GroupedQueryAttention,
        "rotary_grouped": GroupedQueryAttention,
        "tiled": TiledAttention,
    },
    "feed_forward": {
        "plain": FeedForward,
        "gated": GatedFeedForward,
        "mixture": MixtureOfExperts,
    },
    "mask": {"causal": causal_mask, "sliding": sliding_mask},
    "residual": {"pre": PreNorm, "post": PostNorm},
    "norm": {
        "layer": nn.LayerNorm,
        "written": LayerNorm,
        "unbiased": UnbiasedNorm,
        "rms": nn.RMSNorm,
    },
    "activation": {
        "relu": torch.relu,
        "gelu": functional.gelu,
        "gelu_tanh": partial(functional.gelu, approximate="tanh"),
        "gelu_written": gelu,
        "gelu_tanh_written": gelu_tanh,
        "silu": functional.silu,
    },
}


def choose(config: Config, kind: str) -> Callable:
    """Look up the part that a config names, or take the one it brings.

    `src_...` and `cross_...` fall back on the choice without the prefix.
    Raises ValueError for an unknown name, listing the known.
    """
    common = kind.removeprefix("src_").removeprefix("cross_")
    field = kind if getattr(config, kind) else common
    choice = getattr(config, field)
    if callable(choice):
        return choice
    known = PARTS[kind]
    if choice not in known:
        raise ValueError(
            f"{field}={choice!r} is unknown: choose one of "
            f"{', '.join(PARTS[field])}, or give a part of your own."
        )
    return known[choice]


def make_attention(config: Config, kind: str = "attention") -> nn.Module:
    """Build self-attention, or cross-attention with its kind."""
    numbers = config.d_model, config.n_heads, config.bias, config.dropout
    return choose(config, kind)(*numbers)


def make_feed_forward(config: Config) -> nn.Module:
    """Build the feed-forward layer of a block."""
    build = choose(config, "feed_forward")
    sizes = config.d_model, config.d_ff
    activation = choose(config, "activation")
    return build(*sizes, activation, config.bias, config.dropout)


def make_residuals(config: Config, n: int) -> nn.ModuleList:
    """Build the residual connections around n sublayers."""
    build, norm = choose(config, "residual"), choose(config, "norm")
    numbers = config.d_model, norm, config.dropout
    return nn.ModuleList(build(*numbers) for _ in range(n))

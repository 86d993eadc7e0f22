"""The parts that a `Config` names: a table for each choice, and what builds
a part from a config's numbers.

Of a part that stands in the room `parts`, a table has the place: it is
imported when it is chosen.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tformer_lite.model.attention import MultiHeadAttention
from tformer_lite.model.checks import check_pairs
from tformer_lite.model.config import Config
from tformer_lite.model.layers import (
    FeedForward,
    LearnedPositions,
    SinusoidalPositions,
    TokenEmbedding,
)
from tformer_lite.model.masks import causal_mask, sliding_mask


class Parts(Mapping[str, Any]):
    """Parts by their names; `field` is the choice that a `Config` makes.

    A part of the reader's own, which is no name, is given back as it is. A
    name that is unknown raises ValueError, listing the known.
    """

    def __init__(self, field: str, **places: Any):
        self.field, self.places = field, places

    def __getitem__(self, choice: Any) -> Any:
        """Give the part of this name, or the one that is given."""
        if not isinstance(choice, str):
            return choice
        if choice not in self:
            raise ValueError(
                f"{self.field}={choice!r} is unknown: choose one of "
                f"{', '.join(self)}, or give a part of your own."
            )
        place = self.places[choice]
        return other_form(place) if isinstance(place, str) else place

    def __contains__(self, choice: Any) -> bool:
        return choice in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def other_form(place: str) -> Any:
    """Import a part of the room `parts`, such as "modern.rotate"."""
    file, _, name = place.partition(".")
    return getattr(import_module(f"tformer_lite.parts.{file}"), name)


EMBEDDINGS = Parts(
    "embedding",
    scaled=TokenEmbedding,
    plain="variants.PlainEmbedding",
    shrunk="variants.ShrunkEmbedding",
)
SRC_EMBEDDINGS = Parts(
    "src_embedding", **EMBEDDINGS.places, bert="bert.BertEmbedding"
)
# Rotary positions are not added to words: attention turns by them.
POSITIONS = Parts(
    "positions",
    sinusoidal=SinusoidalPositions,
    learned=LearnedPositions,
    rotary=nn.Identity,
    none=nn.Identity,
)
SRC_POSITIONS = Parts("src_positions", **POSITIONS.places)
ATTENTIONS = Parts(
    "attention",
    split=MultiHeadAttention,
    fused="variants.FusedAttention",
    tiled="efficient.TiledAttention",
)
CROSS_ATTENTIONS = Parts(
    "cross_attention",
    split=MultiHeadAttention,
    fused="variants.FusedCrossAttention",
    tiled="efficient.TiledAttention",
)
FEED_FORWARDS = Parts(
    "feed_forward",
    plain=FeedForward,
    gated="modern.GatedFeedForward",
    mixture="efficient.MixtureOfExperts",
)
NORMS = Parts(
    "norm",
    layer=nn.LayerNorm,
    unbiased="variants.UnbiasedNorm",
    rms=nn.RMSNorm,
)
ACTIVATIONS = Parts(
    "activation",
    relu=torch.relu,
    gelu=functional.gelu,
    gelu_tanh=partial(functional.gelu, approximate="tanh"),
    silu=functional.silu,
)
# By field. The blocks of `residual` stand beside them, in models.py.
PARTS = {
    table.field: table
    for table in (
        EMBEDDINGS,
        SRC_EMBEDDINGS,
        POSITIONS,
        SRC_POSITIONS,
        ATTENTIONS,
        CROSS_ATTENTIONS,
        FEED_FORWARDS,
        NORMS,
        ACTIVATIONS,
    )
}


def make_attention(config: Config) -> nn.Module:
    """Build self-attention; ValueError for heads that cannot be turned."""
    part = ATTENTIONS[config.attention]
    if config.positions != "rotary":
        return with_groups(part, config)
    attention = with_groups(part, config, place=other_form("modern.rotate"))
    check_pairs(config.d_model // config.n_heads)
    return attention


def make_cross_attention(config: Config) -> nn.Module:
    """Build cross-attention: of its own kind, or of self-attention's."""
    kind = config.cross_attention or config.attention
    return with_groups(CROSS_ATTENTIONS[kind], config)


def with_groups(part: Callable, config: Config, **extra: Any) -> nn.Module:
    """Build an attention whose heads share keys, if the config says so."""
    if config.n_kv_heads is not None:
        extra["n_kv_heads"] = config.n_kv_heads
    numbers = config.d_model, config.n_heads, config.bias, config.dropout
    return part(*numbers, **extra)


def make_feed_forward(config: Config) -> nn.Module:
    """Build the feed-forward layer of a block."""
    part = FEED_FORWARDS[config.feed_forward]
    activation = ACTIVATIONS[config.activation]
    sizes = config.d_model, config.d_ff
    return part(*sizes, activation, config.bias, config.dropout)


def make_norms(config: Config, n: int) -> nn.ModuleList:
    """Build the norms of n sublayers."""
    norm = NORMS[config.norm]
    return nn.ModuleList(norm(config.d_model) for _ in range(n))


def make_mask(config: Config) -> Callable[..., Tensor]:
    """Give the function of T and a device that hides the future."""
    if config.window is not None and config.mask is not None:
        raise ValueError(
            f"window={config.window} and a mask of your own: give one of them."
        )
    if config.window is not None:
        return partial(sliding_mask, width=config.window)
    return config.mask or causal_mask


def source_side(config: Config) -> Config:
    """Give a config whose embedding and positions are the source's."""
    choice: dict[str, Any] = {}
    if config.src_embedding is not None:
        choice["embedding"] = SRC_EMBEDDINGS[config.src_embedding]
    if config.src_positions is not None:
        part = SRC_POSITIONS[config.src_positions]  # known, or one's own
        rotary = config.src_positions == "rotary"
        choice["positions"] = "rotary" if rotary else part
    return replace(config, **choice)

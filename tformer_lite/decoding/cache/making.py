"""Which models can keep what they have read."""

from collections.abc import Callable

from torch import nn

from tformer_lite.decoding.cache.attention import CACHED
from tformer_lite.decoding.cache.continued import Continued, Recomputed
from tformer_lite.decoding.cache.models import (
    CachedDecoderOnly,
    CachedEncoderDecoder,
    attentions,
)
from tformer_lite.model.models import (
    Block,
    CrossBlock,
    DecoderOnly,
    EncoderDecoder,
    Stack,
)

KINDS = {
    DecoderOnly: CachedDecoderOnly,
    EncoderDecoder: CachedEncoderDecoder,
}


def cached(model: nn.Module) -> Continued:
    """Give a model that need not read again what it has read.

    It has the model's methods, `forward`, or `encode` and `decode`, and its
    weights; it never drops anything and records no gradients. Hand it all
    ids so far: it keeps the keys and values of those that it has seen, and
    gives the logits of the new ones alone; [:, -1] is the next token's. Ids
    that do not go on from the last call's begin anew. `reorder(rows)` lets
    row i go on from what row `rows[i]` has kept. Shazeer (2019), section
    2.4.

    `cached(model).decoder.blocks[0].self_attention.keys` are the keys kept:
    (B, H, S, D), S growing. A table of positions sets an end to that.

    What a model keeps is its own only while its weights stay, and while no
    part looks ahead. One with attention of your own, or with a mask that
    looks ahead, is asked in the same way, but computes everything anew.
    """
    known = type(model) in KINDS and keepable(model)
    return (KINDS[type(model)] if known else Recomputed)(model)


def keepable(model: nn.Module) -> bool:
    """Tell whether the past stays what it was: only attention of the module's
    own, and a mask that looks back."""
    if type(model.decoder) is not Stack:
        return False
    blocks = {type(block) for block in model.decoder.blocks}
    places = attentions(model.decoder)
    return (
        blocks <= {Block, CrossBlock}
        and all(type(getattr(b, n)) in CACHED[n] for b, n in places)
        and looks_back(model.mask)
    )


def looks_back(mask: Callable) -> bool:
    """Whether a position sees nothing after it, and the same in a text of
    any length."""
    short, long = mask(8), mask(16)
    return not long.triu(1).any() and short.equal(long[..., :8, :8])

"""Which models can keep what they have read."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from tformer_lite.decoding.cache.attention import POSITIONWISE
from tformer_lite.decoding.cache.models import (
    CachedDecoderOnly,
    CachedEncoderDecoder,
    Continued,
    attentions,
)
from tformer_lite.model.models import (
    Block,
    CrossBlock,
    DecoderOnly,
    EncoderDecoder,
    Stack,
)
from tformer_lite.model.modes import evaluating

KINDS: dict[type, type[Continued]] = {
    DecoderOnly: CachedDecoderOnly,
    EncoderDecoder: CachedEncoderDecoder,
}


def cached(model: nn.Module) -> Any:
    """Give a model that need not read again what it has read.

    It is a `Continued` that has the model's methods, `forward`, or `encode`
    and `decode`, and its weights; it never drops anything and records no
    gradients. Hand it all ids so far: it keeps the keys and values of those
    that it has seen, and gives the logits of the new ones alone; [:, -1] is
    the next token's. Ids that do not go on from the last call's begin anew.
    `reorder(rows)` lets row i go on from what row `rows[i]` has kept.
    Shazeer (2019), section 2.4.

    `cached(model).decoder.blocks[0].self_attention.keys` are the keys kept:
    (B, H, S, D), S growing. A table of positions sets an end to that.

    What a model keeps is its own only while its weights stay, and while no
    part looks ahead. One with attention of your own, or with a mask that
    looks ahead, is asked in the same way, but computes everything anew.
    """
    kind = KINDS[type(model)] if keepable(model) else Recomputed
    return kind(model)


def keepable(model: Any) -> bool:
    """Tell whether the past stays what it was: only attention that is known
    to make each key from one position, and a mask that looks back."""
    if type(model) not in KINDS or type(model.decoder) is not Stack:
        return False
    blocks = {type(block) for block in model.decoder.blocks}
    places = attentions(model.decoder)
    return (
        blocks <= {Block, CrossBlock}
        and all(type(getattr(b, n)) in POSITIONWISE for b, n in places)
        and looks_back(model.mask)
    )


def looks_back(mask: Callable[..., Tensor]) -> bool:
    """Whether a position sees nothing after it, and the same in a text of
    any length."""
    short, long = mask(8), mask(16)
    return not long.triu(1).any() and short.equal(long[..., :8, :8])


class Recomputed(Continued):
    """A model that keeps nothing and computes everything anew."""

    def __init__(self, model: nn.Module):
        super().__init__(model)
        self.model: Any = model

    def forward(self, *ids: Tensor) -> Tensor:
        """Call the model, and give the new positions."""
        return self.only_new(ids[-1], self.model, *ids)

    def encode(self, src: Tensor) -> Tensor:
        """Turn a source into memory."""
        with evaluating(self.model):
            return self.model.encode(src)

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Let the model decode, and give the new positions."""
        return self.only_new(tgt, self.model.decode, tgt, memory, src)

    def only_new(self, ids: Tensor, call: Callable, *inputs: Tensor) -> Tensor:
        """Call with inputs, and give the positions of new ids."""
        with evaluating(self.model):
            logits = call(*inputs)
        start = self.go_on(ids)
        self.seen = ids.clone()
        return logits[:, start:]

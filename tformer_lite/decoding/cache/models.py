"""Whole models that go on from what they have read: those that keep keys and
values, and those that cannot."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from tformer_lite.decoding.cache.attention import CACHES, Cache, positionwise
from tformer_lite.model.checks import check_pair
from tformer_lite.model.masks import padding_mask
from tformer_lite.model.models import (
    Block,
    CrossBlock,
    DecoderOnly,
    EncoderDecoder,
    PostBlock,
    PostCrossBlock,
    Stack,
)
from tformer_lite.model.modes import evaluating

KNOWN_BLOCKS = {Block, PostBlock, CrossBlock, PostCrossBlock}
NO_IDS = torch.empty(0, 0, dtype=torch.long)


class ContinuedModel(nn.Module):
    """What goes on from the ids that it has `seen`: (B, T)."""

    seen: Tensor = NO_IDS

    def __init__(self, model: nn.Module):
        super().__init__()
        self.pad: Any = getattr(model, "pad", None)

    def go_on(self, ids: Tensor) -> int:
        """Count the first of ids that were seen; 0 is to begin anew.

        Nothing counts as seen until `seen` is set again.
        """
        seen, self.seen = self.seen, NO_IDS
        n = seen.shape[1]
        if 0 < n < ids.shape[1] and ids[:, :n].equal(seen):
            return n
        self.forget()
        return 0

    def forget(self) -> None:
        """Keep nothing any more."""
        self.seen = NO_IDS
        for cache in self.caches():
            cache.forget()

    def reorder(self, rows: Tensor) -> None:
        """Let row i go on from what row `rows[i]` has kept, rows (B)."""
        self.seen = self.seen[rows]
        for cache in self.caches():
            cache.reorder(rows)

    def caches(self) -> Iterator[Cache]:
        """List what keeps keys and values."""
        return (part for part in self.modules() if isinstance(part, Cache))


class CachedModel(ContinuedModel):
    """What both kinds of model have in common: the parts of a twin that
    shares the weights, with attention that keeps its keys and values."""

    # The parts that a model of the one or the other kind has.
    embedding: nn.Module
    src_embedding: nn.Module
    tgt_embedding: nn.Module
    encoder: nn.Module
    decoder: Stack
    head: nn.Module
    mask: Callable[..., Tensor]

    def __init__(self, model: DecoderOnly | EncoderDecoder):
        super().__init__(model)
        for name, part in twin(model).eval().named_children():
            self.add_module(name, part)
        for block, name in attentions(self.decoder):
            setattr(block, name, CACHES[name](getattr(block, name)))
        self.mask, self.table = model.mask, model.mask(1)

    def rows(self, start: int, ids: Tensor) -> Tensor:
        """Take the new positions' rows of the mask: -> (1, 1, T, S).

        It is made twice as large as needed, so that it is made rarely.
        """
        t = ids.shape[1]
        if self.table.shape[-1] < t or self.table.device != ids.device:
            self.table = self.mask(2 * t, ids.device)
        return self.table[..., start:t, :t]


class CachedDecoderOnly(CachedModel):
    """`DecoderOnly`, for a text that grows."""

    @torch.no_grad()
    def forward(self, ids: Tensor) -> Tensor:
        """Score the token after each of the new ids: (B, S) -> (B, T, V).

        S counts all ids so far, T those that the last call did not have.
        Raises as the model does.
        """
        x = self.embedding(ids)
        start = self.go_on(ids)
        mask = self.rows(start, ids)
        # A single new token may see all: nothing to hide, nothing to add.
        x = self.decoder(x[:, start:], None if mask.all() else mask)
        self.seen = ids.clone()
        return self.head(x)


class CachedEncoderDecoder(CachedModel):
    """`EncoderDecoder`, for a target that grows."""

    src: Tensor = NO_IDS
    memory: Any = None

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Score the token after each of the new tgt, as `decode` does;
        a source like the last call's is not encoded again."""
        known = self.memory is not None and self.src.equal(src)
        memory = self.memory if known else self.encode(src)
        return self.decode(tgt, memory, src)

    @torch.no_grad()
    def encode(self, src: Tensor) -> Tensor:
        """Turn a source into memory: (B, S) -> (B, S, C)."""
        mask = padding_mask(src, self.pad)
        return self.encoder(self.src_embedding(src), mask)

    @torch.no_grad()
    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Score the token after each of the new tgt, given the memory of
        src. Another memory than the last call's begins anew."""
        check_pair(src, tgt)
        if memory is not self.memory:
            self.forget()
        x = self.tgt_embedding(tgt)
        start = self.go_on(tgt)
        mask = padding_mask(tgt, self.pad) & self.rows(start, tgt)
        memory_mask = padding_mask(src, self.pad)
        x = self.decoder(x[:, start:], memory, mask, memory_mask)
        self.seen, self.src, self.memory = tgt.clone(), src.clone(), memory
        return self.head(x)

    def forget(self) -> None:
        """Keep nothing any more, of the source neither."""
        super().forget()
        self.src, self.memory = NO_IDS, None

    def reorder(self, rows: Tensor) -> None:
        """Let row i go on as row `rows[i]`; ValueError if its source is
        another."""
        if not self.src[rows].equal(self.src):
            raise ValueError(
                f"rows={rows.tolist()} give a row the text of another source: "
                "exchange only rows that read the same source."
            )
        super().reorder(rows)


class RecomputedModel(ContinuedModel):
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
        new = ids.shape[1] - self.go_on(ids)
        self.seen = ids.clone()
        return logits[:, -new:]


CONTINUED_KINDS: dict[type, type[ContinuedModel]] = {
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
    kind = CONTINUED_KINDS[type(model)] if keepable(model) else RecomputedModel
    return kind(model)


def keepable(model: Any) -> bool:
    """Tell whether the past stays what it was: only attention that is known
    to make each key from one position, and a mask that looks back."""
    if type(model) not in CONTINUED_KINDS or type(model.decoder) is not Stack:
        return False
    places = attentions(model.decoder)
    return (
        {*map(type, model.decoder.blocks)} <= KNOWN_BLOCKS
        and all(positionwise(getattr(b, n), CACHES[n]) for b, n in places)
        and looks_back(model.mask)
    )


def looks_back(mask: Callable[..., Tensor]) -> bool:
    """Whether a position sees nothing after it, and the same in a text of
    any length."""
    short, long = mask(8), mask(16)
    return not long.triu(1).any() and short.equal(long[..., :8, :8])


def attentions(decoder: Stack) -> Iterator[tuple[nn.Module, str]]:
    """List each place of attention: the block and the name in it."""
    for block in decoder.blocks:
        yield from ((block, name) for name in CACHES if hasattr(block, name))


def twin(part: nn.Module) -> nn.Module:
    """Copy a module and all within it, but share their weights."""
    new = copy.copy(part)
    children = part._modules.items()
    new._modules = {name: child and twin(child) for name, child in children}
    return new

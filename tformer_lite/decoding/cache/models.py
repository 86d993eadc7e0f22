"""Whole models whose attention keeps its keys and values."""

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from tformer_lite.decoding.cache.attention import CACHED
from tformer_lite.decoding.cache.continued import Continued
from tformer_lite.model.checks import check_pair
from tformer_lite.model.masks import padding_mask
from tformer_lite.model.models import EncoderDecoder, Stack


class CachedModel(Continued):
    """What both kinds of model have in common: the parts of a twin that
    shares the weights, with attention that keeps its keys and values."""

    def __init__(self, model: nn.Module):
        super().__init__()
        for name, part in twin(model).eval().named_children():
            self.add_module(name, part)
        for block, name in attentions(self.decoder):
            kind = type(getattr(block, name))
            setattr(block, name, CACHED[name][kind](getattr(block, name)))
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
        mask = None if mask.all() else mask
        x = self.decoder(x[:, start:], mask)
        self.seen = ids.clone()
        return self.head(x)


class CachedEncoderDecoder(CachedModel):
    """`EncoderDecoder`, for a target that grows."""

    src: Tensor | None = None
    memory: Tensor | None = None
    encode = torch.no_grad()(EncoderDecoder.encode)

    def __init__(self, model: EncoderDecoder):
        super().__init__(model)
        self.pad = model.pad

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Score the token after each of the new tgt, as `decode` does;
        a source like the last call's is not encoded again."""
        known = self.src is not None and self.src.equal(src)
        memory = self.memory if known else self.encode(src)
        return self.decode(tgt, memory, src)

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
        self.src = self.memory = None

    def reorder(self, rows: Tensor) -> None:
        """Let row i go on as row `rows[i]`; ValueError if its source is
        another."""
        if not self.src[rows].equal(self.src):
            raise ValueError(
                f"rows={rows.tolist()} give a row the text of another source:"
                " exchange rows among those that read the same one."
            )
        super().reorder(rows)


def attentions(decoder: Stack) -> Iterator[tuple[nn.Module, str]]:
    """List each place of attention: the block and the name in it."""
    for block in decoder.blocks:
        yield from ((block, name) for name in CACHED if hasattr(block, name))


def twin(part: nn.Module) -> nn.Module:
    """Copy a module and all within it, but share their weights."""
    new = copy.copy(part)
    children = part._modules.items()
    new._modules = {name: child and twin(child) for name, child in children}
    return new

"""A library's tensors by the names of the page, in the order of this book."""

import math

import torch
from names_page import Row, rows
from naming import library
from torch import Tensor

RANK = {name: i for i, name in enumerate("1BHGTSNVDCF")}
FOLDED = ["B", "H"], ["T", "B"]


class Tensors:
    """The tensors of a library, by the tables of the page."""

    def __init__(self, name: str):
        self.name, self.library = name, library(name)
        self.sizes = self.library.seen.run.sizes

    def rows(self, table: str) -> list[Row]:
        return [row for row in rows()[table] if row.library == self.name]

    def all(self, table: str) -> list[Tensor]:
        """All tensors of a table, their axes in the order of this book."""
        return [
            self.ordered(one.value, row.letters())
            for row in self.rows(table)
            for one in row.found()
        ]

    def __getitem__(self, table: str) -> Tensor:
        return self.all(table)[0]

    def ordered(self, value: Tensor, letters: list[str]) -> Tensor:
        """Unfold what the letters say is folded, and sort by letter."""
        names = []
        for letter in letters:
            parts = letter.split("*")
            if parts in FOLDED:
                sizes = [self.sizes[part] for part in parts]
                value = value.unflatten(len(names), sizes)
            names += parts if parts in FOLDED else [letter]
        ranks = [RANK.get(name, len(RANK)) for name in names]
        return value.permute(sorted(range(len(ranks)), key=ranks.__getitem__))

    def times(self, x: Tensor, table: str) -> list[Tensor]:
        """Multiply with each weight of a table, the way round that its note
        says, and add the bias that goes with it."""
        state, made = self.library.seen.model.state_dict(), []
        for row in self.rows(table):
            for name in row.names:
                w, b = state[name], state.get(bias_of(name), 0)
                assert row.note.startswith(("out, in", "in, out"))
                made.append(x @ (w if row.note[0] == "i" else w.mT) + b)
        return made


def bias_of(name: str) -> str:
    return name.removesuffix("weight") + "bias"


def seen(name: str, address: str) -> Tensor:
    return library(name)[address].value


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn pairs of channels, half of the channels apart."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def added(name: str) -> Tensor:
    """What the mask of each library adds to the scores."""
    if name == "here":
        keep = seen(name, "decoder.blocks.0.cross_attention(mask)")
        return torch.zeros(keep.shape).masked_fill(~keep, -math.inf)
    if name == "MHA":
        hide = seen(name, "(attn_mask)")
        hide = hide | seen(name, "(key_padding_mask)")[:, None, None]
        return torch.zeros(hide.shape).masked_fill(hide, -math.inf)
    (row,) = Tensors(name).rows("inside")
    return row.found()[0].value

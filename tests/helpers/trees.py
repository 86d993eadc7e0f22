"""Stacks of small layers, and what their trees say."""

import torch
from torch import nn

from shapewatch.tracing import trace

X = torch.randn(2, 4)


class Block(nn.Module):
    """A layer of a stack, of which a test changes something."""

    def __init__(self, wide=6, inner="layer", extra=False, bias=True):
        super().__init__()
        self.add_module(inner, nn.Linear(4, wide, bias))
        self.back = nn.Linear(wide, 4)
        self.extra = nn.ReLU() if extra else None

    def forward(self, x, mask=None):
        inner = next(self.children())
        y = self.back(inner(x).relu())
        return y if self.extra is None else self.extra(y)


class Other(Block):
    pass


class Stack(nn.Module):
    """Layers one after the other; `masked` ones are given a mask."""

    def __init__(self, *blocks, masked=()):
        super().__init__()
        self.h, self.masked = nn.ModuleList(blocks), masked

    def forward(self, x):
        for i, block in enumerate(self.h):
            x = block(x, x > 0) if i in self.masked else block(x)
        return x


def tree(model, *inputs, depth=None, **names):
    return trace(model, *inputs, **names).tree(depth)


def cells(shown) -> list[list[str]]:
    """The cells of a tree's lines, between its empty ones."""
    lines = str(shown).splitlines()
    rows = lines[3 : lines.index("", 3)]
    return [line.split("  ") for line in rows]


def names(shown) -> list[str]:
    """The first column."""
    return [next(filter(None, row)).strip() for row in cells(shown)[1:]]

"""Blocks that feed in other ways, right and wrong, and GPTs of such blocks."""

import torch
from torch import nn
from torch.nn.functional import gelu

from tests.helpers.strangers import GPT, Block


def of_blocks(kind):
    """A model of such blocks."""

    def build():
        model = GPT()
        model.blocks = nn.ModuleList(kind() for _ in range(2))
        return model

    return build


class Plain(Block):
    def feed(self, x):
        return self.down(self.up(x))


class Nothing(Block):
    """An Identity and a dropout are no activations."""

    def __init__(self):
        super().__init__()
        wide, narrow = nn.Linear(16, 64), nn.Linear(64, 16)
        between = nn.Identity(), nn.Dropout(0.1)
        self.whole = nn.Sequential(wide, *between, narrow)

    def feed(self, x):
        return self.whole(x)


class ByHand(Block):
    """Matrices that are parameters, an offset, and a scale."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Parameter(torch.randn(16, 64) / 4)
        self.narrow = nn.Parameter(torch.randn(64, 16) / 8)
        self.offset = nn.Parameter(torch.zeros(64))

    def feed(self, x):
        return (x @ self.wide + self.offset) / 2 @ self.narrow


class Transposed(Block):
    """Between the two, the positions stand first."""

    def feed(self, x):
        return self.down(self.up(x).transpose(0, 1)).transpose(0, 1)


class Branches(Block):
    """A gate that is added, and not multiplied."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 32)

    def feed(self, x):
        return self.down(self.up(x) + self.gate(x))


class HalfActive(Branches):
    """One of two branches has an activation."""

    def feed(self, x):
        return self.down(self.up(x) + gelu(self.gate(x)))


class Gated(Block):
    """A product of two is not linear: Shazeer (2020), Bilinear."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 32)

    def feed(self, x):
        return self.down(self.up(x) * self.gate(x))


class LowRank(Block):
    """What LoRA adds, with a matrix of 2 channels between."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 2), nn.Linear(2, 32)

    def feed(self, x):
        return self.down(gelu(self.up(x) + self.b(self.a(x))))


class Square(Block):
    """Two of one size may be meant."""

    def __init__(self):
        super().__init__()
        self.more = nn.Linear(16, 16)

    def feed(self, x):
        return super().feed(self.more(x))

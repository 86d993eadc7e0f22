"""Blocks that feed in other ways, or drop, share or add what they should
not; and GPTs of such blocks."""

from functools import partial

import torch
from torch import nn
from torch.nn.functional import gelu, silu

from tests.helpers.strangers import GPT, Block


def of_blocks(kind):
    """A model of such blocks."""

    def build():
        model = GPT()
        model.blocks = nn.ModuleList(kind() for _ in range(2))
        return model

    return build


class Feeds(Block):
    """It feeds in such a way, with more parts of such names."""

    def __init__(self, way, **parts):
        super().__init__()
        self.way = way
        for name, part in parts.items():
            setattr(self, name, part())

    def feed(self, x):
        return self.way(self, x)


def feeding(way, **parts):
    return of_blocks(partial(Feeds, way, **parts))


def matrix(*sizes):
    return lambda: nn.Parameter(torch.randn(sizes) / sizes[0] ** 0.5)


GATE = {"gate": partial(nn.Linear, 16, 32)}
PLAIN = feeding(lambda own, x: own.down(own.up(x)))
# An Identity and a dropout are no activations.
NOTHING = feeding(
    lambda own, x: own.down(own.between(own.up(x))),
    between=lambda: nn.Sequential(nn.Identity(), nn.Dropout(0.1)),
)
# Matrices that are parameters, an offset, and a scale.
BY_HAND = feeding(
    lambda own, x: (x @ own.wide + own.up.bias) / 2 @ own.narrow,
    wide=matrix(16, 32),
    narrow=matrix(32, 16),
)
# A gate that is added, not multiplied; then one of two has an activation.
BRANCHES = feeding(lambda own, x: own.down(own.up(x) + own.gate(x)), **GATE)
HALF_ACTIVE = feeding(
    lambda own, x: own.down(own.up(x) + gelu(own.gate(x))), **GATE
)
# A product of two is not linear: Shazeer (2020), Bilinear and SwiGLU.
BILINEAR = feeding(lambda own, x: own.down(own.up(x) * own.gate(x)), **GATE)
SWIGLU = feeding(
    lambda own, x: own.down(own.up(x) * silu(own.gate(x))), **GATE
)
# What LoRA adds, with a matrix of 2 channels between.
LOW_RANK = feeding(
    lambda own, x: own.down(gelu(own.up(x) + own.b(own.a(x)))),
    a=partial(nn.Linear, 16, 2),
    b=partial(nn.Linear, 2, 32),
)
# Two of one size may be meant.
SQUARE = feeding(
    lambda own, x: Block.feed(own, own.more(x)),
    more=partial(nn.Linear, 16, 16),
)


def with_residual(own, x):
    """A bottleneck has a residual connection of its own."""
    y = own.up(x)
    return own.down(y + silu(y))


NESTED = feeding(with_residual)


class Adds(Block):
    """What sublayers give is added in such a way."""

    def __init__(self, way):
        super().__init__()
        self.way = way

    def forward(self, x, hidden=None):
        one, other = self.norms
        y = self.attention(one(x), hidden)
        return self.way(x, y, lambda x: self.feed(other(x)))


def adding(way):
    return of_blocks(partial(Adds, way))


# The second residual connection starts before the first; what goes in is added
# twice; attention is added to nothing, others are.
STALE = adding(lambda x, y, feed: x + feed(x + y))
TWICE = adding(lambda x, y, feed: x + y + x + feed(x + y + x))
UNADDED = adding(lambda x, y, feed: y + feed(y))


class OneNorm(Block):
    """Both norms are one."""

    def __init__(self):
        super().__init__()
        self.first = self.second = self.norms[0]
        del self.norms

    def forward(self, x, hidden=None):
        x = x + self.attention(self.first(x), hidden)
        return x + self.feed(self.second(x))

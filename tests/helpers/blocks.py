"""Blocks that feed in other ways, or drop, share or add what they should
not; and GPTs of such blocks."""

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


class Stale(Block):
    """The second residual connection starts before the first."""

    def forward(self, x, hidden=None):
        y = x + self.attention(self.norms[0](x), hidden)
        return x + self.feed(self.norms[1](y))


class Twice(Block):
    """What goes in is added twice."""

    def forward(self, x, hidden=None):
        x = x + self.attention(self.norms[0](x), hidden) + x
        return x + self.feed(self.norms[1](x))


class Unadded(Block):
    """Attention is added to nothing; others are."""

    def forward(self, x, hidden=None):
        x = self.attention(self.norms[0](x), hidden)
        return x + self.feed(self.norms[1](x))


class Nested(Block):
    """A bottleneck with a residual connection of its own."""

    def feed(self, x):
        y = self.up(x)
        return self.down(y + silu(y))


class OneNorm(Block):
    """Both norms are one."""

    def __init__(self):
        super().__init__()
        self.first = self.second = self.norms[0]
        del self.norms

    def forward(self, x, hidden=None):
        x = x + self.attention(self.first(x), hidden)
        return x + self.feed(self.second(x))

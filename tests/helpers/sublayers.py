"""Blocks that drop, share or add what they should not, and those that only
seem to."""

import torch
from torch import nn
from torch.nn.functional import dropout, silu

from tests.helpers.strangers import Attention, Block


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


class Mostly(Block):
    """Of ten numbers, nine are dropped."""

    def feed(self, x):
        return dropout(super().feed(x), 0.9, self.training)


class DropsScores(Attention):
    """Dropout comes before the softmax."""

    hidden = -1e9

    def weigh(self, scores):
        return dropout(scores, 0.1, self.training).softmax(-1)


class GateUnread(Block):
    """A gate is made, and what it should gate gates itself."""

    def __init__(self):
        super().__init__()
        self.both, self.up = nn.Linear(16, 64), None

    def feed(self, x):
        wide, _ = self.both(x).chunk(2, -1)
        return self.down(silu(wide) * wide)


class OneNorm(Block):
    """Both norms are one."""

    def __init__(self):
        super().__init__()
        self.first = self.second = self.norms[0]
        del self.norms

    def forward(self, x, hidden=None):
        x = x + self.attention(self.first(x), hidden)
        return x + self.feed(self.second(x))


class Unscaled(Block):
    """Dropout by hand leaves the others as they are."""

    def masked(self, x):
        return x * (torch.rand_like(x) > 0.1)

    def feed(self, x):
        x = super().feed(x)
        return self.masked(x) if self.training else x


class ByP(Unscaled):
    def masked(self, x):
        return super().masked(x) / 0.1


class OneMask(Unscaled):
    def masked(self, x):
        return x * (torch.rand_like(x[:1]) > 0.1) / 0.9


class ByHand(Unscaled):
    def masked(self, x):
        return super().masked(x) / 0.9


class Before(Unscaled):
    """It makes numbers larger first."""

    def masked(self, x):
        return x.div(0.9) * torch.empty_like(x).bernoulli_(0.9)


class InEvaluation(Unscaled):
    """As it was done first: numbers are smaller in evaluation."""

    def feed(self, x):
        x = Block.feed(self, x)
        return self.masked(x) if self.training else x * 0.9

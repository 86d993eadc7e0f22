"""Blocks that drop, share or add what they should not, and those that only
seem to."""

from torch import nn
from torch.nn.functional import silu

from tests.helpers.strangers import Block


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

"""Small GPTs that are told in other ways where words stand, or not at all."""

import torch
from torch import nn

from tests.helpers.strangers import GPT, Attention


class Placed(GPT):
    """Words stand at places (T) that a class chooses."""

    def at(self, t):
        return torch.arange(t)

    def forward(self, ids):
        return super().forward(ids, self.at(ids.shape[1]))


class Halved(Placed):
    def at(self, t):
        return torch.arange(t) // 2


class Nowhere(Placed):
    def at(self, t):
        return torch.zeros(t, dtype=torch.long)


class Forgotten(GPT):
    """The table of places is not read."""

    def forward(self, ids):
        return self.read(self.tokens(ids))


class Nameless(Forgotten):
    """There is no table of places, as in models that are meant so."""

    def __init__(self, attention=Attention):
        super().__init__(attention=attention)
        del self.places


class Attends(nn.Module):
    """Rows (B, T, C) ask others (B, S, C)."""

    def __init__(self, c=8):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(c, c) for _ in range(3))

    def forward(self, x, memory, hidden=False):
        scores = self.q(x) @ self.k(memory).mT / x.shape[-1] ** 0.5
        future = torch.ones(x.shape[1], memory.shape[1]).triu(1) > 0
        scores = scores.masked_fill(future & hidden, -torch.inf)
        return x + scores.softmax(-1) @ self.v(memory)


class TwoSides(nn.Module):
    """A source and a target (B, T), of which some have places."""

    def __init__(self, source=True, target=True, c=8):
        super().__init__()
        self.words = nn.ModuleList(nn.Embedding(50, c) for _ in range(2))
        self.rows = nn.ParameterList(torch.randn(9, c) for _ in range(2))
        self.have, self.head = (source, target), nn.Linear(c, 50)
        self.parts = nn.ModuleList(Attends() for _ in range(5))

    def embedded(self, side, ids):
        x, rows = self.words[side](ids), self.rows[side][: ids.shape[1]]
        return x + rows * self.have[side]

    def forward(self, source, target):
        memory, x = map(self.embedded, range(2), (source, target))
        memory = self.parts[0](memory, memory)
        for own, other in (self.parts[1:3], self.parts[3:]):
            x = own(x, x, True)
            x = other(x, memory)
        return self.head(x)

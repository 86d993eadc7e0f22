"""Small GPTs that are told in other ways where words stand, or not at all."""

import torch

from tests.helpers.strangers import GPT


class Placed(GPT):
    """Words stand at places (T) that a class chooses."""

    def at(self, t):
        return torch.arange(t)

    def forward(self, ids):
        return super().forward(ids, self.at(ids.shape[1]))


class Halved(Placed):
    def at(self, t):
        return torch.arange(t) // 2


class Limited(Placed):
    def at(self, t):
        return torch.arange(t).clamp(max=3)


class Nowhere(Placed):
    def at(self, t):
        return torch.zeros(t, dtype=torch.long)


class Forgotten(GPT):
    """The table of places is not read."""

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Nameless(Forgotten):
    """There is no table of places, as in models that are meant so."""

    def __init__(self):
        super().__init__()
        del self.places


class InTheSecond(GPT):
    """Places are added where the second block begins."""

    def forward(self, ids):
        x = self.blocks[0](self.tokens(ids))
        x = self.blocks[1](x + self.places.weight[: ids.shape[1]])
        return self.head(self.norm(x))

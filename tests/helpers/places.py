"""Small GPTs that are told in other ways where words stand, or not at all."""

import torch

from tests.helpers.strangers import GPT, Attention, MemoryFirst


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


def forgets(name):
    """A model of two sides, of which one has no places."""
    model = MemoryFirst(nested=False)
    setattr(model, name, lambda ids: model.tokens(ids))
    return model

"""Order is heard in the first attention, and not by the mask alone."""

import pytest
import torch
from torch import nn

from tests.helpers.rotating import Turning, as_it_is, halves
from tests.helpers.strangers import (
    GPT,
    IDS,
    LEFT,
    PADDED,
    Attention,
    FromTheLeft,
    Shrunk,
)
from tformer_lite.properties import order_sensitivity


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

    def __init__(self, attention=Attention):
        super().__init__(attention=attention)
        del self.places


class InTheSecond(GPT):
    """Places are added where the second block begins."""

    def forward(self, ids):
        x = self.blocks[0](self.tokens(ids))
        x = self.blocks[1](x + self.places.weight[: ids.shape[1]])
        return self.head(self.norm(x))


def over_heads(x):
    """Rotations run over heads: all positions have the same."""
    return halves(x.transpose(1, 2)).transpose(1, 2)


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


def asked(model, ids=IDS, **known):
    """Ask about a model."""
    return order_sensitivity(model, ids, **known)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize(
    "build",
    [GPT, Placed, InTheSecond, Turning, lambda: Shrunk(0.002)],
)
def test_order_that_is_heard_is_right(build):
    assert asked(build()).holds


def test_padding_has_no_place():
    assert asked(FromTheLeft(), LEFT, pad=1).holds
    assert asked(GPT(pads=True), PADDED, pad=1).holds


@pytest.mark.parametrize(
    ("kind", "p"), [(Halved, "0 and 1"), (Limited, "3 and 4")]
)
def test_two_words_at_one_place_are_found(kind, p):
    finding = asked(kind())
    assert finding.level == "broken"
    says = f"When input positions {p} change places, the first attention"
    assert finding.says.startswith(says)


@pytest.mark.parametrize("kind", [Nowhere, Forgotten])
def test_places_that_are_not_told_are_found_behind_a_mask(kind):
    finding = asked(kind())
    assert finding.level == "broken"
    assert finding.says.startswith("The input has no positions")
    assert finding.says.endswith("Look at the positions: are they added?")


@pytest.mark.parametrize(
    "build",
    [
        Nameless,
        lambda: Turning(as_it_is, as_it_is),
        lambda: Turning(over_heads, over_heads),
    ],
)
def test_a_model_without_any_may_be_meant(build):
    finding = asked(build())
    assert finding.level == "unusual"
    assert finding.says.endswith("Some models are meant so.")


@pytest.mark.parametrize("count", [5, 7])
def test_each_side_has_places_of_its_own(count):
    """Sources are as long as the target, or shorter."""
    given = IDS.roll(2, 1)[:, :count], IDS
    assert order_sensitivity(TwoSides(), *given).holds
    finding = order_sensitivity(TwoSides(target=False), *given)
    assert finding.level == "unusual"
    assert finding.says.startswith("The target has no positions")
    finding = order_sensitivity(TwoSides(source=False), *given)
    assert finding.level == "broken"
    assert finding.says.startswith("When source positions 0 and 1 change")

"""Rows alone: without their padding, and without the others of a batch."""

import pytest
import torch
from torch import nn

from shapewatch.properties import batch_independence, padding_invariance
from tests.helpers.rotating import halves
from tests.helpers.strangers import GPT, Finite

IDS = torch.randint(2, 40, (2, 9), generator=torch.Generator().manual_seed(0))
LEFT, RIGHT = IDS.clone(), IDS.clone()
LEFT[1, :4], RIGHT[1, 5:] = 0, 0


class Rotates(Finite):
    def shape(self, q, k):
        q, k = (halves(x.transpose(1, 2)) for x in super().shape(q, k))
        return q.transpose(1, 2), k.transpose(1, 2)


class Padded(GPT):
    """It reads ids (B, T), and a mask (B, T) of padding."""

    def __init__(self, attention=Finite):
        super().__init__(attention=attention)

    def numbers(self, mask):
        """The positions of words."""
        return (mask.cumsum(-1) - 1).clamp(min=0)

    def forward(self, ids, attention_mask=None):
        mask = attention_mask
        mask = torch.ones_like(ids) if mask is None else mask
        x = self.tokens(ids) + self.places(self.numbers(mask))
        return self.read(x, mask == 0)


class Counted(Padded):
    """Padding is counted as words are."""

    def numbers(self, mask):
        return torch.arange(mask.shape[1])[None]


class Rotated(Counted):
    """Right: only distances matter."""

    def __init__(self):
        super().__init__(Rotates)
        nn.init.zeros_(self.places.weight)


class Heard(Padded):
    """Behind the attention, positions are summed, padding as well."""

    def forward(self, ids, attention_mask=None):
        return super().forward(ids, attention_mask).cumsum(1)


HOLDS, ASKS = "What stands at padding moves nothing.", "Give position numbers"
HEARS = "output 4 moves when input position 0 does, which is padding"


@pytest.mark.parametrize(
    ("kind", "left"),
    [(Padded, HOLDS), (Rotated, HOLDS), (Counted, ASKS), (Heard, HEARS)],
)
def test_a_padded_row_is_judged_beside_itself_alone(kind, left):
    model = kind()
    for ids, says in ((LEFT, left), (RIGHT, HOLDS)):
        given = {"ids": ids, "attention_mask": (ids != 0).long()}
        assert says in padding_invariance(model, given, pad=0).says
        holds = padding_invariance(model, given).holds  # the mask tells it
        assert holds is (says == HOLDS)


def test_padding_that_nothing_tells_of_is_not_judged():
    model = Counted()
    assert padding_invariance(model, RIGHT, pad=0).says == HOLDS
    assert padding_invariance(model, LEFT, pad=0).holds is False
    assert padding_invariance(model, IDS, pad=0).holds is None


X = torch.randn(8, 8, 6, generator=torch.Generator().manual_seed(0))
ROWS, MASK = X[:4].flatten(1)[:, :12], torch.ones(8, 8).tril() > 0
LAYER = nn.Linear(6, 12)


def masked(x, mask):
    x = LAYER(x)
    return (x @ x.mT).masked_fill(~mask, -torch.inf).softmax(-1) @ x


def table(x, rows):
    return LAYER(x) + rows.mean(0)


def averaged(x, mask):
    return masked(x, mask) + x.mean()


def several_of_each(src, x):
    src = LAYER(src).repeat_interleave(len(x) // len(src), 0)
    return (LAYER(x) @ src.mT).softmax(-1) @ src


@pytest.mark.parametrize(
    ("model", "given", "holds"),
    [
        *((masked, (X[:n], MASK), True) for n in (2, 8)),
        *((table, (X[:n], ROWS), True) for n in (2, 4)),
        *((averaged, (X[:n], MASK), False) for n in (2, 8)),
        (several_of_each, (X[:2], X[2:]), None),
    ],
)
def test_what_has_a_row_for_each_is_cut_with_the_batch(model, given, holds):
    assert batch_independence(model, *given).holds is holds

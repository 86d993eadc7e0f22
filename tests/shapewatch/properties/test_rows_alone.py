"""Rows alone: without their padding, and without the others of a batch."""

import pytest
import torch
from torch import nn

from shapewatch.properties import batch_independence, padding_invariance
from tests.helpers.rotating import halves

IDS = torch.randint(2, 40, (2, 9), generator=torch.Generator().manual_seed(0))
LEFT, RIGHT = IDS.clone(), IDS.clone()
LEFT[1, :4], RIGHT[1, 5:] = 0, 0


class Padded(nn.Module):
    """One head, which reads ids (B, T), and a mask (B, T) of padding."""

    def __init__(self, c=16):
        super().__init__()
        self.tokens, self.places = nn.Embedding(40, c), nn.Embedding(32, c)
        self.qkv, self.head = nn.Linear(c, 3 * c), nn.Linear(c, 40)

    def numbers(self, mask):
        """The positions of words."""
        return (mask.cumsum(-1) - 1).clamp(min=0)

    def turned(self, x):
        return x

    def forward(self, ids, attention_mask=None):
        mask = (
            torch.ones_like(ids) if attention_mask is None else attention_mask
        )
        x = self.tokens(ids) + self.places(self.numbers(mask))
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = self.turned(q), self.turned(k)
        future = torch.ones(ids.shape[1], ids.shape[1]).triu(1) > 0
        scores = q @ k.mT / q.shape[-1] ** 0.5
        hidden = future | (mask == 0)[:, None]
        return self.head(x + scores.masked_fill(hidden, -1e9).softmax(-1) @ v)


class Counted(Padded):
    """Padding is counted as words are."""

    def numbers(self, mask):
        return torch.arange(mask.shape[1])[None]


class Rotated(Counted):
    """Right: only distances matter."""

    def __init__(self):
        super().__init__()
        self.places.weight.data.zero_()

    def turned(self, x):
        return halves(x)


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
    torch.manual_seed(0)
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

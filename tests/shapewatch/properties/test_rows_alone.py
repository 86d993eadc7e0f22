"""Padded rows alone, and rows of several inputs that belong together."""

import pytest
import torch
from torch import nn

from shapewatch.properties import (
    batch_independence,
    cached_run,
    padding_invariance,
)
from tests.helpers.rotating import halves

IDS = torch.randint(2, 40, (2, 9), generator=torch.Generator().manual_seed(0))
LEFT, RIGHT = IDS.clone(), IDS.clone()
LEFT[1, :4], RIGHT[1, 5:] = 0, 0


class Padded(nn.Module):
    """Ids (B, T), a mask (B, T) and a dictionary of keys and values."""

    def __init__(self, c=16, heads=2):
        super().__init__()
        self.heads, self.tokens = heads, nn.Embedding(40, c)
        self.places, self.head = nn.Embedding(32, c), nn.Linear(c, 40)
        self.parts = nn.ModuleList(nn.Linear(c, c) for _ in range(8))

    def numbers(self, mask, start):
        """The positions of new words."""
        return (mask.cumsum(-1) - 1).clamp(min=0)[:, start:]

    def hidden(self, mask, start):
        """Which keys are padding: (B, 1, 1, S)."""
        return mask[:, None, None] == 0

    def turned(self, x, start):
        return x

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, ids, attention_mask=None, past=None, use_cache=False):
        (b, t), start = ids.shape, past["length"] if past else 0
        mask = attention_mask
        if mask is None:
            mask = ids.new_ones(b, start + t)
        x = self.tokens(ids) + self.places(self.numbers(mask, start))
        later = torch.ones(t, start + t).triu(start + 1) > 0
        hidden, cache = later | self.hidden(mask, start), {"length": start + t}
        for n in range(2):
            q, k, v = (self.split(part(x)) for part in self.parts[4 * n :][:3])
            q, k = self.turned(q, start), self.turned(k, start)
            if past:
                k, v = (torch.cat(y, 2) for y in zip(past[n], (k, v)))
            cache[n] = k, v
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -1e9)
            mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
            x = x + self.parts[4 * n + 3](mixed)
        return (self.head(x), cache) if use_cache else self.head(x)


class Counted(Padded):
    """Padding is counted as words are."""

    def numbers(self, mask, start):
        return torch.arange(start, mask.shape[1])[None]


class Rotated(Counted):
    """Right: only distances matter."""

    def __init__(self):
        super().__init__()
        self.places.weight.data.zero_()

    def turned(self, x, start):
        return halves(x, start=start)


class HeardLater(Padded):
    """The mask of padding is for the first piece only."""

    def hidden(self, mask, start):
        return super().hidden(mask, start) & torch.tensor(start == 0)


class HeardRotated(HeardLater, Rotated):
    """So it is here."""


class Heard(Padded):
    """The mask is for positions only."""

    def hidden(self, mask, start):
        return torch.zeros(1, dtype=torch.bool)


HOLDS, ASKS = "What stands at padding moves nothing.", "Hand over numbers of"
COUNTS = f"{HOLDS} (Padding on the left would shift positions.)"
HEARS = "output 4 moves when input position 0 does, which is padding"


@pytest.mark.parametrize(
    ("kind", "left", "right", "pieces"),
    [
        (Padded, HOLDS, HOLDS, "Read in"),
        (Rotated, HOLDS, HOLDS, "Read in"),
        (Counted, ASKS, COUNTS, "Read in"),
        (HeardLater, HOLDS, HOLDS, "Padding is no longer masked"),
        (HeardRotated, HOLDS, HOLDS, "Padding is no longer masked"),
        (Heard, HEARS, "on the left of the input, which should", ""),
    ],
)
def test_a_padded_row_is_judged_beside_itself_alone(kind, left, right, pieces):
    torch.manual_seed(0)
    model = kind()
    for ids, says in ((LEFT, left), (RIGHT, right)):
        given = {"ids": ids, "attention_mask": (ids != 0).long()}
        assert says in padding_invariance(model, given, pad=0).says
        holds = padding_invariance(model, given).holds
        assert holds is (says in (HOLDS, COUNTS))
        assert pieces in cached_run(model, given, pad=0).says


def test_padding_on_a_side_that_nothing_tells_of_is_not_judged():
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


def side_by_side(src, x):
    src = LAYER(src).repeat_interleave(len(x) // len(src), 0)
    return (LAYER(x) @ src.mT).softmax(-1) @ src


def in_turns(src, x):
    src = LAYER(src).repeat(len(x) // len(src), 1, 1)
    return (LAYER(x) @ src.mT).softmax(-1) @ src


def shifted(x, other):
    shifts = other.mean((1, 2, 3)).repeat(len(x) // len(other))
    return LAYER(x) + shifts[:, None, None]


def table(x, rows):
    return LAYER(x) + rows.mean(0)


def averaged(x, y):
    return (side_by_side(x, y) if y.ndim > 2 else masked(x, y)) + y.sum() * (
        x.mean()
    )


@pytest.mark.parametrize(
    ("model", "given", "level"),
    [
        *((masked, (X[:n], MASK), "") for n in (2, 8)),
        *((table, (X[:n], ROWS), "") for n in (2, 4)),
        (side_by_side, (X[:2], X[2:]), ""),
        (in_turns, (X[:2], X[2:]), "unusual"),
        (shifted, (X[:4], X[:2, ..., None]), "unusual"),
        (averaged, (X[:2], X[2:]), "broken"),
        *((averaged, (X[:n], MASK), "broken") for n in (2, 8)),
    ],
)
def test_rows_that_belong_together_are_cut_together(model, given, level):
    finding = batch_independence(model, *given)
    assert finding.holds is (not level), finding
    assert finding.level == level or finding.holds

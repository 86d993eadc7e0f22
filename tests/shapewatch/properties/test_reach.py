"""A push is heard where it is made, counted where it is looked up, and
traced to the module that lets it through."""

import torch
from torch import nn
from torch.overrides import handle_torch_function

from shapewatch.properties import causality
from shapewatch.properties.perturbation import (
    differ_at,
    module_calls,
    with_noise,
    with_noise_added,
)
from shapewatch.properties.subject import Subject

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
IDS = torch.tensor([[1, 0, 1, 1, 0, 0], [0, 1, 0, 1, 1, 0]])


def test_a_push_is_twice_as_large_as_the_vectors():
    for size in 0.01, 1.0, 100.0:
        x = size * ROWS
        push = with_noise(x, slice(None)) - x
        assert 1.8 < (push.std() / x.std()).item() < 2.2


def test_lookups_of_the_ids_are_counted_and_no_others():
    table = nn.Embedding(2, 6)  # just as large as the ids
    with with_noise_added([IDS], [3], 0) as nudge:
        once, again, other = table(IDS), table(IDS), table(1 - IDS)
        nn.functional.embedding(torch.tensor([0, 1]), IDS.float())
    assert nudge.lookups == 2
    assert once.equal(again)
    assert other.equal(table(1 - IDS))
    moved = (once != table(IDS)).any(-1)
    assert moved.equal((torch.arange(6) == 3).expand(2, 6))


class Nameless:
    """What others let PyTorch call need not be a function with a name."""

    def __call__(self, ids):
        return ids + 1


def test_a_call_without_a_name_is_no_lookup():
    with with_noise_added([IDS], [3], 0) as nudge:
        assert handle_torch_function(Nameless(), (IDS,), IDS).equal(IDS + 1)
    assert nudge.lookups == 0


class ByKeyword(nn.Module):
    """Rows are handed on by keyword; beside them stand numbers."""

    def __init__(self, inner):
        super().__init__()
        self.first, self.inner = Aside(), inner

    def forward(self, x):
        rows, _ = self.first(rows=x)
        return self.inner(rows=rows)


class Aside(nn.Module):
    def forward(self, rows):
        return rows + 1, rows.mean((0, 1))


class Ahead(nn.Module):
    """Hears the next position."""

    def forward(self, rows):
        return rows + rows.roll(-1, 1)


def test_what_modules_are_given_and_give_are_vectors_also_by_keyword():
    aside, _, whole = module_calls(Subject(ByKeyword(Ahead()), (ROWS,)))
    for path, tensors in (aside[0], aside[2:]), (whole[0], whole[2:]):
        assert [len(some) for some in tensors] == [1, 1], path
    assert aside[2][0].equal(ROWS)
    assert aside[3][0].equal(ROWS + 1)


def test_the_module_that_hears_the_future_is_named():
    model = ByKeyword(Ahead())
    assert "does, first in inner." in causality(model, ROWS).says
    whole = nn.Sequential(nn.Linear(12, 12), nn.Tanh(), Ahead())
    assert "does, first in 2." in causality(whole, ROWS).says


def test_rows_differ_by_what_their_size_makes_of_it():
    for size in 1e-3, 1.0, 1e3:
        x, moved = size * ROWS, size * ROWS
        moved = moved.clone()
        moved[1, 2] += 1e-3 * size
        assert differ_at([x], [moved], 1, [2])
        assert not differ_at([x], [moved], 0, [2])
        assert not differ_at([x], [moved], 1, [1, 3])
        moved[1, 2] = x[1, 2] * (1 + 1e-6)
        assert not differ_at([x], [moved], 1, [2])

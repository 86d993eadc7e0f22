"""Batches: every row once an epoch, in an order that one can take up."""

from collections import Counter
from dataclasses import replace
from itertools import chain, islice

import pytest
import torch
from torch.utils.data import Dataset

from tformer_lite import Recipe
from tformer_lite.training import batches as module
from tformer_lite.training.batches import batches

RECIPE = Recipe(steps=1, batch_size=4, seed=3)


class Rows(Dataset):
    """A data set whose batches are the rows asked for."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, rows):
        return list(rows)


def epochs(n, count, recipe=RECIPE, done=0):
    """The batches of some epochs, epoch by epoch."""
    each = -(-n // recipe.batch_size)
    found = list(islice(batches(Rows(n), recipe, done), count * each))
    return [found[i * each : (i + 1) * each] for i in range(count)]


@pytest.mark.parametrize("n", [1, 3, 4, 5, 22])
def test_every_row_comes_exactly_once_an_epoch(n):
    for epoch in epochs(n, 5):
        assert sorted(chain(*epoch)) == list(range(n))
        assert all(len(rows) == 4 for rows in epoch[:-1])
        assert len(epoch[-1]) == (n - 1) % 4 + 1


def test_each_epoch_has_an_order_of_its_own():
    orders = {tuple(chain(*epoch)) for epoch in epochs(22, 20)}
    assert len(orders) == 20
    assert tuple(range(22)) not in orders


def test_the_order_depends_on_seed_and_epoch_alone():
    one = epochs(22, 3)
    torch.manual_seed(99)  # the reader's random numbers play no part
    before = torch.get_rng_state()
    assert epochs(22, 3) == one
    assert torch.get_rng_state().equal(before)
    assert epochs(22, 3, replace(RECIPE, lr=1.0, steps=9)) == one
    assert epochs(22, 3, replace(RECIPE, seed=4)) != one


@pytest.mark.parametrize("n", [3, 8, 22])
@pytest.mark.parametrize("done", [0, 1, 5, 6, 7, 12, 13])
def test_done_batches_are_left_out_across_epochs(n, done):
    whole = list(islice(batches(Rows(n), RECIPE), done + 9))
    assert list(islice(batches(Rows(n), RECIPE, done), 9)) == whole[done:]


def shared(monkeypatch, n, several, count=1):
    """The rows of the first epochs, process by process."""
    found = []
    for rank in range(several):
        monkeypatch.setattr(module, "processes", lambda r=rank: (several, r))
        each = -(-n // several)
        some = islice(batches(Rows(n), RECIPE), count * -(-each // 4))
        found.append(list(chain(*some)))
    return found


@pytest.mark.parametrize("n", [8, 22, 30])
def test_two_processes_share_the_rows_out_without_overlap(monkeypatch, n):
    one, two = shared(monkeypatch, n, 2)
    assert not set(one) & set(two)
    assert sorted(one + two) == list(range(n))


def test_an_odd_row_makes_one_come_twice_so_that_all_do_as_many(monkeypatch):
    one, two = shared(monkeypatch, 23, 2)
    assert len(one) == len(two) == 12
    assert sorted(Counter(one + two).values()) == [1] * 22 + [2]

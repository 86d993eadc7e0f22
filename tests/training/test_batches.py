"""Batches: every row once an epoch, in an order that a seed decides."""

from itertools import chain, islice

import pytest
from torch.utils.data import Dataset, DistributedSampler

from tformer_lite import Recipe
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


def epochs(n, count, recipe=RECIPE):
    """The batches of some epochs, epoch by epoch."""
    each = -(-n // recipe.batch_size)
    rows = list(islice(batches(Rows(n), recipe), count * each))
    return [rows[i * each : (i + 1) * each] for i in range(count)]


@pytest.mark.parametrize("n", [1, 3, 4, 5, 22])
def test_every_row_comes_exactly_once_an_epoch(n):
    for epoch in epochs(n, 5):
        assert sorted(chain(*epoch)) == list(range(n))
        assert all(len(rows) == 4 for rows in epoch[:-1])
        assert len(epoch[-1]) == (n - 1) % 4 + 1


@pytest.mark.parametrize("n", [3, 8, 22])
def test_the_order_is_that_of_pytorchs_own_sampler(n):
    sampler = DistributedSampler(Rows(n), 1, 0, seed=RECIPE.seed)
    for number, epoch in enumerate(epochs(n, 3)):
        sampler.set_epoch(number)
        assert list(chain(*epoch)) == list(sampler)

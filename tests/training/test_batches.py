"""Batches: every row once an epoch, in an order that a seed decides."""

from itertools import islice

import pytest
import torch
from torch.utils.data import DistributedSampler

from tformer_lite import Recipe
from tformer_lite.training.batches import batches

RECIPE = Recipe(steps=1, batch_size=4, seed=3)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 22])
def test_an_epoch_has_each_row_once_in_the_order_of_pytorchs_sampler(n):
    sampler = DistributedSampler(range(n), 1, 0, seed=RECIPE.seed)
    endless = batches(torch.arange(n), RECIPE)
    for number in range(5):
        sampler.set_epoch(number)
        epoch = [*islice(endless, -(-n // 4))]
        assert torch.cat(epoch).tolist() == [*sampler]
        assert all(len(rows) == 4 for rows in epoch[:-1])

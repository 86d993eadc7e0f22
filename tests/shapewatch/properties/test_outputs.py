"""Numbers that are not numbers, that change, or are probabilities or no
norm's any more: just those, and at the places where they are."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from shapewatch.properties import (
    finite,
    logits,
    norm_statistics,
    repeatable,
)
from tests.helpers.writers import StartsWithOne
from tformer_lite import bug, running_example

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))


THIRD = torch.arange(6)[:, None] == 2


class Exponential(nn.Module):
    """exp of weights, which overflows at 88.7 in float32, and of biases."""

    def __init__(self, weight: float, bias: float):
        super().__init__()
        self.weight = nn.Parameter(torch.full((1, 1), weight))
        self.bias = nn.Parameter(torch.full((1,), bias))

    def forward(self, x):
        return (self.weight + self.bias).exp() + x


@pytest.mark.parametrize(
    ("weight", "bias", "holds"),
    [(2.9, 0.0, True), (3.0, 0.0, False), (0.0, 40.0, True)],
)
def test_weights_become_thirty_times_as_large_and_biases_stay(
    weight, bias, holds
):
    assert finite(Exponential(weight, bias), ROWS).holds is holds


def test_the_positions_that_have_no_numbers_are_shown():
    seen = finite(lambda x: x.masked_fill(THIRD, math.nan), ROWS).seen
    assert seen.equal(1 - THIRD[:, 0].float().expand(2, 6))
    model, pair = bug("nobody_to_hear").model(), running_example()[:2]
    seen = finite(model, *pair).seen
    assert seen.equal(torch.tensor([[0.0], [1.0]]).expand(2, 8))


@pytest.mark.parametrize(
    ("side", "inputs", "name"),
    [(0, 1, "input (words)"), (0, 2, "source (words)"), (1, 2, "(answer)")],
)
def test_ids_that_a_run_writes_into_are_named(side, inputs, name):
    given = [torch.tensor([[5, 3, 8], [1, 2, 7]]) for _ in range(inputs)]
    finding = repeatable(StartsWithOne(side), *given)
    assert finding.level == "broken"
    assert f"{name}: whoever" in finding.says
    assert finding.seen.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert given[side].tolist() == [[5, 3, 8], [1, 2, 7]]


def test_vectors_that_a_run_writes_into_may_be_a_part_of_a_models_own():
    finding = repeatable(lambda x: x.relu_() + 1, torch.randn(2, 3, 4))
    assert finding.level == "unusual"
    nobody = torch.full((2, 3, 4), math.nan)
    assert repeatable(lambda x: x.relu_() * 0, nobody).level == "holds"


@pytest.mark.parametrize(
    ("rows", "holds"),
    [
        ([[0.5, 0.5], [0.9, 0.1]], False),
        ([[1.0, 0.0], [0.9, 0.1]], False),  # one is certain
        ([[0.2, 0.3, 0.5]], False),  # a single position
        ([[0.5, 0.5], [0.9, 0.6]], True),  # no sum of 1
        ([[2.0, -1.0], [0.5, 0.5]], True),  # sums of 1, but no shares
        ([[1.0], [1.0]], True),  # one channel has no softmax
    ],
)
def test_probabilities_are_shares_of_one(rows, holds):
    outputs = torch.tensor([rows] * 2)
    finding = logits(lambda x: outputs, torch.zeros_like(outputs))
    assert finding.holds is holds
    assert_close(finding.seen, outputs.sum(-1))


class NormOf(nn.Module):
    """A norm whose rows have any mean square; a part of it is no norm."""

    def __init__(self, square: float):
        super().__init__()
        self.factor, self.dropout = square**0.5, nn.Dropout(0.0)

    def forward(self, x):
        unit = x / x.square().mean(-1, keepdim=True).sqrt()
        return self.dropout(unit * self.factor)


@pytest.mark.parametrize("square", [0.8, 0.85, 1.05, 1.5])
def test_a_norm_gives_a_mean_square_of_one(square):
    finding = norm_statistics(nn.Sequential(NormOf(square)), ROWS)
    assert finding.holds is (0.825 < square < 1.1)
    assert_close(finding.seen, torch.full((2, 6), square))

"""Where two runs part."""

import math

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from shapewatch.tracing.questions.compare import nearly_equal


def attend(q, k, v):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return torch.softmax(scores, -1) @ v


def unscaled(q, k, v):
    return torch.softmax(q @ k.mT, -1) @ v


def in_other_words(q, k, v):
    rows = torch.einsum("btd,bsd->bts", q, k) / q.shape[-1] ** 0.5
    weights = rows.exp() / rows.exp().sum(-1, keepdim=True)
    return torch.einsum("bts,bsd->btd", weights, v)


class Block(nn.Module):
    """Attention, whose arithmetic a test changes, and a wider layer."""

    def __init__(self, mix, hidden):
        super().__init__()
        self.mix, self.query = mix, nn.Linear(6, 6)
        self.wide = nn.Sequential(nn.Linear(6, hidden), nn.Linear(hidden, 6))

    def forward(self, x):
        x = x + self.mix(self.query(x), x, x)
        return x + self.wide(x)


def seen(mix=attend, hidden=24, change=0.0):
    torch.manual_seed(0)
    block, x = Block(mix, hidden), torch.randn(2, 5, 6)
    block.wide[1].bias.data[3] += change
    return trace(block, x, keep=True)


def test_two_runs_of_the_same_code_agree_call_by_call():
    mine, says = seen(), "the same shapes: {0}; with the same values: {0}."
    assert str(mine.compare(seen())).endswith(says.format(len(mine)))


def test_the_same_in_other_words_agrees():
    outcome = seen(in_other_words).compare(seen())
    assert outcome.agree, outcome
    assert "Not compared: " in str(outcome)
    assert seen().compare(seen(in_other_words)).agree


SHAPES = "They part in wide.0, at `linear`: mine has (2, 5, 36), theirs has "


@pytest.mark.parametrize(
    ("options", "where", "said"),
    [
        ({"hidden": 36}, "wide.0", f"{SHAPES}(2, 5, 24)."),
        ({"mix": unscaled}, "", "the shapes agree, the values are up to "),
        ({"change": 0.5}, "wide.1", "the values are up to 0.5 apart."),
    ],
)
def test_a_difference_is_found_where_it_begins(options, where, said):
    outcome = seen(**options).compare(seen())
    assert (outcome.agree, outcome.where) == (False, where)
    assert said in str(outcome)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1.0, 1.0 + 1e-6, True),
        (1.0, 1.001, False),
        (-math.inf, -math.inf, True),
        (math.nan, math.nan, True),
        (3, 4, False),
    ],
)
def test_values_may_differ_by_rounding_alone(a, b, same):
    assert nearly_equal(torch.tensor([a]), torch.tensor([b])) is same

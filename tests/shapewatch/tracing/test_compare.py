"""Where two runs part."""

import math

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from shapewatch.tracing.questions.compare import nearly_equal
from tformer_lite.model.attention import MultiHeadAttention

DIMS = {"B": 2, "T": 5, "H": 3, "D": 4, "C": "H*D"}


class Attention(MultiHeadAttention):
    """The library's layer, with its arithmetic written out in `mix`."""

    def forward(self, x):
        q, k, v = (
            part(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        return self.output(self.mix(q, k, v).transpose(1, 2).flatten(-2))

    def mix(self, q, k, v):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return torch.softmax(scores, -1) @ v


class Unscaled(Attention):
    def mix(self, q, k, v):
        return torch.softmax(q @ k.mT, -1) @ v


class Otherwise(Attention):
    """The same in other words."""

    def mix(self, q, k, v):
        rows = torch.einsum("bhtd,bhsd->bhts", q, k) / q.shape[-1] ** 0.5
        weights = rows.exp() / rows.exp().sum(-1, keepdim=True)
        return torch.einsum("bhts,bhsd->bhtd", weights, v)


class Block(nn.Module):
    def __init__(self, attention, hidden=24):
        super().__init__()
        self.attention = attention(12, 3)
        self.norm = nn.LayerNorm(12)
        self.feed_forward = nn.Sequential(
            nn.Linear(12, hidden), nn.ReLU(), nn.Linear(hidden, 12)
        )

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.feed_forward(x)


def seen(attention=Attention, **options):
    torch.manual_seed(0)
    block = Block(attention, **options)
    return trace(block, torch.randn(2, 5, 12), dims=DIMS, keep=True)


def test_two_runs_of_the_same_code_agree_call_by_call():
    mine = seen()
    n = len(mine)
    assert str(mine.compare(seen())) == (
        f"They agree. Calls with the same shapes: {n}; "
        f"with the same values: {n}."
    )


def test_the_same_in_other_words_agrees():
    outcome = seen(Otherwise).compare(seen())
    assert outcome.agree, outcome
    assert "Not compared: " in str(outcome)
    assert seen().compare(seen(Otherwise)).agree


def test_another_size_is_found_where_it_begins():
    outcome = seen(hidden=36).compare(seen(hidden=24))
    assert not outcome.agree
    assert outcome.where == "feed_forward.0"
    text = str(outcome)
    assert "They part in feed_forward.0, at `linear`: " in text
    assert "mine has (2, 5, 36), theirs has (2, 5, 24)." in text


def test_the_same_shape_with_other_values_is_found():
    outcome = seen(Unscaled).compare(seen())
    assert not outcome.agree
    assert outcome.where == "attention"
    assert "the shapes agree, the values are up to " in str(outcome)


def test_a_weight_that_differs_is_found_in_its_module():
    mine, theirs, x = Block(Attention), Block(Attention), torch.randn(2, 5, 12)
    theirs.load_state_dict(mine.state_dict())
    theirs.attention.value.weight.data[3, 4] += 0.5
    outcome = trace(mine, x, keep=True).compare(trace(theirs, x, keep=True))
    assert outcome.where == "attention.value"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1.0, 1.0 + 1e-6, True),
        (1.0, 1.001, False),
        (-math.inf, -math.inf, True),
        (-math.inf, 0.0, False),
        (math.nan, math.nan, True),
        (3, 4, False),
    ],
)
def test_values_may_differ_by_rounding_alone(a, b, same):
    assert nearly_equal(torch.tensor([a]), torch.tensor([b])) is same

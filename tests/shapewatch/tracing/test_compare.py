"""Where two runs part: planted differences are found, likenesses pass."""

import math

import pytest
import torch
from torch import nn

from shapewatch.tracing import Trace
from shapewatch.tracing.questions.compare import nearly_equal
from tformer_lite import MultiHeadAttention, trace

compare = Trace.compare

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


class Turned(Attention):
    """Keys ask and queries answer: T and S are one size, and no shape
    differs."""

    def mix(self, q, k, v):
        scores = k @ q.mT / math.sqrt(q.shape[-1])
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


class Wide(Attention):
    """Its mix gives each head's channels twice; the output takes half."""

    def mix(self, q, k, v):
        return super().mix(q, k, torch.cat([v, v], -1))[..., : v.shape[-1]]


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
    n = len(mine.steps)
    outcome = compare(mine, seen())
    assert outcome.calls == n
    assert str(outcome) == (
        f"They agree. Calls with the same shapes: {n}; "
        f"with the same values: {n}."
    )


@pytest.mark.parametrize("other", [Otherwise, Wide])
def test_the_same_in_other_words_agrees(other):
    outcome = compare(seen(other), seen())
    assert outcome.agree, outcome
    assert "Not compared: " in str(outcome)
    assert compare(seen(), seen(other)).agree


def test_another_size_is_found_where_it_begins():
    outcome = compare(seen(hidden=36), seen(hidden=24))
    assert not outcome.agree
    assert outcome.where == "feed_forward.0"
    shapes = "(B~, T~, 36?)", "(B~, T~, 24?)"
    assert (outcome.mine, outcome.theirs) == shapes
    text = str(outcome)
    assert "They part in feed_forward.0, at `linear`: " in text
    assert "mine has {}, theirs has {}.".format(*shapes) in text


@pytest.mark.parametrize("other", [Turned, Unscaled])
def test_the_same_shape_with_other_values_is_found(other):
    outcome = compare(seen(other), seen())
    assert not outcome.agree
    assert outcome.where == "attention"
    said = str(outcome)
    assert "the shapes agree, the values are up to " in said
    if other is Unscaled:
        mine, theirs = "torch.softmax(q @ k.mT, -1)", "scores = q @ k.mT / m"
        assert f"the code differs: mine `{mine}`, theirs `{theirs}" in said


def test_a_weight_that_differs_is_found_in_its_module():
    mine, theirs, x = Block(Attention), Block(Attention), torch.randn(2, 5, 12)
    theirs.load_state_dict(mine.state_dict())
    theirs.attention.value.weight.data[3, 4] += 0.5
    outcome = compare(trace(mine, x, keep=True), trace(theirs, x, keep=True))
    assert outcome.where == "attention.value"


def test_proved_names_part_even_where_the_sizes_are_the_same():
    def product(q, k, flip):
        return k @ q.mT if flip else q @ k.mT

    def scores(flip):
        def built(T, S):
            inputs = torch.ones(T, 4), torch.ones(S, 4)
            return lambda q, k: product(q, k, flip), inputs

        return trace(build=built, dims={"T": 8, "S": 8})

    outcome = compare(scores(flip=True), scores(flip=False))
    assert (outcome.mine, outcome.theirs) == ("(S, T)", "(T, S)")
    assert "`k @ q.mT` / `q @ k.mT`" in str(outcome)
    assert compare(scores(flip=True), scores(flip=True)).agree


def test_names_are_not_compared_after_other_probes():
    layer, x = nn.Linear(4, 5), torch.ones(3, 4)
    mine = trace(layer, x, dims={"T": 3}, axes=["T C"])
    theirs = trace(layer, x, dims={"S": 3}, axes=["S C"])
    assert "Axis names are not compared" in str(compare(mine, theirs))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1.0, 1.0 + 1e-6, True),
        (1.0, 1.001, False),
        (-math.inf, -math.inf, True),
        (-math.inf, 0.0, False),
        (math.nan, math.nan, True),
        (3, 4, False),
        (2, 2.0, True),
    ],
)
def test_values_may_differ_by_rounding_alone(a, b, same):
    assert nearly_equal(torch.tensor([a]), torch.tensor([b])) is same

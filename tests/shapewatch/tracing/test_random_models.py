"""Random small models: whatever they do with sizes, no proved name is wrong.

The witness is the same model at sizes that no probe has.
"""

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.nn import functional

from shapewatch.tracing import trace
from tests.helpers.zoo import value


def kernel(x, width):
    return x.new_ones(x.shape[1], x.shape[1], width)


# What becomes of x (B, D, S) and y (B, D, T): sums, products, constants, and
# tensors that are made from arguments alone.
STEPS = {
    "pad": lambda x, y, n: (functional.pad(x, (n, 1)), y),
    "cut": lambda x, y, n: (x[:, :, 1:], y[..., :-1]),
    "same": lambda x, y, n: (functional.conv1d(x, kernel(x, 3), padding=n), y),
    "repeat": lambda x, y, n: (x.repeat(1, 1, n), y),
    "join": lambda x, y, n: (torch.cat([x, y], 2), y),
    "swap": lambda x, y, n: (y, x),
    "pairs": lambda x, y, n: ((x[..., None] * y[..., None, :]).flatten(2), y),
    "rows": lambda x, y, n: (x.flatten(0, 1)[None], y.flatten(0, 1)[None]),
    "wide": lambda x, y, n: (x.repeat(1, n, 1), y.repeat(1, n, 1)),
    "made": lambda x, y, n: (x, x.new_ones(*y.shape[:2], n * len(x) + 1)),
}
# Here a size is divided, and what is left is dropped or rounded up.
DIVIDED = {
    "every": lambda x, y, n: (x[:, :, ::n], y),
    "conv": lambda x, y, n: (functional.conv1d(x, kernel(x, 2), stride=n), y),
    "pool": lambda x, y, n: (functional.avg_pool1d(x, n), y),
    "ceil": lambda x, y, n: (functional.max_pool1d(x, n, ceil_mode=True), y),
    "chunk": lambda x, y, n: (x.chunk(n, 2)[0], y),
    "unfold": lambda x, y, n: (x.unfold(2, 2, n).flatten(2), y),
    "split": lambda x, y, n: (x[:, :, : x.shape[2] // n], y),
}
FURTHER = {"B": 16, "D": 32, "S": 48, "T": 16}


def made_of(chosen):
    """A factory of a model that takes these steps, one after another."""

    def model(x, y):
        for name, n in chosen:
            x, y = (STEPS | DIVIDED)[name](x, y, n)
        return x, y

    def build(B, D, S, T):
        return model, (torch.ones(B, D, S), torch.ones(B, D, T))

    return build


def wrong(chosen, dims):
    """The proved names that are not true of the model at further sizes:
    farther than any probe, and as even as the traced ones."""
    build = made_of(chosen)
    sizes = {name: n + FURTHER[name] for name, n in dims.items()}
    model, inputs = build(**sizes)
    here, there = trace(build=build, dims=dims), trace(model, *inputs)
    pairs = zip(here.axes, there.axes, strict=True)
    return [
        (axis.name, other.size)
        for step in pairs
        for side in zip(*step)
        for tensor in zip(*side)
        for axis, other in zip(*tensor, strict=True)
        if moves(axis) and value(axis.name, sizes) != other.size
    ]


def moves(axis):
    """Whether a proved name says how its size moves. A number may be the
    same in all runs, and move where nobody ran: a third of S, rounded up."""
    return axis.proof == "proved" and not axis.name.isdigit()


def runs(chosen, dims):
    """Whether the model takes inputs of these sizes."""
    model, inputs = made_of(chosen)(**dims)
    try:
        model(*inputs)
    except RuntimeError:
        return False
    return True


sizes = st.integers(2, 12)
some_dims = st.one_of(
    st.fixed_dictionaries(dict.fromkeys("BDST", sizes)),
    sizes.map(lambda n: dict.fromkeys("BDST", n)),
)
steps = st.tuples(st.sampled_from(list(STEPS)), st.integers(2, 5))
divisions = st.tuples(st.sampled_from(list(DIVIDED)), st.integers(2, 4))
models = st.builds(
    lambda before, division, after: [*before, division, *after],
    st.lists(steps, max_size=2),
    divisions,
    st.lists(steps, max_size=1),
)


@pytest.mark.slow
@settings(deadline=None, derandomize=True, database=None, max_examples=100)
@given(models, some_dims)
@example([("pairs", 3), ("every", 3)], {"B": 6, "D": 3, "S": 5, "T": 3})
@example(
    [("join", 2), ("every", 3), ("join", 2)],
    {"B": 8, "D": 11, "S": 2, "T": 2},
)
@example(
    [("join", 2), ("every", 2), ("pairs", 2)],
    {"B": 12, "D": 11, "S": 5, "T": 2},
)
def test_no_proved_name_of_a_random_model_is_wrong(chosen, dims):
    if runs(chosen, dims):
        assert wrong(chosen, dims) == []

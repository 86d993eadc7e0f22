"""Every axis of every kind of model is proved, and no name is wrong.

The witness is the same model at sizes that no probe has: there, each name
must give the size that is measured.
"""

import pytest
import torch

from shapewatch.tracing import trace
from tests.helpers.zoo import ELSEWHERE, HARD, ZOO, value

ALL = ZOO | HARD

# nn.Transformer says so whenever the number of heads is odd.
pytestmark = pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor is True:UserWarning"
)


def axes_of(seen):
    """Every axis that a trace names, in order."""
    return [
        axis
        for sides in seen.axes
        for tensors in sides
        for axes in tensors
        for axis in axes
    ]


def wrong(seen, there, sizes):
    """The proved names that are not true of a trace at other sizes."""
    here, measured = axes_of(seen), axes_of(there)
    assert len(here) == len(measured)
    return [
        (axis.name, other.size)
        for axis, other in zip(here, measured)
        if axis.proof == "proved" and value(axis.name, sizes) != other.size
    ]


def at_other_sizes(factory, dims, here=None, same=()):
    """A trace without names, and its sizes."""
    sizes = {name: ELSEWHERE[name] for name in dims}
    sizes |= {name: here[name] for name in same if name in sizes}
    plain = {name: n for name, n in sizes.items() if isinstance(n, int)}
    model, inputs = factory(**taken(factory, plain))
    if "C" in sizes:
        sizes["C"] = sizes["H"] * sizes["D"]
    return trace(model, *inputs), sizes


def taken(factory, sizes):
    names = factory.__code__.co_varnames[: factory.__code__.co_argcount]
    return {name: sizes[name] for name in names}


def all_eight(dims):
    return {name: n if isinstance(n, str) else 8 for name, n in dims.items()}


@pytest.mark.full
@pytest.mark.parametrize("same", [False, True], ids=["distinct", "all 8"])
@pytest.mark.parametrize("name", ALL)
def test_every_axis_is_proved_and_true_at_other_sizes(name, same):
    torch.manual_seed(0)
    factory, dims = ALL[name]
    seen = trace(build=factory, dims=all_eight(dims) if same else dims)
    axes = axes_of(seen)
    assert len(axes) > 40
    assert [axis for axis in axes if axis.proof != "proved"] == []
    same = ["T"] if name in HARD else []  # a loop goes as many rounds
    there = at_other_sizes(factory, dims, seen.run.sizes, same)
    assert wrong(seen, *there) == []
    assert seen.notes == []


def test_the_witness_finds_a_name_that_is_wrong():
    factory, dims = ZOO["nn.MultiheadAttention, cross"]
    seen = trace(build=factory, dims=dims)
    there, sizes = at_other_sizes(factory, dims)
    sizes["S"], sizes["T"] = sizes["T"], sizes["S"]
    assert len(wrong(seen, there, sizes)) > 20

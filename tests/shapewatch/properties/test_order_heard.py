"""Order is heard in the first attention, and not by the mask alone."""

import pytest
import torch

from shapewatch.properties import order_sensitivity
from tests.helpers.places import (
    Forgotten,
    Halved,
    InTheSecond,
    Limited,
    Nameless,
    Nowhere,
    Placed,
    TwoSides,
)
from tests.helpers.rotating import Turning, as_it_is, halves
from tests.helpers.strangers import (
    GPT,
    IDS,
    LEFT,
    PADDED,
    FromTheLeft,
    Shrunk,
)


def over_heads(x):
    """Rotations run over heads: all positions have the same."""
    return halves(x.transpose(1, 2)).transpose(1, 2)


def asked(model, ids=IDS, **known):
    """Ask about a model."""
    return order_sensitivity(model, ids, **known)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize(
    "build",
    [GPT, Placed, InTheSecond, Turning, lambda: Shrunk(0.002)],
)
def test_order_that_is_heard_is_right(build):
    assert asked(build()).holds


def test_padding_has_no_place():
    assert asked(FromTheLeft(), LEFT, pad=1).holds
    assert asked(GPT(pads=True), PADDED, pad=1).holds


@pytest.mark.parametrize(
    ("kind", "p"), [(Halved, "0 and 1"), (Limited, "3 and 4")]
)
def test_two_words_at_one_place_are_found(kind, p):
    finding = asked(kind())
    assert finding.level == "broken"
    says = f"When input positions {p} change places, the first attention"
    assert finding.says.startswith(says)


@pytest.mark.parametrize("kind", [Nowhere, Forgotten])
def test_places_that_are_not_told_are_found_behind_a_mask(kind):
    finding = asked(kind())
    assert finding.level == "broken"
    assert finding.says.startswith("The input has no positions")
    assert finding.says.endswith("Look at the positions: are they added?")


@pytest.mark.parametrize(
    "build",
    [
        Nameless,
        lambda: Turning(as_it_is, as_it_is),
        lambda: Turning(over_heads, over_heads),
    ],
)
def test_a_model_without_any_may_be_meant(build):
    finding = asked(build())
    assert finding.level == "unusual"
    assert finding.says.endswith("Some models are meant so.")


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 7])
def test_each_side_has_places_of_its_own(count):
    """Sources are as long as the target, or shorter."""
    given = IDS.roll(2, 1)[:, :count], IDS
    assert order_sensitivity(TwoSides(), *given).holds
    finding = order_sensitivity(TwoSides(target=False), *given)
    assert finding.level == "unusual"
    assert finding.says.startswith("The target has no positions")
    finding = order_sensitivity(TwoSides(source=False), *given)
    assert finding.level == "broken"
    assert finding.says.startswith("When source positions 0 and 1 change")

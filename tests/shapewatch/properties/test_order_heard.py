"""Order is heard in the first attention, and not by the mask alone."""

import pytest
import torch

from shapewatch.properties import order_sensitivity
from tests.helpers.places import (
    TwoSides,
)
from tests.helpers.strangers import (
    GPT,
    IDS,
    LEFT,
    PADDED,
    FromTheLeft,
)


def asked(model, ids=IDS, **known):
    """Ask about a model."""
    return order_sensitivity(model, ids, **known)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_padding_has_no_place():
    assert asked(FromTheLeft(), LEFT, pad=1).holds
    assert asked(GPT(pads=True), PADDED, pad=1).holds


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

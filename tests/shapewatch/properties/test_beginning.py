"""A new model guesses, and all of it learns."""

import pytest
import torch

from shapewatch.properties import first_loss, live_parameters
from tests.helpers.strangers import GPT, IDS
from tests.helpers.tied import Tied


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_a_new_model_should_guess():
    finding = first_loss(GPT(), IDS)
    assert finding.holds
    assert "a guess among 50 words has ln 50 = 3.91" in finding.says
    wrong = first_loss(Tied(), IDS)
    assert wrong.level == "unusual"
    assert "its first weights are too large" in wrong.says
    assert "If it is trained, these are not the words" in wrong.says


def frozen(*names):
    """A model of which some parameters cannot learn."""
    model = GPT()
    for name in names:
        model.get_parameter(name).requires_grad_(False)
    return live_parameters(model, IDS)


def test_a_frozen_part_among_others_is_unusual():
    finding = frozen("blocks.1.up.weight", "blocks.1.up.bias")
    assert finding.level == "unusual"
    assert finding.says.startswith(
        "2 of 29 parameters cannot learn, such as blocks.1.up.weight"
    )


def test_frozen_places_and_all_but_an_adapter_are_usual():
    assert frozen("places.weight").holds
    model = GPT().requires_grad_(False)
    model.head.requires_grad_(True)
    assert live_parameters(model, IDS).holds

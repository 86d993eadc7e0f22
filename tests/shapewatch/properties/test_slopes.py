"""Gradients are the slopes that small steps of the weights measure."""

import pytest
import torch
from torch import nn
from torch.nn.functional import linear

from shapewatch.properties import exact_gradients
from tests.helpers.blocks import of_blocks
from tests.helpers.detached import (
    BetweenBlocks,
    FedDetached,
    KeysDetached,
    NormOfNumbers,
    Padded,
    Rounded,
    RoundedRows,
    Shifted,
    Shrinks,
    Zero,
)
from tests.helpers.rotating import Turning
from tests.helpers.strangers import GPT, IDS, Cosine
from tformer_lite import running_example, running_model


def asked(build):
    """Ask about a model, its weights drawn anew."""
    torch.manual_seed(0)
    return exact_gradients(build(), IDS)


RIGHT = {
    "rotations": Turning,
    "bfloat16": lambda: GPT().bfloat16(),
    "cosine": lambda: GPT(attention=Cosine),
    "the largest subtracted": lambda: GPT(attention=Shifted),
    "a row of padding": Padded,
    "rows of 0": Zero,
}


@pytest.mark.parametrize("name", RIGHT)
def test_gradients_of_right_models_are_slopes(name):
    finding = asked(RIGHT[name])
    assert finding.holds
    assert torch.allclose(*finding.seen[0], rtol=0.01)


WRONG = {
    "fed": (of_blocks(FedDetached), "blocks.0"),
    "norms": (lambda: GPT(norm=NormOfNumbers), "blocks.0.norms.0"),
    "keys": (lambda: GPT(attention=KeysDetached), "blocks.0.attention"),
    "between blocks": (BetweenBlocks, ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_branch_that_is_cut_off_is_found(name):
    build, place = WRONG[name]
    finding = asked(build)
    assert finding.level == "broken"
    first = f", first in {place}. Look" if place else " apart). Look"
    assert first in finding.says


@pytest.mark.slow
@pytest.mark.parametrize(
    "build",
    [
        Shrinks,
        lambda: GPT(attention=Rounded),
        lambda: GPT(norm=RoundedRows),
    ],
)
def test_what_may_be_meant_is_unusual(build):
    finding = asked(build)
    assert finding.level == "unusual"
    assert "may be meant" in finding.says


def test_what_cannot_be_measured_is_not_judged():
    assert exact_gradients(lambda x: x, torch.ones(1, 2, 3)).holds is None
    frozen = GPT().requires_grad_(False)
    assert exact_gradients(frozen, IDS).holds is None


class OneSize(nn.Linear):
    """A layer that knows single precision only."""

    def forward(self, x):
        return linear(x, torch.ones(12, 12)) + self.bias


def test_what_knows_one_precision_is_not_judged():
    finding = exact_gradients(OneSize(12, 12), torch.ones(1, 2, 12))
    assert finding.holds is None
    assert finding.says.startswith("No gradient can be drawn in double")


def test_nothing_of_the_model_moves():
    model = running_model()
    before = {n: x.clone() for n, x in model.state_dict().items()}
    assert exact_gradients(model, *running_example()[:2]).holds
    assert all(x.equal(before[n]) for n, x in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())

"""An activation stands between two matrices that widen and narrow."""

import pytest
import torch
from torch import nn

from shapewatch.properties import activations
from tests.helpers.blocks import (
    Branches,
    ByEinsum,
    ByHand,
    Early,
    Gated,
    HalfActive,
    Late,
    LowRank,
    Nothing,
    Plain,
    Square,
    Transposed,
)
from tests.helpers.strangers import GPT, IDS, Block


def asked(kind):
    """Ask about a model of such blocks."""
    torch.manual_seed(0)
    model = GPT()
    model.blocks = nn.ModuleList(kind() for _ in range(2))
    return activations(model, IDS)


@pytest.mark.parametrize("kind", [Block, LowRank, Square, HalfActive])
def test_right_blocks_are_right(kind):
    assert asked(kind).holds


def test_a_gate_without_an_activation_is_unusual():
    finding = asked(Gated)
    assert finding.level == "unusual"
    assert "In blocks.0, two linear maps are multiplied" in finding.says


@pytest.mark.parametrize(
    "kind",
    [Plain, Early, Late, Nothing, ByHand, ByEinsum, Transposed, Branches],
)
def test_two_matrices_in_a_row_are_found(kind):
    finding = asked(kind)
    assert finding.level == "broken"
    assert finding.says.startswith("In blocks.0")
    wide = 64 if kind in (Nothing, ByHand) else 32
    assert f"16 channels become {wide}, and then 16" in finding.says


def test_the_modules_are_named():
    assert asked(Plain).says.startswith("In blocks.0.up and blocks.0.down,")
    assert asked(ByHand).says.startswith("In blocks.0, two matrices")
    torch.manual_seed(0)
    model = GPT()
    model.blocks[1] = Plain()
    says = activations(model, IDS).says
    assert says.startswith("In blocks.1.up and blocks.1.down, ")

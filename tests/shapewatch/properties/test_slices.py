"""Of an attention's matrices, each head's part learns something."""

import pytest
import torch

from shapewatch.properties import live_parameters, provenance
from tests.helpers.heads import FirstAlone, OneKey, Own
from tests.helpers.slices import (
    FirstForAll,
    Fused,
    FusedFirst,
    Grouped,
    KeysSummed,
    Letters,
    LongSteps,
    Loop,
    LoopEndsEarly,
    OneMatrix,
    OneOfTwo,
    ShutAtFirst,
)
from tests.helpers.strangers import GPT, IDS


def asked(kind, check=live_parameters):
    torch.manual_seed(0)
    return check(GPT(attention=kind), IDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [Own, Grouped, Fused, Loop, Letters, ShutAtFirst]
)
def test_each_heads_part_learns(kind):
    assert asked(kind).holds, asked(kind)


WRONG = {
    FirstForAll: "attention.k.weight, 1 of 2 parts of the size of a head",
    FusedFirst: "attention.qkv, 1 of 12 parts of the size of a head get no "
    "gradient, such as part 11",
    LoopEndsEarly: "attention.q.weight, 1 of 4 parts",
    OneKey: "attention.k.weight, 3 of 4 parts",
    FirstAlone: "attention.q.weight, 3 of 4 parts",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRONG)
def test_a_part_that_learns_nothing_is_found(kind):
    finding = asked(kind)
    assert finding.level == "broken"
    assert f"Of blocks.0.{WRONG[kind]}" in finding.says


def test_a_head_that_hears_one_position_may_be_meant():
    finding = asked(LongSteps)
    assert finding.level == "unusual"
    assert finding.says.endswith("each position attends to one alone.")


def test_keys_whose_heads_are_summed_are_unusual():
    finding = asked(KeysSummed)
    assert finding.level == "unusual"
    assert "all 4 heads get the same gradient" in finding.says


def test_one_matrix_for_all_three_is_unusual():
    finding = asked(OneMatrix, provenance)
    assert finding.level == "unusual"
    assert "are the same vectors" in finding.says
    assert asked(OneOfTwo, provenance).holds is not False

"""What is added to the scores: by distance, with its sign, and heard."""

import pytest
import torch

from shapewatch.properties import order_sensitivity, relative_positions
from tests.helpers.biases import (
    alibi,
    buckets,
    by_key,
    by_query,
    for_all,
    free,
    looking_far,
    made,
    on_grid,
    one_head_looks_far,
    viewed,
)
from tests.helpers.strangers import IDS


def asked(check, *options):
    torch.manual_seed(0)
    return check(made(*options), IDS)


RIGHT = alibi, by_key, buckets, free, on_grid, one_head_looks_far


@pytest.mark.slow
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("bias", RIGHT)
def test_what_depends_on_positions_is_heard(bias, fused):
    for causal in (True, False):
        finding = asked(relative_positions, bias, fused, causal)
        assert finding.holds is None, finding
        assert asked(order_sensitivity, bias, fused, causal).holds


@pytest.mark.parametrize("fused", [False, True])
def test_a_sign_that_prefers_the_far_is_unusual(fused):
    for causal in (True, False):
        finding = asked(relative_positions, looking_far, fused, causal)
        assert finding.level == "unusual"
        assert finding.says.endswith("Look at its sign.")
        assert finding.seen.shape == (7, 7)


@pytest.mark.parametrize("causal", [False, True])
def test_a_view_in_place_of_a_permutation_is_broken(causal):
    finding = asked(relative_positions, viewed, False, causal)
    assert finding.level == "broken"
    assert "added to the scores (4, 7, 7) depends" in finding.says


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("bias", [by_query, for_all])
def test_what_the_softmax_takes_out_is_no_position(bias, fused):
    finding = asked(order_sensitivity, bias, fused)
    assert finding.level == "unusual"
    assert finding.says.startswith("The input has no positions")

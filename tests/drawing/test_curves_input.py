"""What `curves` takes, and what it refuses."""

import math

import pytest
import torch

from tests.helpers.drawings import RAMP, WAVE
from tformer_lite import curves


def test_what_cannot_be_drawn_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"\(8, 12\).*choose one"):
        curves(torch.zeros(8, 12))
    with pytest.raises(ValueError, match=r"\(\).*choose one"):
        curves(torch.tensor(1.0))
    with pytest.raises(ValueError, match=r"\(0,\)"):
        curves(torch.zeros(0))
    with pytest.raises(ValueError, match=r"waves is torch.complex64.*\.real"):
        curves(WAVE + 1j, titles=["waves"])
    with pytest.raises(ValueError, match="RAMP has 8 numbers.* vector 5"):
        curves(WAVE[:5], RAMP)
    with pytest.raises(ValueError, match="'Q': known are B, T"):
        curves(WAVE, axis="Q")
    with pytest.raises(ValueError, match="6 vectors.*draw 1 to 5"):
        curves(*[WAVE] * 6)
    with pytest.raises(ValueError, match="WAVE has -0.96, and a logarithmic"):
        curves(WAVE, log=True)
    with pytest.raises(ValueError, match="2 panels, 1 heads or logs"):
        curves([WAVE], [RAMP], heads=["one"])
    with pytest.raises(ValueError, match="0 vectors"):
        curves()
    with pytest.raises(ValueError, match="2 vectors, 1 titles"):
        curves(WAVE, RAMP, titles=["one"])
    with pytest.raises(ValueError, match="7 places, 8 numbers"):
        curves(WAVE, places=range(7))


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_line_with_holes_is_refused(odd):
    holes = RAMP.clone()
    holes[3] = odd
    with pytest.raises(ValueError, match="holes is not finite"):
        curves(WAVE, holes)


@pytest.mark.slow
def test_whole_numbers_lists_flat_lines_and_single_points_are_drawn_too():
    assert "3.00" in curves(torch.tensor([1, 2, 3])).text
    assert curves([1.0, 2.0], [2.0, 1.0]).svg()
    assert curves(torch.ones(8), torch.ones(8)).svg()
    assert curves(torch.ones(1)).svg()
    assert curves(WAVE.clone().requires_grad_()).svg()
    assert curves(torch.tensor([True, False])).svg()
    assert curves(WAVE, titles=[""]).svg()

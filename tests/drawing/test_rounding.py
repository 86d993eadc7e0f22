"""No word and no decimal hangs on the last bit of a number."""

import pytest
import torch

from tformer_lite import curves, heatmap
from tformer_lite.drawing.surface.matrix import kind_of
from tformer_lite.rounding import decimals, first_largest

NOISE = 1e-7  # how far apart processors come out, about
TIE = torch.tensor([[0.2, 0.7, 0.7], [0.7, 0.1, 0.7]], dtype=torch.double)


@pytest.fixture(params=range(4), ids="noise {}".format)
def noise(request):
    """What a processor may add to six numbers: at most NOISE to each."""
    torch.manual_seed(request.param)
    return (torch.rand(2, 3, dtype=torch.double) * 2 - 1) * NOISE


@pytest.mark.slow
def test_of_numbers_that_should_be_equal_the_first_is_the_largest(noise):
    assert first_largest(TIE + noise) == 1
    text = heatmap(TIE + noise, kind="scores").text
    assert "Largest: 0.70 in row 0 (0), column 1 (1)." in text


def test_a_line_is_lowest_and_highest_where_it_first_is_as_printed(noise):
    wave = torch.tensor([0.0, 1.0, -1.0, 1.0, -1.0, 0.0]).double()
    text = curves(wave + noise.flatten()).text
    assert "lowest at 2 (-1.00) and highest at 1 (1.00)." in text


def test_a_number_halfway_between_two_prints_is_printed_one_way(noise):
    for half in (0.125, 0.375, -1.625, 0.635):
        prints = {decimals(half + bit) for bit in noise.flatten().tolist()}
        assert prints == {decimals(half)}
    halves = torch.full((2, 3), 0.125).double() + noise
    assert first_largest(halves) == 0


def test_no_zero_keeps_a_minus_and_what_is_not_finite_can_be_the_largest():
    odd = (float("inf"), -float("inf"), float("nan"), -0.004, -0.006)
    printed = ["inf", "-inf", "nan", "0.00", "-0.01"]
    assert [decimals(value) for value in odd] == printed
    assert first_largest(torch.tensor([1.0, float("inf"), 2.0])) == 1
    assert first_largest(torch.tensor([1.0, float("nan"), 2.0])) == 1


def test_a_weight_that_came_out_below_zero_by_noise_is_a_weight():
    weights = torch.tensor([[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]).double()
    assert kind_of(weights) == kind_of(weights - NOISE) == "weights"
    assert kind_of(weights - 0.001) == "scores"

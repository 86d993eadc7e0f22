"""`same` says what is wrong, and where."""

import math
import re

import pytest
import torch

from tformer_lite import same

X = torch.tensor([[1.0, math.nan], [math.inf, -math.inf]])
SIZES = torch.tensor([1000.0, 0.001])
TURNS = torch.polar(torch.ones(3), torch.arange(3.0))
NOTHING = torch.tensor([complex(math.nan, 0)])
ONE = torch.tensor([1j, 0, 0])
LAST = torch.tensor([[0, 0, 0], [0, 0, 0.5]])
DRAWN = torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(0))
LATER = DRAWN.roll(1, 1).index_fill(1, torch.tensor([0]), 0)
TOO_LARGE = torch.tensor([2**53])  # one more is no float64 any more


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (X, X + 1e-7),
        (SIZES, SIZES * (1 + 5e-6)),  # large decimals round as small ones do
        (TURNS, TURNS * (1 + 1e-6j)),
        (NOTHING, NOTHING.clone()),
    ],
)
def test_equal_tensors_are_the_same(mine, theirs, capsys):
    same(mine, theirs)
    says = f"all {mine.numel()} values of {tuple(mine.shape)} agree"
    if mine.numel() == 1:
        says = "the one value of (1,) agrees"
    assert capsys.readouterr().out == f"same: {says}\n"


@pytest.mark.parametrize(
    ("mine", "theirs", "says"),
    [
        (
            torch.zeros(2, 3),
            torch.zeros(3, 2),
            "not the same shape: mine is (2, 3), theirs is (3, 2)",
        ),
        (
            torch.zeros(2, 3),
            LAST,
            "same shape (2, 3), other values: 1 of 6 differ, first at [1, 2]: "
            "mine 0, theirs 0.5",
        ),
        (SIZES, SIZES + torch.tensor([0.1, 0.0]), "1 of 2 differ"),
        (TOO_LARGE, TOO_LARGE + 1, f"mine {2**53}, theirs {2**53 + 1}"),
        (ONE, ONE * 2, "1 of 3 differ, first at [0]: mine 0+1j, theirs 0+2j"),
    ],
)
def test_the_first_difference_is_shown(mine, theirs, says):
    with pytest.raises(ValueError, match=f"{re.escape(says)}(, first|$)"):
        same(mine, theirs)


@pytest.mark.parametrize(
    ("theirs", "says"),
    [
        (DRAWN * 12**0.5, "; theirs = 3.464 × mine everywhere"),
        (DRAWN - 0.25, "; theirs - mine = -0.25 everywhere"),
        (DRAWN.mT, "; they agree after swapping the last two axes"),
        (LATER, "; theirs[i] is mine[i - 1], along axis 1"),
    ],
)
def test_it_is_said_how_theirs_follows_from_mine(theirs, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        same(DRAWN, theirs)

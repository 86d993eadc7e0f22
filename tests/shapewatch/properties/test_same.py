"""`same` says what is wrong, and where."""

import math
import re

import pytest
import torch

from tformer_lite import same


def test_equal_tensors_are_the_same(capsys):
    x = torch.tensor([[1.0, math.nan], [math.inf, -math.inf]])
    same(x, x + 1e-7)
    assert capsys.readouterr().out == "same: all 4 values of (2, 2) agree\n"


def test_another_shape_is_named():
    says = "not the same shape: mine is (2, 3), theirs is (3, 2)"
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        same(torch.zeros(2, 3), torch.zeros(3, 2))


def test_the_first_difference_is_shown():
    theirs = torch.zeros(2, 3)
    theirs[1, 2] = 0.5
    says = (
        "same shape (2, 3), other values: 1 of 6 differ, "
        "first at [1, 2]: mine 0, theirs 0.5"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        same(torch.zeros(2, 3), theirs)


def test_large_decimals_may_round_apart_as_small_ones_may():
    x = torch.tensor([1000.0, 0.001])
    same(x, x * (1 + 5e-6))
    with pytest.raises(ValueError, match="1 of 2 differ"):
        same(x, x + torch.tensor([0.1, 0.0]))


def test_large_whole_numbers_do_not_agree_when_they_are_near():
    ids = torch.tensor([1_000_000])
    with pytest.raises(ValueError, match="1 of 1 differ"):
        same(ids, ids + 1)


def test_large_whole_numbers_that_differ_are_written_out():
    """One more than 2^53 is no float64 any more."""
    ids = torch.tensor([2**53])
    with pytest.raises(ValueError, match=f"mine {2**53}, theirs {2**53 + 1}$"):
        same(ids, ids + 1)


def test_complex_numbers_agree_as_decimals_do(capsys):
    turns = torch.polar(torch.ones(3), torch.arange(3.0))
    same(turns, turns * (1 + 1e-6j))
    same(turns.conj(), turns.conj().clone())
    same(turns.real.contiguous() + 0j, turns.real)
    nothing = torch.tensor([complex(math.nan, 0)])
    same(nothing, nothing.clone())
    says = "1 of 3 differ, first at [0]: mine 0+1j, theirs 0+2j"
    one = torch.tensor([1j, 0, 0])
    for ours in (one, one.to(torch.complex128)):
        with pytest.raises(ValueError, match=re.escape(says)):
            same(ours, one * 2)
    with pytest.raises(ValueError, match=r"mine 1\+0j, theirs 1\+1j$"):
        same(torch.tensor([1.0]) + 0j, torch.tensor([1 + 1j]))
    with pytest.raises(ValueError, match=r"mine 1, theirs 1\+1j$"):
        same(torch.tensor([1.0]), torch.tensor([1 + 1j]))

"""Padded ids, and how close our numbers and PyTorch's must be."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

PAD = 1
TGT = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 1, 1], [5, 1, 7, 8, 1]])
SRC = torch.tensor(
    [[5, 6, 7, 8, 9, 4], [5, 6, 7, 1, 1, 1], [5, 1, 7, 1, 8, 1]]
)
# A target that is padding alone, one that starts with padding, and a source
# that is padding alone.
EMPTY_TGT = torch.tensor([[5, 6, 7, 8, 9], [1] * 5, [1, 1, 7, 8, 1]])
EMPTY_SRC = torch.tensor([[5, 6, 7, 8, 9, 4], [5, 6, 7, 1, 1, 1], [1] * 6])
# Absolute, and for numbers above 1 relative.
ATOL = {torch.float32: 1e-6, torch.float64: 1e-10}
# Rounding adds up in the gradients of weights, over the rows of a batch, and
# over the layers of a stack. What float32 hides then, float64 shows.
ADDED_UP = {torch.float32: 1e-5, torch.float64: 1e-10}

in_both_precisions = pytest.mark.parametrize("dtype", ATOL, ids=str)


def exact(*shape: int) -> Tensor:
    """Random numbers in double precision."""
    return torch.randn(*shape, dtype=torch.float64)


def near(mine: Tensor, theirs: Tensor) -> None:
    """Compare numbers in double precision: nothing but rounding."""
    assert_close(mine, theirs, rtol=0, atol=1e-12)


def ripple(out: Tensor) -> Tensor:
    """A gradient to send back, another number for each value."""
    return torch.arange(out.numel()).view_as(out).sin().to(out)


def agree_in_values(mine: Tensor, theirs: Tensor, atol: dict = ATOL) -> None:
    """Compare all values; where PyTorch has none (NaN), we have one.

    Before version 2.5, PyTorch gives NaN where nobody is seen. In the first
    row of every batch here, every position sees somebody.
    """
    assert theirs[0].isfinite().all()
    assert mine.isfinite().all()
    mine = mine.masked_fill(theirs.isnan(), torch.nan)
    atol = atol[theirs.dtype]
    assert_close(mine, theirs, atol=atol, rtol=atol, equal_nan=True)


def sent_back(out: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """Let the weights keep their gradients, and hand out the inputs'."""
    out.backward(ripple(out))
    found = [x.grad for x in inputs]
    for x in inputs:
        x.grad = None
    return found

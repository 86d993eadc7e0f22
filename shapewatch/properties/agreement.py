"""Agreement: that two tensors are the same, or where they part."""

import torch
from torch import Tensor


def same(mine: Tensor, theirs: Tensor, atol: float = 1e-5) -> None:
    """Say that two tensors agree, or raise ValueError saying where not.

    They agree when shapes are equal and every element is: whole numbers to
    the last digit, decimals, also complex ones, within `atol`, and that share
    of their size more, because processors round apart. NaN agrees with NaN,
    and −∞ with −∞.

    >>> same(torch.ones(2, 3), torch.zeros(2, 3) + 1)
    same: all 6 values of (2, 3) agree
    """
    shape, their_shape = tuple(mine.shape), tuple(theirs.shape)
    if shape != their_shape:
        raise ValueError(
            f"not the same shape: mine is {shape}, theirs is {their_shape}"
        )
    wrong, many = (~near(mine, theirs, atol)).nonzero(), mine.numel()
    if len(wrong):
        where = tuple(wrong[0].tolist())
        one, other = unlike(mine[where].item(), theirs[where].item(), atol)
        raise ValueError(
            f"same shape {shape}, other values: {len(wrong)} of {many} "
            f"differ, first at {list(where)}: mine {one}, theirs {other}"
        )
    one = f"the one value of {shape} agrees"
    print("same:", one if many == 1 else f"all {many} values of {shape} agree")


def close(mine: Tensor, theirs: Tensor) -> bool:
    """Whether two tensors agree."""
    return mine.shape == theirs.shape and bool(near(mine, theirs).all())


def near(mine: Tensor, theirs: Tensor, atol: float = 1e-5) -> Tensor:
    """Tell which elements agree: (...), (...) -> (...)."""
    pair = mine, theirs
    if not any(x.is_floating_point() or x.is_complex() for x in pair):
        return mine == theirs
    complex_ones = any(x.is_complex() for x in pair)
    exact = torch.complex128 if complex_ones else torch.float64
    mine, theirs = mine.to(exact), theirs.to(exact)
    alike = mine.isclose(theirs, rtol=atol, atol=atol)
    return alike | mine.isnan() & theirs.isnan()


def unlike(mine: complex, theirs: complex, atol: float) -> tuple[str, str]:
    """Write two numbers in four digits, or in as many as tell them apart."""
    digits = (4, 8, 17)
    pairs = [(number(mine, atol, n), number(theirs, atol, n)) for n in digits]
    return next((one for one in pairs if one[0] != one[1]), pairs[0])


def number(value: complex, atol: float, digits: int) -> str:
    """Write a number in so many digits, 0 for what is as good as 0, and a
    whole number in all of its own."""
    if isinstance(value, int):
        return f"{value:d}"
    return f"{0 if abs(value) <= atol else value:.{digits}g}"

"""Closeness: whether two tensors agree, and how one follows from the other."""

import math
from collections.abc import Iterator
from itertools import chain, combinations, product

import torch
from torch import Tensor

Changes = Iterator[tuple[str, Tensor]]  # what to say, and what mine becomes


def same(mine: Tensor, theirs: Tensor, atol: float = 1e-5) -> None:
    """Say that two tensors agree, or raise ValueError saying where not, and,
    if one simple change of mine makes them agree, which.

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
            f"{relation(mine, theirs, atol)}"
        )
    wrong, many = (~close_elements(mine, theirs, atol)).nonzero(), mine.numel()
    if len(wrong):
        where = tuple(wrong[0].tolist())
        pair = mine[where].item(), theirs[where].item()
        mine_text, their_text = number_texts(*pair, atol)
        how = relation(mine, theirs, atol) if len(wrong) > 1 else ""
        raise ValueError(
            f"same shape {shape}, other values: {len(wrong)} of {many} "
            f"differ, first at {list(where)}: mine {mine_text}, theirs "
            f"{their_text}{how}"
        )
    says = f"all {many} values of {shape} agree"
    print("same:", f"the one value of {shape} agrees" if many == 1 else says)


def are_close(mine: Tensor, theirs: Tensor) -> bool:
    """Whether two tensors agree."""
    same_shape = mine.shape == theirs.shape
    return same_shape and bool(close_elements(mine, theirs).all())


def close_elements(mine: Tensor, theirs: Tensor, atol: float = 1e-5) -> Tensor:
    """Tell which elements agree: (...), (...) -> (...)."""
    pair = mine, theirs
    if not any(x.is_floating_point() or x.is_complex() for x in pair):
        return mine == theirs
    complex_ones = any(x.is_complex() for x in pair)
    exact = torch.complex128 if complex_ones else torch.float64
    mine, theirs = mine.to(exact), theirs.to(exact)
    alike = mine.isclose(theirs, rtol=atol, atol=atol)
    return alike | mine.isnan() & theirs.isnan()


def number_texts(
    mine: complex, theirs: complex, atol: float
) -> tuple[str, str]:
    """Write two numbers in four digits, or in as many as tell them apart."""
    for digits in (4, 8, 17):
        texts = [digits_text(x, atol, digits) for x in (mine, theirs)]
        if texts[0] != texts[1]:
            break
    return texts[0], texts[1]


def digits_text(value: complex, atol: float, digits: int) -> str:
    """Write a number in so many digits; a whole one in all of its own."""
    if isinstance(value, int):
        return f"{value:d}"
    return f"{0 if abs(value) <= atol else value:.{digits}g}"


def relation(mine: Tensor, theirs: Tensor, atol: float) -> str:
    """Say how theirs follows from mine, where one simple change does it."""
    kind = torch.promote_types(mine.dtype, theirs.dtype)
    kind = torch.promote_types(kind, torch.long)  # of bool: it has no minus
    pair = mine.detach().to(kind), theirs.detach().to(kind)
    if pair[0].count_nonzero() < 3:  # of fewer, too much is true
        return ""
    alike = (recalculated, shifted) * (mine.shape == theirs.shape)
    for says, x in chain(*(way(*pair) for way in (swapped, *alike))):
        if x.shape == theirs.shape and close_elements(x, pair[1], atol).all():
            return f"; {says}"
    return ""


def swapped(mine: Tensor, _: Tensor) -> Changes:
    """Swap two axes of mine."""
    for i, j in combinations(range(mine.ndim), 2):
        axes = "the last two axes" if i == mine.ndim - 2 else f"axes {i}, {j}"
        yield f"they agree after swapping {axes}", mine.transpose(i, j)


def recalculated(mine: Tensor, theirs: Tensor) -> Changes:
    """Multiply mine by a number, or add one."""
    at = mine.abs().nan_to_num(0, 0, 0).argmax()
    x, y = (z.flatten()[at].item() for z in (mine, theirs))
    if x and not isinstance(y, int) and 0 < abs(y) < math.inf:
        factor, _ = number_texts(y / x, 1.0, 0)
        yield f"theirs = {factor} × mine everywhere", mine * (y / x)
    added = digits_text(y - x, 0, 4)
    yield f"theirs - mine = {added} everywhere", mine + (y - x)


def shifted(mine: Tensor, theirs: Tensor) -> Changes:
    """Move all rows by one, and take the one that is left from theirs."""
    for axis, end in product(range(mine.ndim), (0, -1)):
        if mine.shape[axis] > 2:
            x = mine.roll(-1 if end else 1, axis).clone()
            x.select(axis, end).copy_(theirs.select(axis, end))
            sign = "+" if end else "-"
            yield f"theirs[i] is mine[i {sign} 1], along axis {axis}", x

"""Agreement: that two tensors are the same, or where they part."""

from torch import Tensor


def same(mine: Tensor, theirs: Tensor, atol: float = 1e-5) -> None:
    """Say that two tensors agree, or raise ValueError saying where not.

    They agree when shapes are equal and every element is: whole numbers to
    the last digit, decimals within `atol`, and that share of their size more,
    because processors round apart. NaN agrees with NaN, and −∞ with −∞.

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
        one, other = (number(x[where].item(), atol) for x in (mine, theirs))
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
    if not (mine.is_floating_point() or theirs.is_floating_point()):
        return mine == theirs
    mine, theirs = mine.double(), theirs.double()
    return mine.isclose(theirs, rtol=atol, atol=atol, equal_nan=True)


def number(value: float, atol: float) -> str:
    """Write a number in four digits, and 0 for what is as good as 0."""
    return f"{0 if abs(value) <= atol else value:.4g}"

"""Agreement: that two tensors are the same, or where they part."""

from torch import Tensor


def same(mine: Tensor, theirs: Tensor, atol: float = 1e-5) -> None:
    """Say that two tensors agree, or raise ValueError saying where not.

    They agree when shapes are equal and every element is within `atol`
    (absolute); NaN agrees with NaN, and −∞ with −∞.

    >>> same(torch.ones(2, 3), torch.zeros(2, 3) + 1)
    same: all 6 values of (2, 3) agree
    """
    if mine.shape != theirs.shape:
        raise ValueError(
            f"not the same shape: mine is {tuple(mine.shape)}, theirs is "
            f"{tuple(theirs.shape)}"
        )
    close = mine.double().isclose(
        theirs.double(), rtol=0, atol=atol, equal_nan=True
    )
    if not close.all():
        where = tuple((~close).nonzero()[0].tolist())
        raise ValueError(
            f"same shape {tuple(mine.shape)}, other values: "
            f"{(~close).sum().item()} of {close.numel()} differ, first at "
            f"{list(where)}: mine {mine[where].item():.4g}, theirs "
            f"{theirs[where].item():.4g}"
        )
    many, shape = close.numel(), tuple(mine.shape)
    one = f"the one value of {shape} agrees"
    print("same:", one if many == 1 else f"all {many} values of {shape} agree")

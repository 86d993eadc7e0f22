"""Right shape, wrong numbers: how what came differs from what should."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

Sizes = Mapping[str, int]


def alike(mine: Tensor, right: Tensor, tolerance: float) -> Tensor:
    """Tell where two tensors of one shape agree; NaN agrees with NaN.

    Whole numbers and truth values agree exactly, others up to rounding,
    which near 0 depends on how large the largest is.
    """
    a, b = mine.double(), right.double()
    if not right.is_floating_point():
        return (a == b) | (a.isnan() & b.isnan())
    sizes = b[b.isfinite()].abs()
    near = tolerance / 10 * max(1.0, sizes.max().item() if len(sizes) else 0)
    return torch.isclose(a, b, tolerance, near, equal_nan=True)


def value_difference(
    mine: Tensor,
    right: Tensor,
    sizes: Sizes,
    inputs: Mapping[str, Tensor],
    tolerance: float,
) -> str:
    """Say what turns the expected numbers into those that came.

    The first of these that explains every number: truth values exchanged,
    NaN, another sign, a factor, a shift along an axis, elements of an input
    or of the output in other places. Otherwise where the two differ.
    """
    for explain in (exchanged, not_numbers, factor, offset, rolled):
        if found := explain(mine, right, sizes):
            return found
    found = from_input(mine, right, inputs) or moved(mine, right)
    return found or where_wrong(mine, right, tolerance)


def exchanged(mine: Tensor, right: Tensor, sizes: Sizes) -> str:
    """Truth values that are all turned round."""
    if right.dtype == torch.bool and torch.equal(mine, ~right):
        return "True and False are exchanged"
    return ""


def not_numbers(mine: Tensor, right: Tensor, sizes: Sizes) -> str:
    """NaN or infinities where there should be numbers."""
    bad = ~mine.double().isfinite() & right.double().isfinite()
    if not bad.any():
        return ""
    place = bad.nonzero()[0].tolist()
    return (
        f"output{place} is {number(mine[tuple(place)])}, should be "
        f"{number(right[tuple(place)])} ({int(bad.sum())} of {bad.numel()} "
        "numbers are like that)"
    )


def factor(mine: Tensor, right: Tensor, sizes: Sizes) -> str:
    """One factor for all numbers, named by the sizes where it can be."""
    a, b = finite_pairs(mine, right)
    if len(a) < 2 or not (b.abs() > 1e-6).any():
        return ""
    ratio = (a.dot(b) / b.dot(b)).item()
    if abs(ratio) < 1e-6 or not torch.allclose(a, ratio * b, 1e-4, 1e-6):
        return ""
    if math.isclose(ratio, -1, rel_tol=1e-4):
        return "every number has the wrong sign"
    large = abs(ratio) > 1
    name = factor_name(abs(ratio) if large else 1 / abs(ratio), sizes)
    sign = " and of the wrong sign" if ratio < 0 else ""
    size = "large" if large else "small"
    return f"every number is {name} times too {size}{sign}"


def factor_name(value: float, sizes: Sizes) -> str:
    """Write a factor, and the size or root of a size that it is."""
    known: dict[str, float] = dict(sizes)
    known |= {f"√{letter}": n**0.5 for letter, n in sizes.items()}
    known |= {f"{letter}²": n**2 for letter, n in sizes.items()}
    known["2"] = 2
    for name, n in known.items():
        if n > 1 and math.isclose(n, value, rel_tol=1e-4):
            return f"{name} = {value:.2f}" if name != "2" else "2"
    return f"{value:.2f}"


def offset(mine: Tensor, right: Tensor, sizes: Sizes) -> str:
    """One number added to all."""
    a, b = finite_pairs(mine, right)
    if right.dtype == torch.bool or len(a) < 2:
        return ""
    more = (a - b).mean().item()
    if abs(more) > 1e-6 and torch.allclose(a, b + more, 1e-4, 1e-6):
        return f"every number is {number(abs(more))} too " + (
            "large" if more > 0 else "small"
        )
    return ""


def finite_pairs(mine: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Give the numbers of both as rows, without places that both hide."""
    a, b = mine.double().flatten(), right.double().flatten()
    hidden = (a == b) & a.isinf()
    a, b = a[~hidden], b[~hidden]
    if not (a.isfinite() & b.isfinite()).all():
        return a[:0], b[:0]
    return a, b


def rolled(mine: Tensor, right: Tensor, sizes: Sizes) -> str:
    """All moved along one axis, but for what fell off its end."""
    for axis, n in enumerate(right.shape):
        for step in (1, -1):
            if n < 3 or right.flatten().unique().numel() < 3:
                continue
            a = mine.narrow(axis, max(step, 0), n - 1).double()
            b = right.narrow(axis, max(-step, 0), n - 1).double()
            if torch.allclose(a, b, 1e-4, 1e-6, equal_nan=True):
                how = "later" if step > 0 else "earlier"
                return f"everything stands one place {how} along axis {axis}"
    return ""


def moved(mine: Tensor, right: Tensor) -> str:
    """The same numbers in other places: name the first that is misplaced."""
    if right.dtype == torch.bool or torch.equal(mine, right):
        return ""
    a, b = mine.double().flatten(), right.double().flatten()
    if len(b.unique()) < len(b) or not torch.equal(a.sort()[0], b.sort()[0]):
        return ""
    wrong = mine.double() != right.double()
    place = wrong.nonzero()[0].tolist()
    home = (right == mine[tuple(place)]).nonzero()[0].tolist()
    return (
        f"right numbers in wrong places: output{place} holds what belongs "
        f"into output{home} ({int(wrong.sum())} of {len(a)} are misplaced)"
    )


def where_wrong(mine: Tensor, right: Tensor, tolerance: float) -> str:
    """Say how many numbers are wrong, along which axis all or none are, and
    show the first."""
    wrong = ~alike(mine, right, tolerance)
    count = f"{int(wrong.sum())} of {wrong.numel()} values are wrong"
    if not wrong.ndim:
        return f"it is {number(mine)}, should be {number(right)}"
    place = wrong.nonzero()[0].tolist()
    first = (
        f"output{place} is {number(mine[tuple(place)])}, should be "
        f"{number(right[tuple(place)])}"
    )
    return f"{count}{only_at(wrong)}; the first: {first}"


def only_at(wrong: Tensor) -> str:
    """Name the axis along which some places are entirely right."""
    for axis, n in enumerate(wrong.shape):
        rest = [i for i in range(wrong.ndim) if i != axis]
        bad = wrong.any(rest) if rest else wrong
        places = bad.nonzero().flatten().tolist()
        if n > 1 and len(places) < n:
            return f", all of them at {listed(places)} of axis {axis}"
    return ""


def listed(places: Sequence[int]) -> str:
    """Write a few places."""
    shown = ", ".join(map(str, places[:6]))
    return f"{shown}, …" if len(places) > 6 else shown


def number(value: Tensor | float | bool) -> str:
    """Write one number as one would: 0.25, True, −∞."""
    value = value.item() if isinstance(value, Tensor) else value
    if isinstance(value, bool | int):
        return str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.4g}"


def from_input(
    mine: Tensor, right: Tensor, inputs: Mapping[str, Tensor]
) -> str:
    """Where all comes from one input: which element of it stands where
    another should: output[0, 0, 1, 0] holds x[0, 0, 13]."""
    for name, given in inputs.items():
        values = given.flatten().tolist()
        known = set(values)
        if len(known) < len(values) or given.numel() < 4:
            continue
        if {*mine.flatten().tolist(), *right.flatten().tolist()} <= known:
            wrong = mine != right
            place = wrong.nonzero()[0].tolist()
            here, there = (
                (given == found[tuple(place)]).nonzero()[0].tolist()
                for found in (mine, right)
            )
            return (
                f"right shape, wrong elements: output{place} holds "
                f"{name}{here}, should hold {name}{there}"
            )
    return ""

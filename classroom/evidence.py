"""Evidence: whether what came is what should, and what can be seen if not."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from classroom.cases import Case, Sizes, letter_of, named_shape
from classroom.exercise import Exercise
from classroom.outcomes import Outcome
from classroom.values import AXES, Strange, clean, plain_value
from shapewatch.properties.closeness import relation

Number = Tensor | int | float
SHOWN_SINGLY = 8  # values of a list, at most


def equal(mine: Any, right: Any, tolerance: float) -> bool:
    """Tell whether two values are the same, numbers up to rounding."""
    if isinstance(right, tuple):
        if isinstance(mine, Tensor):  # a matrix for the lists of its rows
            mine = plain_value((mine * 1).tolist())
        return (
            isinstance(mine, tuple)
            and len(mine) == len(right)
            and all(equal(a, b, tolerance) for a, b in zip(mine, right))
        )
    if isinstance(right, Tensor) or type(right) in (bool, int, float):
        if not isinstance(mine, Number):
            return False
        a, b = torch.as_tensor(mine), torch.as_tensor(right)
        if a.shape != b.shape or kind(a) != kind(b):
            return False
        if is_whole(right) and not is_whole(mine):
            return False
        return bool(equal_places(a, b, tolerance).all())
    return type(mine) is type(right) and mine == right


def equal_places(mine: Tensor, right: Tensor, tolerance: float) -> Tensor:
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


def kind(value: Tensor) -> str:
    """Name what a tensor is of: truth values, or numbers."""
    return "True and False" if value.dtype == torch.bool else "numbers"


def is_whole(value: Any) -> bool:
    """Tell whether a value is a tensor of whole numbers, such as ids."""
    if not isinstance(value, Tensor) or value.dtype == torch.bool:
        return False
    return bool(value.ndim) and not value.is_floating_point()


def evidence(
    exercise: Exercise, case: Case, outcome: Outcome, right: Any
) -> tuple[str, str]:
    """Say in a few words what is wrong with an outcome, without any number of
    it, and then what can be seen."""
    if outcome.error == "TookTooLong":
        return "too slow: is there a loop that never ends?", outcome.says
    if outcome.error in ("ForbiddenMeans", "NoReturn", "NoFunction"):
        return outcome.says, ""
    if outcome.error:
        return f"it stopped with {outcome.error}", outcome.says
    mine = outcome.value
    if exercise.kind == "shape":
        sizes = mine if isinstance(mine, tuple) else (None,)
        if all(type(n) is int for n in sizes) and len(sizes) <= AXES:
            return "wrong shape", shapes_text(mine, right, case, exercise)
        says = f"expected a shape, such as (2, 8, 12), got {value_text(mine)}"
        return "no shape", says
    if not (isinstance(right, tuple) and isinstance(mine, tuple)):
        return value_evidence(exercise, case, mine, right)
    if len(mine) != len(right):
        says = f"got {len(mine)} values, expected {len(right)}"
        return "wrong number of values", says
    pairs, tolerance = enumerate(zip(mine, right)), exercise.tolerance
    i = next(i for i, pair in pairs if not equal(*pair, tolerance))
    says, detail = value_evidence(exercise, case, mine[i], right[i])
    return says, f"value {i} of {len(right)}: {detail}"


def value_evidence(
    exercise: Exercise, case: Case, mine: Any, right: Any
) -> tuple[str, str]:
    """Compare one value with the right one: its type, shape, numbers."""
    if type(right) is type(mine) and not isinstance(right, Number):
        return "wrong value", f"{value_text(mine)} is not right"
    wanted = Tensor if getattr(right, "ndim", 0) else Number
    if not isinstance(right, Number) or not isinstance(mine, wanted):
        says = f"expected {type_text(right)}, got {value_text(mine)}"
        return "wrong type", says
    a, b = torch.as_tensor(mine), torch.as_tensor(right)
    if a.shape != b.shape:
        return "wrong shape", shapes_text(a.shape, b.shape, case, exercise)
    if kind(a) != kind(b):
        return "wrong type", f"expected {kind(b)}, got {kind(a)}"
    if is_whole(right) and not is_whole(mine):
        return "wrong type", f"expected whole numbers, got {a.dtype}"
    if not b.ndim and not case.args:
        return "wrong value", f"{number_text(a)} is not right"
    inputs = dict(zip(exercise.inputs, case.args))
    return "wrong values", value_difference(a, b, inputs, exercise.tolerance)


def value_text(value: Any) -> str:
    """Write a value of a wrong type."""
    if isinstance(value, Strange):
        return f"an object of type {value.type}"
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}"
    if isinstance(value, tuple) and len(value) > SHOWN_SINGLY:
        return f"a list of {len(value)} values"
    if isinstance(value, tuple):
        return f"[{', '.join(map(value_text, value))}]"
    return clean(repr(value), 60)


def type_text(right: Any) -> str:
    """Name the type that a value should have."""
    if isinstance(right, tuple):
        return f"a list or tuple of {len(right)} values"
    types = {Tensor: "a tensor", str: "a text", bool: "True or False"}
    return types.get(type(right), "a number")


def number_text(value: Tensor | float | bool) -> str:
    """Write one number as one would: 0.25, True, −∞."""
    value = value.item() if isinstance(value, Tensor) else value
    if isinstance(value, bool | int):
        return str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.4g}"


# --- Shapes that differ ---------------------------------------------------


def shapes_text(
    mine: Sequence[int], right: Sequence[int], case: Case, exercise: Exercise
) -> str:
    """Write both shapes, and how they differ."""
    sizes = {x: case.sizes.get(x, 0) for x in (*exercise.output, *case.sizes)}
    return (
        f"got {named_shape(mine, sizes)}, expected "
        f"{named_shape(right, sizes, exercise.output)}: "
        f"{shape_difference(mine, right, sizes)}"
    )


def shape_difference(
    got: Sequence[int], expected: Sequence[int], sizes: Sizes
) -> str:
    """Say what turns the expected shape into the one that came."""
    mine, right = list(got), list(expected)
    if sorted(mine) == sorted(right):
        return order_difference(mine, right)
    if [n for n in mine if n != 1] == [n for n in right if n != 1]:
        if len(mine) < len(right):
            return "an axis of size 1 is missing: unsqueeze, or use None"
        return "there is one axis of size 1 too many: squeeze it"
    if len(mine) != len(right):
        return axes_difference(mine, right, sizes)
    return "; ".join(
        f"axis {i} is {size_text(n, sizes)} and should be "
        f"{size_text(m, sizes)}"
        for i, (n, m) in enumerate(zip(mine, right))
        if n != m
    )


def order_difference(mine: list[int], right: list[int]) -> str:
    """Name the axes that changed places."""
    moved = [n for n, pair in enumerate(zip(mine, right)) if len({*pair}) > 1]
    if len(moved) == 2:
        i, j = moved
        return f"axes {i} and {j} are swapped: transpose({i}, {j})"
    order = [mine.index(n) for n in right]
    return f"the axes are in the wrong order: permute{tuple(order)} fixes it"


def axes_difference(mine: list[int], right: list[int], sizes: Sizes) -> str:
    """Say which axis was merged, lost or added."""
    few, many = sorted((mine, right), key=len)
    for i in range(len(many) - 1):
        if few == [*many[:i], many[i] * many[i + 1], *many[i + 2 :]]:
            pair = " and ".join(size_text(n, sizes) for n in many[i : i + 2])
            if few is mine:
                return f"axes {i} and {i + 1}, {pair}, are merged into one"
            return f"{pair} should be one axis: flatten({i}, {i + 1})"
    for i, n in enumerate(many):
        if few == [*many[:i], *many[i + 1 :]]:
            what = "missing" if few is mine else "too many"
            return f"axis {i}, {size_text(n, sizes)}, is {what}"
    return f"it should have {len(right)} axes, and has {len(mine)}"


def size_text(size: int, sizes: Sizes) -> str:
    """Write one size with its letter."""
    letter = letter_of(size, sizes)
    return f"{letter}={size}" if letter else str(size)


# --- Right shape, wrong numbers -------------------------------------------


def value_difference(
    mine: Tensor, right: Tensor, inputs: Mapping[str, Any], tolerance: float
) -> str:
    """Say how the right numbers follow from those that came: by exchanging
    True and False, by swapped axes, a factor, a sum or a step along an axis,
    or by moving elements. Otherwise where the two differ."""
    if right.ndim and right.dtype == torch.bool and mine.equal(~right):
        return "True and False are exchanged"
    bad = ~mine.double().isfinite() & right.double().isfinite()
    if bad.any():
        first = first_wrong(mine, right, bad)
        return f"{first} ({int(bad.sum())} of {bad.numel()} are like that)"
    if right.is_floating_point() and (how := relation(mine, right, tolerance)):
        return how[2:].replace("theirs", "right").replace("mine", "yours")
    wrong = ~equal_places(mine, right, tolerance)
    if not wrong.ndim:
        return f"it is {number_text(mine)}, should be {number_text(right)}"
    first = moved(mine, right, inputs) or first_wrong(mine, right, wrong)
    count = f"{int(wrong.sum())} of {wrong.numel()} values are wrong"
    return f"{count}; the first: {first}"


def moved(mine: Tensor, right: Tensor, inputs: Mapping[str, Any]) -> str:
    """Where all elements are those of one input, say which stands where
    another should: output[0, 1] holds x[0, 13]."""
    for name, x in inputs.items() if right.dtype != torch.bool else ():
        if not isinstance(x, Tensor) or len(x.unique()) < max(4, x.numel()):
            continue
        if torch.isin(torch.stack([mine, right]), x).all():
            place = (mine != right).nonzero()[0].tolist()
            pair = (side[tuple(place)] for side in (mine, right))
            here, there = ((x == n).nonzero()[0].tolist() for n in pair)
            return f"output{place} holds {name}{here}, not {name}{there}"
    return ""


def first_wrong(mine: Tensor, right: Tensor, wrong: Tensor) -> str:
    """Show the first number that is wrong, and what it should be."""
    place = wrong.nonzero()[0].tolist()
    is_now, wanted = (number_text(x[tuple(place)]) for x in (mine, right))
    return f"output{place} is {is_now}, should be {wanted}"

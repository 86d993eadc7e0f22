"""Evidence: whether what came is what should, and what can be seen if not."""

from typing import Any

import torch
from torch import Tensor

from classroom.cases import Case
from classroom.exercise import Exercise
from classroom.playing import Outcome
from classroom.relations import (
    alike,
    number,
    value_difference,
)
from classroom.shapes import named_shape, shape_difference
from classroom.values import AXES, Strange, clean, plain

NUMBER = Tensor | int | float
FEW = 8  # values that are shown one by one


def agrees(exercise: Exercise, case: Case, outcome: Outcome) -> bool:
    """Tell whether what came of a case is what should."""
    if outcome.error:
        return False
    return equal(outcome.value, plain(exercise.right(case)), exercise)


def equal(mine: Any, right: Any, exercise: Exercise) -> bool:
    """Tell whether two values are the same, numbers up to rounding."""
    if isinstance(right, tuple):
        return (
            isinstance(mine, tuple)
            and len(mine) == len(right)
            and all(equal(a, b, exercise) for a, b in zip(mine, right))
        )
    if isinstance(right, Tensor) or type(right) in (int, float):
        if not comparable(mine, right):
            return False
        a, b = torch.as_tensor(mine), torch.as_tensor(right)
        return bool(alike(a, b, exercise.tolerance).all())
    return type(mine) is type(right) and mine == right


def comparable(mine: Any, right: Any) -> bool:
    """Tell whether a value has the kind and shape of the right one."""
    if not isinstance(mine, Tensor | int | float):
        return False
    a, b = torch.as_tensor(mine), torch.as_tensor(right)
    as_whole = whole(mine) or not whole(right)
    return a.shape == b.shape and kind(a) == kind(b) and as_whole


def kind(value: Tensor) -> str:
    """Name what a tensor is of: truth values, or numbers."""
    return "True and False" if value.dtype == torch.bool else "numbers"


def whole(value: Any) -> bool:
    """Tell whether a value is a tensor of whole numbers, such as ids."""
    if not isinstance(value, Tensor) or value.dtype == torch.bool:
        return False
    return not value.is_floating_point()


def evidence(
    exercise: Exercise, case: Case, outcome: Outcome
) -> tuple[str, str]:
    """Say what can be seen of a wrong outcome, and in a few words."""
    if outcome.error == "TookTooLong":
        return f"{outcome.says}: is there a loop that never ends", "too slow"
    if outcome.error:
        label = f"stopped with {outcome.error}"
        return f"{outcome.error}: {outcome.says}", label
    mine, right = outcome.value, plain(exercise.right(case))
    if exercise.kind == "shape":
        return shape_evidence(mine, right, exercise, case)
    if isinstance(right, tuple) and isinstance(mine, tuple):
        return of_several(exercise, case, mine, right)
    return value_evidence(exercise, case, mine, right)


def of_several(
    exercise: Exercise, case: Case, mine: tuple, right: tuple
) -> tuple[str, str]:
    """Say which of several values is wrong, and how."""
    if len(mine) != len(right):
        says = f"got {len(mine)} values, expected {len(right)}"
        return says, "wrong number of values"
    pairs = enumerate(zip(mine, right))
    i = next(i for i, (a, b) in pairs if not equal(a, b, exercise))
    says, label = value_evidence(exercise, case, mine[i], right[i], False)
    return f"value {i} of {len(right)}: {says}", label


def shape_evidence(
    mine: Any, right: Any, exercise: Exercise, case: Case
) -> tuple[str, str]:
    """Compare two shapes that are the values themselves."""
    whole = isinstance(mine, tuple) and all(type(n) is int for n in mine)
    if not whole or len(mine) > AXES:
        says = f"expected a shape, such as (2, 8, 12), got {shown(mine)}"
        return says, "no shape"
    return shapes_told(mine, right, exercise, case), "wrong shape"


def shapes_told(
    mine: tuple,
    right: tuple,
    exercise: Exercise,
    case: Case,
    named: bool = True,
) -> str:
    """Write both shapes, and how they differ."""
    letters = exercise.output if named else ()
    return (
        f"got {named_shape(mine, case.sizes)}, expected "
        f"{named_shape(right, case.sizes, letters)}: "
        f"{shape_difference(mine, right, case.sizes)}"
    )


def value_evidence(
    exercise: Exercise, case: Case, mine: Any, right: Any, named: bool = True
) -> tuple[str, str]:
    """Compare one value with the right one: its type, shape, numbers."""
    if type(right) is type(mine) and not isinstance(right, NUMBER):
        return f"{shown(mine)} is not right", "wrong value"
    if not isinstance(right, NUMBER):
        return f"expected {asked(right)}, got {shown(mine)}", "wrong type"
    if not isinstance(mine, Tensor if getattr(right, "ndim", 0) else NUMBER):
        return f"expected {asked(right)}, got {shown(mine)}", "wrong type"
    a, b = torch.as_tensor(mine), torch.as_tensor(right)
    if a.shape != b.shape:
        shapes = tuple(a.shape), tuple(b.shape)
        return shapes_told(*shapes, exercise, case, named), "wrong shape"
    if kind(a) != kind(b):
        return f"expected {kind(b)}, got {kind(a)}", "wrong type"
    if whole(right) and not whole(mine):
        return f"expected whole numbers, got {a.dtype}", "wrong type"
    if not b.ndim and not case.args:
        return f"{number(a)} is not it", "wrong value"
    tensors = zip(exercise.inputs, case.args)
    inputs = {name: x for name, x in tensors if isinstance(x, Tensor)}
    told = value_difference(a, b, case.sizes, inputs, exercise.tolerance)
    return told, "wrong values"


def shown(value: Any) -> str:
    """Write a value of a wrong type."""
    if isinstance(value, Strange):
        return f"an object of type {value.type}"
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}"
    if isinstance(value, tuple) and len(value) > FEW:
        return f"a list of {len(value)} values"
    if isinstance(value, tuple):
        return f"[{', '.join(map(shown, value))}]"
    return clean(repr(value), 60)


def asked(right: Any) -> str:
    """Name the type that a value should have."""
    match right:
        case Tensor():
            return "a tensor"
        case tuple():
            return f"a list or tuple of {len(right)} values"
        case str():
            return "a text"
        case bool():
            return "True or False"
    return "a number"

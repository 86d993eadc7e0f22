"""What depends on what: an answer is called again with one place changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from classroom.cases import Case
from classroom.exercise import Exercise

# What a place along an axis is called.
WORDS = {"B": "sentence", "H": "head", "V": "word"}
WORDS |= dict.fromkeys("TS", "position") | dict.fromkeys("CDF", "channel")


@dataclass(frozen=True)
class Dependence:
    """A matrix of which place of the result (a row) depends on which of the
    input, what is wrong with it, and the letters of its axes."""

    matrix: Tensor
    says: str
    axes: str


def probed_axes(exercise: Exercise) -> tuple[int, int, int]:
    """Read `dependence`: the input's number, its axis, and the output's."""
    left, _, output = exercise.dependence.partition("->")
    name, axis = left.split()
    return [*exercise.inputs].index(name), int(axis), int(output)


def probes(exercise: Exercise, case: Case) -> list[Case]:
    """Give the case once more for each place of the input, changed there."""
    if not exercise.dependence:
        return []
    i, axis, _ = probed_axes(exercise)
    return [
        replace(case, args=perturb_input(case.args, i, axis, place))
        for place in range(case.args[i].shape[axis])
    ]


def perturb_input(args: tuple, i: int, axis: int, place: int) -> tuple:
    """Change one place of one input, by another amount at every channel: a
    norm takes away what is added to all alike."""
    x = args[i].clone()
    part = x.select(axis, place)
    part += torch.linspace(1, 2, part.numel()).view_as(part).to(x)
    return (*args[:i], x, *args[i + 1 :])


def wrong_dependence(
    exercise: Exercise, values: Sequence[Any], right: Sequence[Any]
) -> Dependence | None:
    """Compare what depends on what with what should: None where that tells
    nothing. The values are those of a case, and of its probes."""
    for value in values:
        if not isinstance(value, Tensor) or value.shape != right[0].shape:
            return None
    i, axis, output = probed_axes(exercise)
    moved, wanted = (dependences([*x], output) for x in (values, right))
    if torch.equal(moved, wanted):
        return None
    letters = exercise.output[output], [*exercise.inputs.values()][i][axis]
    says = difference(moved, wanted, *(WORDS.get(x, "place") for x in letters))
    return Dependence(moved.double(), says, " ".join(letters))


def dependences(values: list[Any], axis: int) -> Tensor:
    """Tell which place of the output (a row) moved with which of the input,
    from what came unchanged, and with each place changed."""
    first, *others = (x.double().movedim(axis, 0).flatten(1) for x in values)
    moved = [~torch.isclose(x, first, 0, 1e-6, True) for x in others]
    return torch.stack([x.any(1) for x in moved], 1)


def difference(moved: Tensor, wanted: Tensor, ask: str, answer: str) -> str:
    """Name a row that depends on what it should not, or the reverse."""
    wrong, before, after = moved & ~wanted, "depends on", "should not"
    if not wrong.any():
        wrong, before = wanted & ~moved, "does not depend on"
        after = "should"
    row, column = wrong.nonzero()[0].tolist()
    verdict = f"{before} {answer} {column} of the input, and {after}"
    return f"{ask} {row} of the result {verdict}"

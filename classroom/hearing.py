"""Who depends on whom: an answer is called again with one place changed."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from classroom.cases import Case
from classroom.exercise import Exercise
from classroom.playing import Outcome

# What a place along an axis is called.
WORDS = {
    "B": "sentence",
    "T": "position",
    "S": "position",
    "H": "head",
    "C": "channel",
    "D": "channel",
    "F": "channel",
    "V": "word",
}


@dataclass(frozen=True)
class Heard:
    """A matrix of who depends on whom, what is wrong with it, and the letters
    of its axes: that of the result, that of the input."""

    seen: Tensor
    says: str
    axes: str


def places(exercise: Exercise) -> tuple[int, int, int]:
    """Read `hears`: the input's number, its axis, and the output's."""
    left, _, output = exercise.hears.partition("->")
    name, axis = left.split()
    return [*exercise.inputs].index(name), int(axis), int(output)


def probes(exercise: Exercise, case: Case) -> list[Case]:
    """Give the case once more for each place of the input, changed there."""
    if not exercise.hears:
        return []
    i, axis, _ = places(exercise)
    return [
        replace(case, args=changed(case.args, i, axis, place))
        for place in range(case.args[i].shape[axis])
    ]


def changed(args: tuple[Any, ...], i: int, axis: int, place: int) -> Any:
    """Change one place of one input, by another amount at every channel: a
    norm takes away what is added to all alike."""
    x = args[i].clone()
    one = x.select(axis, place)
    one += torch.linspace(1, 2, one.numel()).view_as(one).to(x)
    return (*args[:i], x, *args[i + 1 :])


def heard_by(
    exercise: Exercise, case: Case, outcomes: list[Outcome]
) -> Heard | None:
    """Lay what came beside what should: None where that tells nothing."""
    if not exercise.hears:
        return None
    trials = probes(exercise, case)
    axis = places(exercise)[2]
    values = [outcomes[0].value, *(o.value for o in outcomes[-len(trials) :])]
    right = [exercise.right(each) for each in (case, *trials)]
    should = depends(right, axis)
    if should is None or not all(fits(x, right[0]) for x in values):
        return None
    seen = depends(values, axis)
    if seen is None or torch.equal(seen, should):
        return None
    ask, answer = axes(exercise)
    says = differs(seen, should, of(ask), of(answer))
    return Heard(seen.double(), says, f"{ask} {answer}")


def fits(value: Any, right: Tensor) -> bool:
    """Tell whether a value can be laid beside the right one."""
    return isinstance(value, Tensor) and value.shape == right.shape


def depends(values: list[Any], axis: int) -> Tensor | None:
    """Tell which place of the output (a row) moved with which of the input,
    from what came unchanged, and with each place changed."""
    first, *others = (x.double().movedim(axis, 0).flatten(1) for x in values)
    if not others:
        return None
    moved = [~torch.isclose(x, first, 0, 1e-6, True) for x in others]
    return torch.stack([x.any(1) for x in moved], 1)


def axes(exercise: Exercise) -> tuple[str, str]:
    """Give the letters of the two axes: the result's, the input's."""
    i, axis, output = places(exercise)
    letters = [*exercise.inputs.values()][i]
    return exercise.output[output], letters[axis]


def of(letter: str) -> str:
    """Name one place along an axis."""
    return WORDS.get(letter, "place")


def differs(seen: Tensor, should: Tensor, ask: str, answer: str) -> str:
    """Name a row that depends on what it should not, or the reverse."""
    for wrong, before, after in (
        (seen & ~should, "depends on", "of the input, and should not"),
        (should & ~seen, "does not depend on", "of the input, and should"),
    ):
        if wrong.any():
            row, column = wrong.nonzero()[0].tolist()
            told = f"{before} {answer} {column} {after}"
            return f"{ask} {row} of the result {told}"
    return ""

"""What an author of exercises wants to know: whether an exercise is drawn with
every seed, its right code passes, and each of its mistakes is named."""

from collections import Counter
from collections.abc import Iterator

from torch import Tensor

from classroom.cases import Sizes, named_shape
from classroom.exercise import Exercise
from classroom.judging import Verdict, try_answer
from classroom.mistakes import answer_of
from classroom.stored import find_trial
from classroom.trials import Trial

SEEDS = 20


def rehearse(exercise: Exercise, seeds: int = SEEDS) -> Iterator[str]:
    """Judge the right code, and it with each mistake, on some seeds; give the
    lines of a report. Raises ValueError where no trial can be drawn."""
    if exercise.rubric:
        yield f"{exercise.name}: {exercise.title}. A person reads it, for"
        yield from (f"  - {each}" for each in exercise.rubric)
        return
    yield f"{exercise.name}: {exercise.title} ({exercise.axes or 'a value'})"
    trial = find_trial(exercise, 0)
    for i, case in enumerate(trial.cases):
        yield f"  {case_line(trial, i)}  {case.when or 'ordinary'}"
    passed = sum(verdict(exercise, (), n).right for n in range(seeds))
    yield f"  right: passes with {passed} of {seeds} seeds"
    for edit in exercise.edits:
        said = Counter(
            verdict(exercise, (edit,), n).mistakes for n in range(seeds)
        )
        named = said.pop((edit[-1],), 0)
        yield f"  {named:2} of {seeds}  {edit[-1]}"
        for other, n in said.items():
            words = "; ".join(other) or "passes as right"
            yield f"    but {n} times: {words}"


def verdict(exercise: Exercise, edits: tuple, seed: int) -> Verdict:
    """Judge the right code with these mistakes."""
    return try_answer(exercise, answer_of(exercise, edits), seed)


def case_line(trial: Trial, i: int) -> str:
    """Write what a case has, and what should come of it, in shapes."""
    case = trial.cases[i]
    names = [*trial.exercise.inputs.items()]
    inputs = [
        f"{name} {value_line(value, case.sizes, letters)}"
        for (name, letters), value in zip(names, case.args)
    ]
    wanted = value_line(trial.wanted[i], case.sizes, trial.exercise.output)
    return f"{', '.join(inputs)} -> {wanted}"


def value_line(value: object, sizes: Sizes, letters: list[str]) -> str:
    """Write a tensor's shape, or a short value."""
    if isinstance(value, Tensor):
        return named_shape(value.shape, sizes, letters)
    if isinstance(value, tuple):
        return f"({', '.join(value_line(x, sizes, []) for x in value)})"
    text = repr(value)
    return text if len(text) < 30 else f"{text[:29]}…"

"""Judging: what came of an answer, against the exercise's mistakes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import torch
from torch import Tensor

from classroom.cases import Case
from classroom.dependence import Dependence, probes, wrong_dependence
from classroom.evidence import agrees, equal, evidence
from classroom.exercise import Exercise, draw_cases, flawless
from classroom.outcomes import Outcome, run_on_cases
from classroom.values import Strange, plain_value

PART = 0.5  # of the points, for an answer that has one mistake
ENOUGH_WORDS = 15  # fewer are no explanation yet
MISTAKES = 2  # that are looked for together, at most

Pairs = Sequence[tuple[Case, Outcome]]


@dataclass(frozen=True)
class Verdict:
    """What is said of an answer.

    `share` of the points is 1, ½ where one known mistake explains all or
    only a case at the edge fails, 0, or None where a person has to read.
    `mistakes` name what is wrong, the same words for all who did it; `says`
    is for the student. `dependence` has a matrix, where it tells something:
    which place of the result (its row) depends on which of the input.
    """

    name: str
    share: float | None
    says: str
    mistakes: tuple[str, ...] = ()
    dependence: Dependence | None = field(default=None, compare=False)

    @property
    def right(self) -> bool:
        """Whether nothing is wrong."""
        return self.share == 1

    def __str__(self) -> str:
        sign = "–" if self.share is None else "✗✓"[self.right]
        return f"{sign} {self.name}: {self.says}"


def try_answer(
    exercise: Exercise, answer: Any, seed: int | str = 0
) -> Verdict:
    """Call an answer here and now, and judge it."""
    outcomes = run_on_cases(answer, all_cases(exercise, seed))
    return judge(exercise, seed, outcomes)


def all_cases(exercise: Exercise, seed: int | str) -> list[Case]:
    """List what an answer is called with: the cases, the first again, and
    what shows what depends on what."""
    cases = draw_cases(exercise, seed)
    return [*cases, cases[0], *probes(exercise, cases[0])]


def judge(
    exercise: Exercise, seed: int | str, outcomes: list[Outcome]
) -> Verdict:
    """Say what is right or wrong, from what came of all the cases."""
    if exercise.rubric:
        return to_read(exercise, outcomes[0].value)
    if is_unwritten(outcomes[0]):
        says = "not written yet: put your answer where the ... stands."
        return Verdict(exercise.name, 0, says, ("not written",))
    pairs = list(zip(draw_cases(exercise, seed), outcomes))
    ordinary = [pair for pair in pairs if not pair[0].about]
    for case, outcome in ordinary:
        if not agrees(exercise, case, outcome):
            dependence = wrong_dependence(exercise, case, outcomes)
            return wrong(exercise, ordinary, (case, outcome), dependence)
    for case, outcome in pairs:
        if case.about and not agrees(exercise, case, outcome):
            seen, _ = evidence(exercise, case, outcome)
            says = f"right on ordinary inputs, but {case.about}. "
            says += f"({sentence(seen)})"
            return Verdict(exercise.name, PART, says, (case.about,))
    return side_effects(exercise, outcomes, len(pairs))


def is_unwritten(outcome: Outcome) -> bool:
    """Tell whether the stub is still as it was."""
    empty = outcome.value is None or outcome.value == Strange("ellipsis")
    return outcome.error == "NotImplementedError" or (
        empty and not outcome.error
    )


def wrong(
    exercise: Exercise,
    ordinary: Pairs,
    pair: tuple[Case, Outcome],
    dependence: Dependence | None,
) -> Verdict:
    """Name the mistakes if they are known, else what can be seen."""
    known = known_mistakes(exercise, ordinary)
    seen, label = evidence(exercise, *pair)
    if not known:
        says = sentence(f"{seen}. {dependence.says if dependence else ''}")
        return Verdict(exercise.name, 0, says, (label,), dependence)
    part = len(known) == 1 and earns_part(exercise, ordinary)
    says = f"{'; and '.join(known)}. ({sentence(seen)})"
    return Verdict(exercise.name, PART * part, says, known, dependence)


def earns_part(exercise: Exercise, pairs: Pairs) -> bool:
    """Tell whether an answer with a known mistake has a part of the points:
    not a bug that was left as it is, no value that was guessed, and nothing
    that is the same whatever goes in."""
    if exercise.kind == "bug" or not pairs[0][0].args:
        return False
    values = [outcome.value for _, outcome in pairs]
    numbers = [x.double().flatten() for x in values if isinstance(x, Tensor)]
    if len(numbers) < len(values):
        return len({repr(value) for value in values}) > 1
    return len(torch.cat(numbers).nan_to_num(0.5).unique()) > 1


def sentence(text: str) -> str:
    """End a text with one full stop."""
    return f"{text.rstrip('. ')}."


def known_mistakes(exercise: Exercise, pairs: Pairs) -> tuple[str, ...]:
    """Find the fewest switches whose positions give just what came."""
    if any(outcome.error for _, outcome in pairs):
        return ()
    for choice in settings(exercise):
        if all(gives(exercise, choice, *pair) for pair in pairs):
            names = (exercise.switches[s][name] for s, name in choice.items())
            return tuple(filter(None, names))
    return ()


def settings(exercise: Exercise) -> Iterator[dict[str, str]]:
    """List the settings with one mistake, then those with two."""
    right = flawless(exercise.switches)
    faults = {
        switch: [name for name, fault in positions.items() if fault]
        for switch, positions in exercise.switches.items()
    }
    for n in range(1, MISTAKES + 1):
        for some in combinations(faults, n):
            for names in product(*(faults[switch] for switch in some)):
                yield right | dict(zip(some, names))


def gives(
    exercise: Exercise, choice: dict[str, str], case: Case, outcome: Outcome
) -> bool:
    """Tell whether an exercise so set gives what came of a case."""
    try:
        value = plain_value(exercise.answer(case, **choice))
    except (RuntimeError, ValueError, IndexError):
        return False  # this mistake cannot be made on this case
    return equal(outcome.value, value, exercise)


def side_effects(
    exercise: Exercise, outcomes: list[Outcome], n: int
) -> Verdict:
    """Say that all is right, or what else the code did."""
    changed = sorted({i for outcome in outcomes[:n] for i in outcome.changed})
    names = [*exercise.inputs] or [f"argument {i}" for i in range(9)]
    if changed:
        told = ", ".join(names[i] for i in changed if i < len(names))
        says = f"right, but it changes its input in place: {told}."
        return Verdict(exercise.name, PART, says, ("changes its input",))
    if not equal(outcomes[n].value, outcomes[0].value, exercise):
        says = "right once, but a second call with the same input gives "
        says += "something else: is there a random number, or a dropout?"
        return Verdict(exercise.name, PART, says, ("gives it once only",))
    return Verdict(exercise.name, 1, "right.")


def to_read(exercise: Exercise, value: Any) -> Verdict:
    """Say what a person will look for in an explanation."""
    text = value if isinstance(value, str) else ""
    if not text.replace(".", "").strip():
        says = "not written yet: put your sentences between the quotes."
        return Verdict(exercise.name, 0, says, ("not written",))
    words, asked = len(text.split()), "; ".join(exercise.rubric)
    says = f"{words} words, for a person to read. Asked: {asked}."
    if words < ENOUGH_WORDS:
        says = "for a person to read. What is asked for is shown once a few "
        says += "sentences stand there."
    return Verdict(exercise.name, None, says)

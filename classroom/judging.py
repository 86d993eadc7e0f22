"""Judging: what came of an answer, against what should, and against what
comes of the exercise's mistakes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from classroom.cases import Case
from classroom.evidence import equal, evidence
from classroom.examples import example_text
from classroom.exercise import Exercise
from classroom.mistakes import answer_of, fingerprint, same_print
from classroom.outcomes import Outcome, run_on_cases
from classroom.stored import find_trial
from classroom.trials import Trial
from classroom.values import Strange

BUGS = 3  # in a hunt
PART = 0.5  # of the points, for what is wrong only at an edge
ENOUGH_WORDS = 15  # fewer are no explanation yet
RULE = (
    "All points if it is right on every input that it is tried on. Half if "
    "it is right on every ordinary input and wrong only at an edge (a row "
    "that is all padding, a sentence of one word), or if it is right and "
    "changes its input. Otherwise none."
)


@dataclass(frozen=True)
class Verdict:
    """What is said of an answer.

    `share` of the points is 1, ½ or 0 by the RULE, thirds in a hunt, or None
    where a person has to read. `mistakes` name what is wrong, the same words
    for all who did it. `says` is for the student, and has no number of what
    came out; `seen` and `example` have them.
    """

    name: str
    share: float | None
    says: str
    mistakes: tuple[str, ...] = ()
    seen: str = ""
    example: str = ""

    @property
    def right(self) -> bool:
        """Whether nothing is wrong."""
        return self.share == 1

    @property
    def text(self) -> str:
        """All that can be said, with the numbers."""
        detail = f" ({sentence(self.seen)})" if self.seen else ""
        example = f"\n{sentence(self.example)}" if self.example else ""
        return f"{self.says}{detail}{example}"

    def __str__(self) -> str:
        sign = "–" if self.share is None else "✗✓"[self.right]
        return f"{sign} {self.name}: {self.text}"


def try_answer(
    exercise: Exercise, answer: Any, seed: int | str = 0
) -> Verdict:
    """Call an answer here and now, and judge it."""
    outcomes = run_on_cases(answer, all_cases(exercise, seed))
    return judge(exercise, seed, outcomes)


def all_cases(exercise: Exercise, seed: int | str) -> list[Case]:
    """List what an answer is called with."""
    if exercise.rubric or exercise.kind == "result":
        return [Case()]
    return find_trial(exercise, seed).calls


def judge(
    exercise: Exercise, seed: int | str, outcomes: list[Outcome]
) -> Verdict:
    """Say what is right or wrong, from what came of all the cases."""
    if exercise.rubric:
        return to_read(exercise, outcomes[0].value)
    if is_unwritten(outcomes[0]):
        says = "not written yet: put your answer where the ... stands."
        return Verdict(exercise.name, 0, says, ("not written",))
    if exercise.kind == "result":
        return result_verdict(exercise, outcomes[0].value)
    return trial_verdict(find_trial(exercise, seed), outcomes)


def trial_verdict(trial: Trial, outcomes: list[Outcome]) -> Verdict:
    """Judge by a trial what came of its calls."""
    wrong = [
        i
        for i, outcome in enumerate(outcomes[: len(trial.cases)])
        if not is_right(outcome, trial.wanted[i], trial.exercise)
    ]
    if not wrong:
        return side_effects(trial, outcomes)
    return wrong_verdict(trial, outcomes, wrong)


def is_right(outcome: Outcome, wanted: Any, exercise: Exercise) -> bool:
    """Tell whether what came of a case is what should."""
    return not outcome.error and equal(
        outcome.value, wanted, exercise.tolerance
    )


def is_unwritten(outcome: Outcome) -> bool:
    """Tell whether the stub is still as it was."""
    empty = outcome.value is None or outcome.value == Strange("ellipsis")
    return outcome.error == "NotImplementedError" or (
        empty and not outcome.error
    )


def wrong_verdict(
    trial: Trial, outcomes: Sequence[Outcome], wrong: Sequence[int]
) -> Verdict:
    """Name the mistakes that explain the answer, if any known ones do, and
    say what can be seen."""
    each, i = trial.exercise, wrong[0]
    case = trial.cases[i]
    sentences = known_mistakes(trial, outcomes)
    if each.kind == "hunt":
        return hunt_verdict(each.name, len(sentences))
    label, detail = evidence(each, case, outcomes[i], trial.wanted[i])
    says = sentence("; and ".join(sentences) or label)
    if sentences and (sentences[1:] or type(trial.wanted[0]) is bool):
        says = f"the results are those of this: {says}"  # perhaps by chance
    if any(edit[-1] in sentences for edit in each.edits):
        # A second explanation would only be in the way.
        detail = re.sub(r"(expected \(.*?\)): .*", r"\1", detail)
    if case.when:
        says = f"right on ordinary inputs, but not for {case.when}: {says}"
    return Verdict(
        each.name,
        PART if case.when else 0,
        says,
        sentences or (f"{label}, for {case.when}" if case.when else label,),
        detail,
        "" if sentences or case.when else smallest_failure(trial, outcomes),
    )


def smallest_failure(trial: Trial, outcomes: Sequence[Outcome]) -> str:
    """Show the smallest input on which an answer is wrong, if one is small."""
    each, n = trial.exercise, len(trial.cases)
    for case, wanted, came in zip(
        trial.small, trial.wanted[n:], outcomes[n + 1 :]
    ):
        text = example_text(each, case, came.value, wanted)
        if text and not came.error and not is_right(came, wanted, each):
            return text
    return ""


def sentence(text: str) -> str:
    """End a text with one full stop."""
    return text if text.endswith("?") else f"{text.rstrip('. ')}."


def known_mistakes(
    trial: Trial, outcomes: Sequence[Outcome]
) -> tuple[str, ...]:
    """Find the fewest mistakes that give just what came of all cases; or of
    the ordinary ones, where something else is wrong at an edge: but True and
    False may agree there by chance."""
    prints = [
        None if outcome.error else fingerprint(outcome.value)
        for outcome in outcomes[: len(trial.cases)]
    ]
    hunt = trial.exercise.kind == "hunt"
    truth = trial.right[0][0].startswith("True")
    for places in (range(len(prints)), trial.ordinary)[: 2 - truth]:
        for kind in ("single", "double", "general")[: 3 - hunt]:
            if says := explanations(trial, kind, prints, places):
                return says
    return ()


def explanations(
    trial: Trial, kind: str, prints: Sequence[Any], places: Sequence[int]
) -> tuple[str, ...]:
    """Give the sentences of the mistake that explains what came in these
    places, where something is wrong: none where several different ones do,
    and of those that no author lists, two."""
    near = partial(same_print, tolerance=trial.exercise.tolerance)
    if all(near(prints[i], trial.right[i]) for i in places):
        return ()
    candidates = {
        sentences: None
        for sentences, expected in getattr(trial, kind)
        if all(near(prints[i], expected[i]) for i in places)
        if not all(near(expected[i], trial.right[i]) for i in places)
    }
    if kind == "general" and candidates:
        first, *more = (says for (says,) in candidates)
        other = [f", or {x}" for x in more if not x.startswith(first)]
        what = "".join([first, *other[:1]])
        return (f"the results are those of a right answer {what}",)
    return next(iter(candidates)) if len(candidates) == 1 else ()


def side_effects(trial: Trial, outcomes: Sequence[Outcome]) -> Verdict:
    """Say that all is right, or what else the code did."""
    name, n = trial.exercise.name, len(trial.cases)
    changed = sorted({i for outcome in outcomes[:n] for i in outcome.changed})
    names = [*trial.exercise.inputs]
    if changed:
        changed_names = ", ".join(names[i] for i in changed if i < len(names))
        says = f"right, but it changes its input in place: {changed_names}."
        return Verdict(name, PART, says, ("changes its input",))
    if not is_right(outcomes[n], trial.wanted[0], trial.exercise):
        says = "right once, but a second call with the same input gives "
        says += "something else: does it use random numbers or dropout?"
        return Verdict(name, 0, says, ("gives it once only",))
    return Verdict(name, 1, "right.")


def to_read(exercise: Exercise, value: Any) -> Verdict:
    """Say what a person will look for in an explanation."""
    text = value if isinstance(value, str) else ""
    if not text.replace(".", "").strip():
        says = "not written yet: put your sentences between the quotes."
        return Verdict(exercise.name, 0, says, ("not written",))
    words, asked = len(text.split()), "; ".join(exercise.rubric)
    says = f"{words} words, for a person to read. Asked: {asked}."
    if words < ENOUGH_WORDS:
        says = "too short: write a few sentences to see what is asked for."
    return Verdict(exercise.name, None, says)


def result_verdict(exercise: Exercise, result: Any) -> Verdict:
    """Say the first thing that does not hold of a result: the right code
    gives it, or ""."""
    try:
        fault = str(answer_of(exercise)(result))
    except Exception:  # whatever was handed in
        fault = "it does not have the form that the exercise asks for"
    mistakes, says = (fault,) * bool(fault), sentence(fault or "right")
    return Verdict(exercise.name, float(not fault), says, mistakes)


def hunt_verdict(name: str, left: int) -> Verdict:
    """Give a third of the points for each bug that is mended. How many are
    left is 0 where that is not known; no bug is named. `check` does not know
    which ones were planted."""
    bugs = ("no", "one bug", "two bugs")[left]
    says = f"it gives what the correct file gives with {bugs} in it"
    if not left:
        says = "no bug is fixed yet, or a change has introduced a new fault"
    share = (BUGS - left) / BUGS if left else 0
    return Verdict(name, share, sentence(says), (says,))

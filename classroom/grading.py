"""Grading: each submission is run in the sandbox, and judged here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from classroom.assignment import Assignment
from classroom.exercise import Exercise, exercise
from classroom.judging import Verdict, all_cases, judge
from classroom.mistakes import HEAD, answer_of
from classroom.outcomes import Outcome
from classroom.sandbox import Sandbox, SandboxRun
from classroom.submissions import LINES, Submission
from classroom.values import clean, from_json, to_json

RUNS = 5  # of one submission, with less and less of it
AT_ONCE = 2  # submissions
LONGEST_TEXT = 600  # characters of what a student's error says
LONGEST_ANSWER = 20_000  # characters of an explanation
NOTHING = ("not written",), ("no answer",)  # what is wrong with a blank
FINE = "right", "read", "to be read"  # what stands where no mistake is

StudentsByMistake = dict[str, list[str]]


@dataclass(frozen=True)
class Mark:
    """The points of one exercise: None while a person has to read it.

    `text` is what a student wrote where the exercise asks for sentences, and
    `comment` what a person who read it says to the student.
    """

    exercise: str
    most: float
    points: float | None
    verdict: Verdict
    text: str = ""
    comment: str = ""

    @property
    def for_a_reader(self) -> bool:
        """Whether a person gives the points, who may have done so."""
        return self.verdict.share is None


@dataclass(frozen=True)
class Grade:
    """A submission, its marks, and what is to be said of it as a whole."""

    submission: Submission
    marks: tuple[Mark, ...]
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """The points so far."""
        return sum(mark.points or 0 for mark in self.marks)

    @property
    def to_read(self) -> list[str]:
        """The exercises that a person has to read."""
        return [m.exercise for m in self.marks if m.points is None]


def grade_all(
    submissions: Iterable[Submission],
    assignment: Assignment,
    sandbox: Sandbox,
) -> Iterator[Grade]:
    """Grade submissions, some at once, and give them in their order."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(
            lambda each: grade(each, assignment, sandbox), submissions
        )


def grade(
    submission: Submission, assignment: Assignment, sandbox: Sandbox
) -> Grade:
    """Grade one submission: whatever it does, it gets a row."""
    exercises, draw = assignment.exercises, assignment.draw
    orders = {each.name: order(each, draw) for each in exercises}
    runs = [*runs_of(submission, orders, sandbox)]
    came = first_came(runs)
    notes = [submission.wrong] * bool(submission.wrong)
    for run in runs[:-1]:
        notes.append(f"{place_text(run.begun)} was left out: {run.stopped}")
    for run in runs[-1:]:
        notes += [
            f"{place_text(n)} was left out: {x}" for n, x in run.errors.items()
        ]
    marks = tuple(
        mark(each, points, draw, came.get(each.name))
        for each, points in zip(exercises, assignment.points.values())
    )
    marks = marks_by_themselves(marks, submission, assignment, sandbox)
    notes = [clean(note, LONGEST_TEXT) for note in notes]
    return Grade(submission, marks, tuple(notes))


def order(each: Exercise, seed: str, inside: Iterable[str] = ()) -> Any:
    """Give what a student's process gets once an exercise begins: the cases,
    without what is special about them; and right parts to put inside."""
    cases = [to_json(replace(x, when="")) for x in all_cases(each, seed)]
    named = {x: answer_of(exercise(x)).__name__ for x in inside}
    return {"cases": cases, "inside": named, "code": HEAD + each.names}


def first_came(runs: Sequence[SandboxRun]) -> dict[str, Any]:
    """Give what came of each exercise in the first run in which it did."""
    return {n: x for run in reversed(runs) for n, x in run.came.items()}


def marks_by_themselves(
    marks: Sequence[Mark],
    submission: Submission,
    assignment: Assignment,
    sandbox: Sandbox,
) -> tuple[Mark, ...]:
    """Judge each wrong part that has a wrong one inside it once more, with
    right ones there, so that a mistake costs only the points of its part."""
    right = {each.exercise for each in marks if each.verdict.right}
    orders = {
        each.exercise: order(exercise(each.exercise), assignment.draw, wrong)
        for each in marks
        if each.exercise not in right and each.verdict.mistakes not in NOTHING
        if (wrong := {*exercise(each.exercise).inside} - right)
    }
    came = first_came([*runs_of(submission, orders, sandbox)])
    judged: dict[str, Mark] = {}
    for first in marks:
        name, draw = first.exercise, assignment.draw
        judged[name] = first
        if name in came:
            second = mark(exercise(name), first.most, draw, came[name])
            judged[name] = better_mark(first, second, judged)
    return tuple(judged.values())


def better_mark(first: Mark, second: Mark, judged: Mapping[str, Mark]) -> Mark:
    """Choose between a part with a student's own parts inside it, and with
    right ones; of these, say which are wrong by themselves."""
    if (second.points or 0) < (first.points or 0):
        return first
    inside = exercise(first.exercise).inside
    faults = [x for x in inside if x in judged and not judged[x].verdict.right]
    what = second.verdict.says.rstrip(".")
    what = "right by itself" if second.verdict.right else what
    says = f"{what}; wrong inside it: {', '.join(faults) or 'another part'}"
    said = second.verdict.mistakes or (says,)
    verdict = replace(second.verdict, says=f"{says}.", mistakes=said)
    return replace(second, verdict=verdict)


def runs_of(
    submission: Submission, orders: Mapping[str, Any], sandbox: Sandbox
) -> Iterator[SandboxRun]:
    """Run the cells, and what is ordered after them; what ends the process is
    left out of the next run, so that the rest counts. The last run has only
    what defines an answer or imports something."""
    skip: list[int | str] = []
    most = left = sandbox.seconds
    work = {"cells": submission.cells, "modules": submission.modules}
    for number in range(RUNS if submission.cells and orders else 0):
        last = number == RUNS - 1 or left < most / 4
        seconds = most / 4 if last else most / 2
        job = work | {"orders": orders, "skip": [*skip], "last": last}
        run = sandbox.run(job, min(seconds, max(left, seconds / 2)))
        yield run
        if last or not run.stopped or run.begun is None:
            return
        left -= run.took
        skip += [run.begun, *run.came]


def place_text(begun: int | str | None) -> str:
    """Name what was running; cells of code are counted from 1."""
    if not isinstance(begun, int):
        return f"{begun}"
    cell, line = divmod(begun, LINES)
    return f"code cell {cell + 1}" + (f", line {line}" if line else "")


def mark(each: Exercise, most: float, seed: str, came: Any) -> Mark:
    """Judge what came of one exercise."""
    verdict = verdict_of(each, seed, came)
    share = verdict.share
    points = None if share is None else round(share * most, 2)
    value = read_outcome(came[0]).value if each.rubric and came else ""
    text = printable_text(value) if isinstance(value, str) else ""
    return Mark(each.name, most, points, verdict, text)


def printable_text(text: str) -> str:
    """Leave of a student's text what can be shown and stored, in its own
    lines."""
    text = text.expandtabs(4)
    shown = (c for c in text[:LONGEST_ANSWER] if is_shown(c))
    more = len(text) - LONGEST_ANSWER
    cut = f"\n… (and {more:,} characters more)" if more > 0 else ""
    return "".join(shown).strip("\n") + cut


def is_shown(character: str) -> bool:
    """Tell whether a character is seen, ends a line, or joins letters, as in
    Nepali."""
    return character.isprintable() or character in "\n\u200c\u200d"


def verdict_of(each: Exercise, seed: str, came: Any) -> Verdict:
    """Judge what came, if it is what should come of these cases."""
    if came is None:
        says = "no answer: the notebook defines no such name, or the line "
        return Verdict(each.name, 0, says + "that does fails.", ("no answer",))
    says = "what came out cannot be read."
    try:
        outcomes = [read_outcome(line) for line in came]
        if len(outcomes) == len(all_cases(each, seed)):
            return judge(each, seed, outcomes)
    except Exception as error:  # a value that none of ours is like
        says = f"what came out cannot be judged: {error}"
    return Verdict(each.name, 0, clean(says, LONGEST_TEXT), ("unreadable",))


def read_outcome(line: Any) -> Outcome:
    """Read what came of one case; it may be forged, or damaged."""
    try:
        value, error, says, changed = line
        places = tuple(int(i) for i in changed)
        texts = clean(str(error), 60), clean(str(says), LONGEST_TEXT)
        return Outcome(from_json(value), *texts, places)
    except (ValueError, TypeError, RuntimeError, OverflowError):
        return Outcome(error="Unreadable", says="a value that cannot be read")


def mistakes(grades: Iterable[Grade]) -> Mapping[str, StudentsByMistake]:
    """List for each exercise who made which mistake, the most frequent
    first. At its end stands who made none: that answer is right, read, or to
    be read."""
    by_exercise: dict[str, StudentsByMistake] = {}
    for each in grades:
        for mark in each.marks:
            stands = "right"
            if mark.for_a_reader:
                stands = "to be read" if mark.points is None else "read"
            students = by_exercise.setdefault(mark.exercise, {})
            for mistake in mark.verdict.mistakes or [stands]:
                students.setdefault(mistake, []).append(each.submission.name)
    return {
        name: dict(
            sorted(students.items(), key=lambda m: (m[0] in FINE, -len(m[1])))
        )
        for name, students in by_exercise.items()
    }

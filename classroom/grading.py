"""Grading: each submission played in the sandbox, and judged here."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from classroom.assignment import Assignment
from classroom.exercise import Exercise
from classroom.judging import Verdict, all_cases, judge
from classroom.playing import Outcome
from classroom.sandbox import Played, Sandbox
from classroom.sending import written_case
from classroom.submissions import Submission
from classroom.values import clean, unpacked

IMPORTS = re.compile(r"(?:(?:(?:import|from) [^\n;]*|#[^\n]*)?(?:\n|$))*")
RUNS = 5  # of one submission, with less and less of it
AT_ONCE = 2  # submissions
LONG = 600  # characters of what a student's error says


@dataclass(frozen=True)
class Mark:
    """The points of one exercise: None while a person has to read it."""

    exercise: str
    most: float
    points: float | None
    verdict: Verdict


@dataclass(frozen=True)
class Graded:
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


def graded(
    submissions: Iterable[Submission],
    assignment: Assignment,
    sandbox: Sandbox,
) -> Iterator[Graded]:
    """Grade submissions, some at once, and give them in their order."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(
            lambda each: grade(each, assignment, sandbox), submissions
        )


def grade(
    submission: Submission, assignment: Assignment, sandbox: Sandbox
) -> Graded:
    """Grade one submission: whatever it does, it gets a row."""
    notes = [submission.wrong] if submission.wrong else []
    played = Played()
    if submission.cells:
        played, more = played_through(submission, assignment, sandbox)
        notes += more
    marks = tuple(
        mark(each, points, assignment.draw, played.came.get(each.name))
        for each, points in zip(
            assignment.exercises, assignment.points.values()
        )
    )
    return Graded(submission, marks, tuple(notes))


def played_through(
    submission: Submission, assignment: Assignment, sandbox: Sandbox
) -> tuple[Played, list[str]]:
    """Run a submission; what ends the process is left out the next time, so
    that the rest counts. The last time, only cells that define an answer or
    import something are run."""
    cases = {
        each.name: [written_case(c) for c in all_cases(each, assignment.draw)]
        for each in assignment.exercises
    }
    came: dict[str, Any] = {}
    skip: list[int | str] = []
    notes: list[str] = []
    played, left = Played(), sandbox.seconds
    for run in range(RUNS):
        last = run == RUNS - 1 or left < sandbox.seconds / 4
        if last:
            skip += beside(submission.cells, [*cases])
        job = {"cells": submission.cells, "cases": cases, "skip": skip}
        seconds = sandbox.seconds / 4 if last else sandbox.seconds / 2
        played = sandbox.run(job, min(seconds, max(left, seconds / 2)))
        left -= played.took
        came = {n: x for n, x in played.came.items() if n in cases} | came
        if last or not played.stopped or played.begun is None:
            break
        notes.append(f"{place(played.begun)} was left out: {played.stopped}")
        skip += [played.begun, *came]
    played.came = came
    failed = [f"{place(n)}: {text}" for n, text in played.errors.items()]
    return played, [clean(note, LONG) for note in notes + failed]


def beside(cells: Sequence[str], names: Sequence[str]) -> list[int]:
    """Number the cells that neither define anything nor import alone."""
    defines = re.compile(
        rf"^(?:def |class |(?:{'|'.join(names)}) *=)", re.MULTILINE
    )
    return [
        i
        for i, cell in enumerate(cells)
        if not (defines.search(cell) or IMPORTS.fullmatch(cell))
    ]


def place(begun: int | str) -> str:
    """Name what was running; cells of code are counted from 1."""
    return f"code cell {begun + 1}" if isinstance(begun, int) else begun


def mark(each: Exercise, most: float, seed: str, came: Any) -> Mark:
    """Judge what came of one exercise."""
    verdict = verdict_of(each, seed, came)
    share = verdict.share
    points = None if share is None else round(share * most, 2)
    return Mark(each.name, most, points, verdict)


def verdict_of(each: Exercise, seed: str, came: Any) -> Verdict:
    """Judge what came, if it is what should come of these cases."""
    if came is None:
        says = "no answer: the notebook defines no such name, or the cell "
        return Verdict(each.name, 0, says + "that does fails.", ("no answer",))
    outcomes = [outcome(line) for line in came]
    if len(outcomes) != len(all_cases(each, seed)):
        says = "what came out cannot be read."
        return Verdict(each.name, 0, says, ("unreadable",))
    try:
        return judge(each, seed, outcomes)
    except Exception as error:  # a value that none of ours is like
        says = clean(f"what came out cannot be judged: {error}", LONG)
        return Verdict(each.name, 0, says, ("unreadable",))


def outcome(line: Any) -> Outcome:
    """Read what came of one case; it may be forged, or damaged."""
    try:
        value, error, says, changed, printed = line
        places = tuple(int(i) for i in changed)
        texts = clean(str(error), 60), clean(str(says), LONG)
        return Outcome(unpacked(value), *texts, places, int(printed))
    except (ValueError, TypeError, RuntimeError, OverflowError):
        return Outcome(error="Unreadable", says="a value that cannot be read")


def mistakes(all_graded: Iterable[Graded]) -> Mapping[str, Counter[str]]:
    """Count for each exercise which mistakes the class made."""
    found: dict[str, Counter[str]] = {}
    for each in all_graded:
        for one in each.marks:
            counts = found.setdefault(one.exercise, Counter())
            counts.update(one.verdict.mistakes or [summary(one)])
    return found


def summary(one: Mark) -> str:
    """Say in a word how an answer without a mistake stands."""
    if one.verdict.share is None:
        return "to be read" if one.points is None else "read"
    return "right"

"""Written answers: the right ones pass, and the wrong ones are named.

The right ones are also changed a little, in every place, and must then fail,
unless a list says why nobody could see the change.
"""

import ast
import os
import tomllib
import zipfile
from functools import cache

import pytest

from classroom import outcomes
from classroom.exercise import Exercise, exercise, exercises
from classroom.judging import is_right, try_answer
from classroom.mistakes import answer_of
from classroom.trials import draw_trial
from classroom.variants import EVERYWHERE, faults, variants
from tests.helpers.answers import (
    FOLDER,
    PACKED,
    SURVIVORS,
    Answer,
    answers_to,
    solutions,
)

# `make answers` tries all of them on twenty seeds, and every small fault.
ALL = "ANSWERS" in os.environ
SEEDS = range(20 if ALL else 3)
SOLUTIONS = {answer.exercise: answer for answer in solutions()}
# Parts of assignments have a reference run instead: test_course.py.
CODED = [
    name
    for name, each in exercises().items()
    if not each.rubric and not each.points
]


@pytest.fixture(scope="module", params=CODED)
def each(request) -> Exercise:
    """Each exercise, with all its tests: they draw the same trials."""
    return exercise(request.param)


def right_answers(name: str) -> list[Answer]:
    """The written ones, and the solution that unfolds."""
    return [*answers_to(name), *filter(None, [SOLUTIONS.get(name)])]


def wrong_verdicts(each: Exercise, seed: int) -> list:
    """The written answers of which something else is said than should be."""
    answers = right_answers(each.name) + answers_to(each.name, right=False)
    verdicts = [try_answer(each, answer.value(), seed) for answer in answers]
    return [
        (answer, seed, str(verdict))
        for answer, verdict in zip(answers, verdicts)
        if verdict.right != answer.right or answer.says not in str(verdict)
    ]


@pytest.mark.slow
def test_right_answers_pass_and_wrong_ones_are_named(each):
    assert wrong_verdicts(each, 0) == []


@pytest.mark.full
def test_answers_and_mistakes_are_told_apart_with_every_seed(each):
    for seed in SEEDS:
        assert wrong_verdicts(each, seed) == []
        for edit in each.edits:
            verdict = try_answer(each, answer_of(each, (edit,)), seed)
            assert verdict.mistakes == (edit[-1],), (seed, verdict)


def test_each_exercise_has_several_answers_and_homework_more():
    for name in CODED:
        wrong = {x.says for x in answers_to(name, right=False)}
        wrong |= {edit[-1] for edit in exercise(name).edits}
        assert len(wrong) >= (8 if exercise(name).assignable else 4), name
        assert len(right_answers(name)) >= 2, name


# --- Small faults ---------------------------------------------------------


def faulty(code: str) -> list[tuple[str, str, str]]:
    """Give the code with each fault: the line before and after, and all."""
    plain = ast.unparse(ast.parse(code))
    return [
        (*lines_of(plain, text), text)
        for text, says in variants(code, faults)
        if not says.endswith(EVERYWHERE)
    ]


def lines_of(before: str, after: str) -> tuple[str, str]:
    """The first line that differs, in both."""
    pairs = zip(before.splitlines(), after.splitlines())
    differ = ((a.strip(), b.strip()) for a, b in pairs if a != b)
    return next(differ, ("", ""))


@cache
def survivors() -> set[tuple[str, str, str]]:
    """The faults that no judge could see: exercise, line before and after."""
    with zipfile.ZipFile(PACKED) as files:
        packed = files.read(SURVIVORS).decode()
    return {
        (name, before, after)
        for text in (packed, (FOLDER / SURVIVORS).read_text("utf8"))
        for name, lines in tomllib.loads(text).items()
        for before, faulty_lines in lines.items()
        for after in faulty_lines
    }


def passes(each: Exercise, answer: object, seed: int) -> bool:
    """Whether an answer is right; the first wrong case is enough to tell."""
    trial = draw_trial(each, seed)
    for number, case in enumerate(trial.cases):
        outcome = outcomes.call_on_copies(answer, case, number)
        if not is_right(outcome, trial.wanted[number], each):
            return False
    return try_answer(each, answer, seed).right


@pytest.mark.full
def test_a_right_answer_with_a_small_fault_in_it_fails(each, monkeypatch):
    monkeypatch.setattr(outcomes, "SECONDS", 0.5)
    lived = []
    answers = right_answers(each.name)
    for answer in answers if ALL else answers[:1]:
        for before, after, code in faulty(answer.code):
            try:
                value = Answer(each.name, "", code).value()
            except Exception:
                continue  # the cell itself would fail
            if all(passes(each, value, seed) for seed in range(3)):
                lived.append((each.name, before, after))
    assert sorted({*lived} - survivors()) == []

"""Written answers: the right ones pass, and the wrong ones are named.

The right ones are also changed a little, in every place, and must then fail,
unless a list says why nobody could see the change.
"""

import os

import pytest

from classroom import outcomes
from classroom.evidence import equal
from classroom.exercise import draw_cases, exercise, exercises, flawless
from classroom.judging import try_answer
from classroom.values import plain_value
from tests.helpers.answers import (
    Answer,
    homework,
    solutions,
    survivors,
    written_answers,
)
from tests.helpers.small_faults import faulty

# `make answers` tries all of them on twenty seeds, and every small fault.
ALL = "ANSWERS" in os.environ
SEEDS = range(20 if ALL else 3)
WRITTEN = [*written_answers(), *solutions()]
CODED = [name for name, each in exercises().items() if not each.rubric]
each_exercise = pytest.mark.parametrize("name", CODED)


def of(name: str) -> list[Answer]:
    return [answer for answer in WRITTEN if answer.exercise == name]


@pytest.mark.full
@each_exercise
def test_right_answers_pass_and_wrong_ones_are_named_with_every_seed(name):
    answers = of(name)
    assert sum(answer.right for answer in answers) >= 2
    assert sum(not answer.right for answer in answers) >= 4
    for answer in answers:
        value = answer.value()
        for seed in SEEDS:
            verdict = try_answer(exercise(name), value, seed)
            assert verdict.right == answer.right, (answer.code, seed, verdict)
            assert answer.says in str(verdict), (answer.code, seed, verdict)


def test_what_is_assigned_has_three_right_answers_and_eight_wrong_ones():
    for name, each in exercises().items():
        if each.assignable and not each.rubric:
            right = [answer.right for answer in of(name)]
            assert sum(right) >= 3, name
            assert len(right) - sum(right) >= 8, name
    assert len(homework()) >= 14 / 4


@pytest.mark.full
@each_exercise
def test_a_right_answer_with_a_small_fault_in_it_fails(name, monkeypatch):
    monkeypatch.setattr(outcomes, "SECONDS", 0.5)
    known = {(each.before, each.after) for each in survivors(name)}
    lived = []
    right = [answer for answer in of(name) if answer.right]
    for answer in right if ALL else right[:1]:
        for before, after, code in faulty(answer.code):
            try:
                value = Answer(name, "", code).value()
            except Exception:
                continue  # the cell itself would fail
            if all(
                try_answer(exercise(name), value, seed).right for seed in "abc"
            ):
                lived.append((before, after))
    assert set(lived) <= known, sorted(set(lived) - known)


@pytest.mark.slow
@pytest.mark.parametrize("name", CODED)
def test_each_mistake_of_an_exercise_can_be_told_from_right(name):
    """Every position of every switch gives another result than the right
    one, in some ordinary case: else it would name what nobody did."""
    each = exercise(name)
    for switch, positions in each.switches.items():
        for position, fault in positions.items():
            if fault:
                assert differs(each, {switch: position}), (switch, position)


def differs(each, choice) -> bool:
    """Whether a switch moved gives another result in an ordinary case."""
    moved = flawless(each.switches) | choice
    for case in draw_cases(each, "differs"):
        if case.about:
            continue
        try:
            value = plain_value(each.answer(case, **moved))
        except (RuntimeError, ValueError, IndexError):
            return True
        if not equal(value, plain_value(each.right(case)), each):
            return True
    return False

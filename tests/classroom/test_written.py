"""Written answers: the right ones pass, and the wrong ones are named.

The right ones are also changed a little, in every place, and must then fail,
unless a list says why nobody could see the change.
"""

import ast
import copy
import os
import re
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache

import pytest

from classroom import outcomes
from classroom.exercise import Exercise, exercise, exercises
from classroom.judging import PART, is_right, try_answer
from classroom.mistakes import answer_of, same_print
from classroom.trials import Trial, draw_trial, unused_arguments
from tests.helpers.answers import (
    FOLDER,
    PACKED,
    SURVIVORS,
    Answer,
    answers_to,
    solutions,
)

# `make answers` tries all of them on twenty seeds, and every small fault; and
# draws a thousand times, or ANSWERS times.
ALL = "ANSWERS" in os.environ
SEEDS = range(20 if ALL else 3)
COUNT = os.environ.get("ANSWERS", "3").replace("all", "1000")
SOLUTIONS = {answer.exercise: answer for answer in solutions()}
# Parts of assignments have a reference run instead: test_course.py.
CODED = [
    name
    for name, each in exercises().items()
    if not each.rubric and not each.points
]


DRAWN = [n for n, x in exercises().items() if x.right and not x.rubric]
DRAWN = [n for n in DRAWN if exercise(n).kind != "result"]


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


def shares(trial: Trial) -> Iterator[tuple[str, float]]:
    """What each mistake gets: listed ones, and a number held fast."""
    unused = unused_arguments(trial.exercise, trial.cases)
    for (says,), prints in (*trial.single, *unused):
        pairs = zip(prints, trial.right, trial.cases)
        near = trial.exercise.tolerance
        wrong = [case for x, y, case in pairs if not same_print(x, y, near)]
        yield says, (PART * bool(wrong[0].when) if wrong else 1)


@pytest.mark.full
@pytest.mark.parametrize("name", DRAWN)
def test_what_an_answer_gets_is_the_same_with_every_seed(name):
    each, first = exercise(name), {}
    for seed in range(int(COUNT)) if each.inputs else [0]:
        trial = draw_trial(each, seed)
        assert try_answer(each, answer_of(each), seed).right, seed
        for says, share in shares(trial):
            assert share == first.setdefault(says, share), (says, seed)
    assert not any(first[edit[-1]] == 1 for edit in each.edits)


def test_each_exercise_has_several_answers_and_homework_more():
    for name in CODED:
        wrong = {x.says for x in answers_to(name, right=False)}
        wrong |= {edit[-1] for edit in exercise(name).edits}
        assert len(wrong) >= (8 if exercise(name).assignable else 4), name
        assert len(right_answers(name)) >= 2, name


# --- Small faults ---------------------------------------------------------

# What takes its arguments in any order; a list drawn by hand is data.
EITHER = re.compile(
    "transpose|max|min|maximum|minimum|logaddexp|dot|union|isclose"
)
SAMPLE = re.compile("manual_seed|randn")
# An operator, and those that could stand in its place.
PLACES = """
Add Sub, Sub Add, Mult Div, Div Mult, FloorDiv Mult, Mod FloorDiv, Pow Mult,
MatMult Mult, BitAnd BitOr, BitOr BitAnd, Lt LtE Gt, LtE Lt GtE, Gt GtE Lt,
GtE Gt LtE, Eq NotEq, NotEq Eq, And Or, Or And, In NotIn, NotIn In"""
SWAPS = {
    getattr(ast, op): tuple(getattr(ast, other) for other in others)
    for op, *others in map(str.split, PLACES.split(","))
}


def faulty(code: str) -> list[tuple[str, str, str]]:
    """Give the code with each fault: the line before and after, and all.
    What chooses a random sample stays, as another one would do."""
    tree = ast.parse(code)
    plain = ast.unparse(tree)
    faults, sample = {}, set()
    for number, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.Call) and SAMPLE.fullmatch(name_of(node)):
            sample |= {*ast.walk(node)}
        if node in sample:
            continue
        for change in changes(node):
            new = copy.deepcopy(tree)
            target = next(
                x for i, x in enumerate(ast.walk(new)) if i == number
            )
            change(target)
            text = ast.unparse(ast.fix_missing_locations(new))
            if text != plain and text not in faults:
                faults[text] = (*lines_of(plain, text), text)
    return list(faults.values())


def lines_of(before: str, after: str) -> tuple[str, str]:
    """The first line that differs, in both."""
    pairs = zip(before.splitlines(), after.splitlines())
    differ = ((a.strip(), b.strip()) for a, b in pairs if a != b)
    return next(differ, ("", ""))


def changes(node: ast.AST) -> Iterator:
    """What can be done to a node."""
    yield from (swapped(new) for new in swaps(node))
    match node:
        case ast.Constant(value=bool()):
            yield lambda n: setattr(n, "value", not n.value)
        case ast.Constant(value=int() | float()):
            yield lambda n: setattr(n, "value", n.value + 1)
            if node.value not in (0, 0.0):  # -1 is often the last of two
                yield lambda n: setattr(n, "value", n.value - 1)
        case ast.UnaryOp(operand=ast.Constant(value=int())):
            pass  # an axis, whose number changes
        case ast.UnaryOp():
            yield lambda n: setattr(n, "op", ast.UAdd())
        case ast.Call(keywords=[_, *_]):
            for i in range(len(node.keywords)):
                yield lambda n, i=i: n.keywords.pop(i)
        case ast.Call(args=[_, _, *_]) if not EITHER.fullmatch(name_of(node)):
            yield lambda n: n.args.reverse()
        case ast.Subscript(slice=ast.Slice()):
            yield lambda n: setattr(n, "slice", ast.Slice())
        case ast.If() | ast.IfExp() | ast.While():
            yield lambda n: setattr(n, "test", ast.Constant(False))
        case ast.FunctionDef(body=[_, _, *_]):
            for i, line in enumerate(node.body):
                if not isinstance(line, ast.Return):
                    yield lambda n, i=i: n.body.pop(i)
    if isinstance(node, ast.If | ast.IfExp):
        yield lambda n: setattr(n, "test", ast.Constant(True))


def name_of(call: ast.Call) -> str:
    """The name of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def swaps(node: ast.AST) -> tuple:
    """The operators that could stand in the place of a node's."""
    op = getattr(node, "op", None)
    if isinstance(node, ast.Compare):
        op = node.ops[0]
        limit = getattr(node.comparators[0], "value", 0)
        if isinstance(limit, float):  # no number is just on the limit
            return SWAPS.get(type(op), ())[-1:]
    return SWAPS.get(type(op), ())


def swapped(new: type):
    """Put another operator into a node."""

    def change(node):
        if isinstance(node, ast.Compare):
            node.ops[0] = new()
        else:
            node.op = new()

    return change


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

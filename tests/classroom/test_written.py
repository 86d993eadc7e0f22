"""Written answers: the right ones pass, and the wrong ones are named.

The right ones are also changed a little, in every place, and must then fail,
unless a list says why nobody could see the change.
"""

import ast
import copy
import os
import re
from collections.abc import Iterator

import pytest

from classroom import outcomes
from classroom.exercise import exercise, exercises
from classroom.judging import try_answer
from classroom.mistakes import answer_of
from classroom.trials import draw_trial
from tests.helpers.answers import (
    Answer,
    homework,
    solutions,
    survivors,
    written_answers,
)

# `make answers` tries all of them on twenty seeds, and every small fault.
ALL = "ANSWERS" in os.environ
SEEDS = range(20 if ALL else 3)
MANY = 1000 if ALL else 15
WRITTEN = [*written_answers(), *solutions()]
# Parts of assignments have a reference run instead: test_course.py.
CODED = [
    name
    for name, each in exercises().items()
    if not each.rubric and not each.points
]
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
        if each.assignable and name in CODED:
            right = [answer.right for answer in of(name)]
            assert sum(right) >= 3, name
            assert len(right) - sum(right) >= 8, name
    assert len(homework()) >= 14 / 4


# What takes its arguments in any order; a list drawn by hand is data.
EITHER = re.compile(
    "transpose|max|min|maximum|minimum|logaddexp|dot|union|isclose"
)
SAMPLE = re.compile("manual_seed|randn")
SWAPS = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}


def faulty(code: str) -> list[tuple[str, str, str]]:
    """Give the code with each fault: the line before and after, and all.
    What chooses a random sample stays, as another one would do."""
    tree = ast.parse(code)
    plain = ast.unparse(tree)
    found, sample = {}, set()
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
            if text != plain and text not in found:
                found[text] = (*lines_of(plain, text), text)
    return list(found.values())


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


@pytest.mark.full
@each_exercise
def test_a_right_answer_with_a_small_fault_in_it_fails(name, monkeypatch):
    monkeypatch.setattr(outcomes, "SECONDS", 0.5)
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
                lived.append((name, before, after))
    assert sorted({*lived} - survivors()) == []


# --- What is drawn --------------------------------------------------------


@pytest.mark.full
@each_exercise
def test_no_size_and_no_number_is_the_same_in_all_ordinary_cases(name):
    each = exercise(name)
    draw = draw_trial.__wrapped__  # without keeping a thousand of them
    for seed in range(MANY if each.inputs else 0):
        trial = draw(each, f"many {seed}")
        ordinary = [trial.cases[i] for i in trial.ordinary]
        for key in ordinary[0].sizes:
            assert len({case.sizes[key] for case in ordinary}) > 1, key
        for column in zip(*(case.args for case in ordinary)):
            if isinstance(column[0], bool | int | float | str):
                assert len({*map(repr, column)}) > 1, column


@pytest.mark.full
@each_exercise
def test_each_mistake_is_told_from_right_and_from_the_others(name):
    each = exercise(name)
    for edit in each.edits:
        for seed in SEEDS:
            verdict = try_answer(each, answer_of(each, (edit,)), seed)
            assert not verdict.right, edit
            assert verdict.mistakes == (edit[-1],), (edit, verdict)


def test_nine_wrong_answers_of_ten_get_a_sentence_of_their_own():
    wrong = [a for a in WRITTEN if not a.right]
    known = {e[-1] for each in exercises().values() for e in each.edits}
    unnamed = []
    for answer in wrong:
        verdict = try_answer(exercise(answer.exercise), answer.value(), 0)
        if not known & {*verdict.mistakes}:
            unnamed.append((answer.exercise, str(verdict)))
    assert len(unnamed) <= len(wrong) / 10, unnamed

"""Annotated source: the measured shapes beside the lines that made them."""

import ast
import inspect
import linecache
from collections import defaultdict
from types import CodeType
from typing import NamedTuple

from tformer_lite.tracing.calls import (
    Frame,
    Known,
    Shapes,
    events,
    walk,
)
from tformer_lite.tracing.choosing import chosen, runs_of, where
from tformer_lite.tracing.layout import as_html, as_text
from tformer_lite.tracing.places import in_library
from tformer_lite.tracing.source import definition, first_line

LONG = 24


class Note(NamedTuple):
    """What an expression was: its text, "" for a statement's own value; and
    its shapes, each time that it was made."""

    label: str
    shapes: list[Shapes]


class Listing:
    """A function's source; for each line its text and its notes.

    Print it, or show it in a notebook.
    """

    def __init__(self, title: str, lines: list[tuple[str, list[Note]]]):
        self.title, self.lines = title, lines

    def __str__(self) -> str:
        return as_text(self.title, self.lines)

    def _repr_html_(self) -> str:
        return as_html(self.title, self.lines)


def annotate(trace, thing, path: str | None = None, nth: int = 0) -> Listing:
    """Write the source of a function, method or class with the named shapes
    that its expressions had; of a class, its `forward`.

    `path` is the module in which it ran, `nth` which of several runs there.
    A docstring is left out. Raises TypeError for what is not a function,
    ValueError when its source cannot be shown, or where `path` or `nth`
    choose no run.
    """
    code = code_of(thing)
    node = definition(code)
    if node is None:
        raise ValueError(
            f"the source of {code.co_qualname} cannot be found, or has "
            "changed since it was loaded: load it again, and trace again."
        )
    known = Known(trace)
    every = events(trace, known)
    runs = chosen(runs_of(every, code), path, code.co_qualname)
    if not 0 <= nth < len(runs):
        raise ValueError(f"{nth=}: there is nth=0 to nth={len(runs) - 1}")
    frame = Frame(code, *runs[nth], every)
    title = f"{code.co_qualname} in {where(runs[nth][0])}"
    if len(runs) > 1:
        title += f", run {nth + 1} of {len(runs)} (nth={nth})"
    notes = parameters(code, frame, known)
    for statement in walk(node):
        if isinstance(statement, ast.stmt):
            note_statement(statement, frame, notes)
    return Listing(title, written(code, node, notes))


def code_of(thing) -> CodeType:
    """Find the code of a function, method or class."""
    thing = thing.forward if isinstance(thing, type) else thing
    thing = inspect.unwrap(getattr(thing, "__func__", thing))
    code = getattr(thing, "__code__", None)
    if code is None:
        raise TypeError(
            f"{type(thing).__name__} has no source: give a function, a "
            "method or a class."
        )
    if in_library[code.co_filename]:
        raise ValueError(
            f"{code.co_qualname} is PyTorch's own code, which is not "
            "recorded line by line: give the code that calls it."
        )
    return code


def parameters(code: CodeType, frame: Frame, known: Known) -> dict:
    """Note the tensors that a module's `forward` was given."""
    notes, call = defaultdict(list), frame.visit.call
    if code.co_name != "forward" or frame.callers or not call:
        return notes
    arguments = frame.node.args
    given = [*arguments.posonlyargs, *arguments.args][1:]
    for i, argument in enumerate([*given, *arguments.kwonlyargs]):
        numbers = call.reads.get(argument.arg)
        if numbers is None and i < len(given):
            numbers = call.reads.get(i)
        shapes = known.shapes(numbers, call.start)
        if shapes:
            line = argument.end_lineno
            notes[line].append(Note(argument.arg, [shapes]))
    return notes


def note_statement(statement: ast.stmt, frame: Frame, notes: dict) -> None:
    """Note the values of the expressions in a statement."""
    own = None
    if isinstance(statement, ast.AugAssign):
        value = frame.value(statement)
        own = statement.value
        if value:
            note_expression(own, value, frame, notes)
            notes[statement.end_lineno].append(Note("", value))
            return
    elif isinstance(statement, VALUED):
        own = statement.value
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, PARTS):
            value = note_expression(child, [], frame, notes, child is own)
            if value and child is own:
                notes[child.end_lineno].append(Note("", value))


def note_expression(node, outer, frame, notes, own=False) -> list[Shapes]:
    """Note what an expression was, if not the same as the one around it;
    inner ones first."""
    value = frame.value(node) if isinstance(node, ast.expr) else []
    for child in ast.iter_child_nodes(node):
        note_expression(child, value or outer, frame, notes)
    if value and value != outer and not own:
        notes[node.end_lineno].append(Note(label(node), value))
    return value


VALUED = ast.Assign, ast.AnnAssign, ast.Return, ast.Expr
PARTS = ast.expr, ast.withitem


def label(node: ast.expr) -> str:
    """Write an expression, a long call without its arguments."""
    text = ast.unparse(node)
    if len(text) > LONG and isinstance(node, ast.Call):
        return f"{label(node.func)}(…)"
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def written(code: CodeType, node: ast.AST, notes: dict) -> list[tuple]:
    """Give the lines of a definition with their notes, without docstring."""
    lines = linecache.getlines(code.co_filename)
    first = first_line(node)
    text = lines[first - 1]
    indent = len(text) - len(text.lstrip())
    left_out = set()
    if not isinstance(node, ast.Lambda) and ast.get_docstring(node):
        doc = node.body[0]
        left_out = set(range(doc.lineno, doc.end_lineno + 1))
    return [
        (lines[i - 1][indent:].rstrip(), notes.get(i, []))
        for i in range(first, node.end_lineno + 1)
        if i not in left_out
    ]

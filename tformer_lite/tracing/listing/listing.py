"""Annotated source: the measured shapes beside the lines that made them."""

import ast
import inspect
import re
from collections import defaultdict
from types import CodeType
from typing import NamedTuple

from tformer_lite.tracing.axes.names import Axis
from tformer_lite.tracing.listing.choosing import chosen, runs_of, where
from tformer_lite.tracing.listing.events import Known, events
from tformer_lite.tracing.listing.frames import Frame, Values
from tformer_lite.tracing.listing.layout import as_html, as_text
from tformer_lite.tracing.record.places import in_library
from tformer_lite.tracing.source.expressions import definition, first_line
from tformer_lite.tracing.source.lines import lines_of

LONG = 24
Notes = dict[int, list["Note"]]


class Note(NamedTuple):
    """What an expression was: its text, "" for a statement's own value; and
    its shapes, each time that it was made, None where they are not known."""

    label: str
    shapes: Values


class Listing:
    """A function's source; for each line its text and its notes.

    Print it, or show it in a notebook.
    """

    def __init__(self, title: str, lines: list[tuple[str, list[Note]]]):
        self.title, self.lines = title, lines

    def __str__(self) -> str:
        return as_text(self.title, self.lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self.title, self.lines)


def annotate(trace, thing, path: str | None = None, nth: int = 0) -> Listing:
    """Write the source of a function, method or class with the named shapes
    that its expressions had; of a class, its `forward`.

    `path` is the module in which it ran, `nth` which of several runs there;
    runs from one line are one. A ? stands where a shape is not certain, a
    docstring is left out. Raises TypeError for what is not a function,
    ValueError when its source cannot be shown, or where `path` or `nth`
    choose no run.
    """
    code = code_of(thing)
    known = Known(trace)
    every = events(trace, known)
    runs = chosen(runs_of(every, code), path, code.co_qualname)
    if not 0 <= nth < len(runs):
        raise ValueError(f"{nth=}: there is nth=0 to nth={len(runs) - 1}")
    frame = Frame(code, *runs[nth], every)
    title = f"{code.co_qualname} in {where(frame.visit)}"
    if len(runs) > 1:
        title += f", run {nth + 1} of {len(runs)} (nth={nth})"
    if frame.times() > 1:
        title += f", {frame.times()} runs shown as one"
    notes = parameters(frame, known)
    for part in ast.walk(frame.node):
        if isinstance(part, ast.stmt) or part is frame.node:
            note_statement(part, frame, notes)
    lines = written(frame, notes)
    return Listing(title + sizes(lines, trace.runs[0].sizes), lines)


def sizes(lines: list[tuple[str, list[Note]]], known: dict[str, int]) -> str:
    """List the sizes of the names that the notes use, on a line of its own."""
    notes = [note for _, found in lines for note in found]
    axes = [axis.name for note in notes for axis in flat(note.shapes)]
    used = set(re.findall(r"[^\W\d]\w*", " ".join(axes)))
    found = [f"{name}={n}" for name, n in known.items() if name in used]
    return f"\n{', '.join(found)}" if found else ""


def flat(values: list | None) -> list[Axis]:
    """Give every axis of the shapes that an expression had."""
    each = [shape for shapes in values or [] for shape in shapes]
    return [axis for shape in each for axis in shape]


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
    if definition(code) is None:
        raise ValueError(
            f"the source of {code.co_qualname} cannot be found. If its file "
            "has changed, load it again and trace again; if it was typed at "
            "a prompt, put it in a file or a notebook's cell."
        )
    return code


def parameters(frame: Frame, known: Known) -> Notes:
    """Note the tensors that a module's `forward` was given."""
    notes, call = defaultdict(list), frame.visit.call
    if frame.code.co_name != "forward" or frame.callers or not call:
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


def note_statement(statement: ast.AST, frame: Frame, notes: Notes) -> None:
    """Note the values of the expressions in a statement, or in a lambda."""
    own = getattr(statement, "value", getattr(statement, "body", None))
    value = frame.value(statement)
    if isinstance(statement, ast.AugAssign) and value != []:
        note(own, value, frame, notes)
        notes[statement.end_lineno].append(Note("", value))
        return
    if isinstance(statement, ast.For) and value != []:  # as of Python 3.11
        each = statement.iter
        notes[each.end_lineno].append(Note(label(each), value))
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, (ast.expr, ast.withitem)):
            note(child, [], frame, notes, child is own)


def note(node: ast.AST, outer, frame: Frame, notes: Notes, own=False) -> None:
    """Note what an expression was, if not the same as the one around it;
    inner ones first. A statement's own value needs no label."""
    value = frame.value(node) if isinstance(node, ast.expr) else []
    around = outer if value == [] else value
    for child in ast.iter_child_nodes(node):
        note(child, around, frame, notes)
    if value not in ([], outer):
        text = "" if own else label(node)
        notes[node.end_lineno].append(Note(text, value))


def label(node: ast.expr) -> str:
    """Write an expression, a long call without its arguments."""
    text = ast.unparse(node)
    if len(text) > LONG and isinstance(node, ast.Call):
        return f"{label(node.func)}(…)"
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def written(frame: Frame, notes: Notes) -> list[tuple[str, list[Note]]]:
    """Give the lines of a definition with their notes, without docstring."""
    node, lines = frame.node, lines_of(frame.code)
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

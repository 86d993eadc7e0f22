"""Annotated source: the measured shapes beside the lines that made them."""

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from types import CodeType
from typing import Any

from shapewatch.tracing.axes.names import shapes_text, sizes_text
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.listing.events import (
    NOTHING,
    ExpressionShapes,
    Frame,
    NamedShapes,
    runs_of,
)
from shapewatch.tracing.listing.layout import AnnotatedSource, CodeLine, Note
from shapewatch.tracing.listing.signatures import signature
from shapewatch.tracing.record.visits import owner
from shapewatch.tracing.source import expressions as source

LONG_LABEL = 24
NoteAt = tuple[ast.expr | ast.stmt | ast.arg, Note]  # it stands where it ends


def annotate(
    calls: Calls,
    thing: Any,
    path: str | None = None,
    nth: int = 0,
    light: str = "",
) -> AnnotatedSource:
    """Write the source of a function, method or class with the named shapes
    that its expressions had; of a class, its `forward`.

    `path` is the module in which it ran, `nth` which of several runs there;
    runs from one line are one. Lines that have the text `light` in them are
    marked. A ? stands where a shape is not certain; a docstring is left out,
    and a signature of several lines stands on one, if it fits.

    Raises TypeError for what is not a function, ValueError when its source
    cannot be shown, where `path` or `nth` choose no run, or `light` no line.
    """
    code = code_of_thing(thing)
    node, known = definition_of(code), NamedShapes(calls)
    runs = runs_of(code, known.events, path)
    if not 0 <= nth < len(runs):
        raise ValueError(f"{nth=}: there is nth=0 to nth={len(runs) - 1}")
    frame = Frame(known, node, runs[nth])
    lines = annotated_lines(frame)
    title = listing_title(frame, nth, len(runs))
    title += sizes_line(lines, calls.run.sizes)
    return AnnotatedSource(title, lines, lit_lines(lines, light))


def lit_lines(lines: list[CodeLine], light: str) -> list[int]:
    """Find the lines that have a text in them."""
    found = [i for i, (code, _) in enumerate(lines) if light and light in code]
    if light and not found:
        codes = "\n".join(code for code, _ in lines)
        raise ValueError(f"{light=} stands in none of these lines:\n{codes}")
    return found


def listing_title(frame: Frame, nth: int, many: int) -> str:
    """Name a function, its module and which of its runs it is."""
    visit = frame.visit
    module = visit.path or visit.kind or "the traced function"
    title = f"{frame.code.co_qualname} in {module}"
    if many > 1:
        title += f", run {nth + 1} of {many} (nth={nth})"
    if frame.times() > 1:
        title += f", {frame.times()} runs shown as one"
    return title


def sizes_line(lines: list[CodeLine], known: dict[str, int]) -> str:
    """List the sizes of the names that the notes use, on a line of its own."""
    times = (made.times for _, notes in lines for _, made in notes)
    texts = map(shapes_text, chain.from_iterable(times))
    found = sizes_text(texts, known)
    return f"\n{found}" if found else ""


def code_of_thing(thing: Any) -> CodeType:
    """Find the code of a function, method or class."""
    if isinstance(thing, type):
        thing = getattr(thing, "forward", thing)
    thing = inspect.unwrap(getattr(thing, "__func__", thing))
    code = getattr(thing, "__code__", None)
    if code is None:
        raise TypeError(
            f"{type(thing).__name__} has no source: give a function, a "
            "method or a class."
        )
    return code


def definition_of(code: CodeType) -> source.Function:
    """Find where a function is defined; ValueError if that is not known."""
    if owner(code.co_filename) != "reader":
        raise ValueError(
            f"{code.co_qualname} is PyTorch's own code, which is not "
            "recorded line by line: give the code that calls it."
        )
    node = source.definition(code)
    if node is None:
        raise ValueError(
            f"the source of {code.co_qualname} cannot be found. If its file "
            "has changed, load it again and trace again; if it was typed at "
            "a prompt, put it in a file or a notebook's cell."
        )
    return node


def notes_of(frame: Frame) -> Iterator[NoteAt]:
    """Note what went into a function, and what its expressions made."""
    yield from argument_notes(frame)
    parts = (p for p in ast.walk(frame.node) if isinstance(p, ast.stmt))
    for part in dict.fromkeys([frame.node, *parts]):
        yield from statement_notes(part, frame)


def argument_notes(frame: Frame) -> Iterator[NoteAt]:
    """Note the tensors that a module's `forward` was given."""
    visit, arguments = frame.visit, frame.node.args
    if frame.code.co_name != "forward" or frame.callers:
        return
    given = [*arguments.posonlyargs, *arguments.args][1:]
    names: dict[str | int, str] = {i: x.arg for i, x in enumerate(given)}
    reads = {names.get(key, key): read for key, read in visit.reads.items()}
    for argument in [*given, *arguments.kwonlyargs]:
        shapes = frame.known.shapes(reads.get(argument.arg), visit.start)
        if shapes:
            yield argument, (argument.arg, ExpressionShapes((shapes,)))


def statement_notes(
    statement: ast.stmt | ast.Lambda, frame: Frame
) -> Iterator[NoteAt]:
    """Note the values of the expressions in a statement, or in a lambda."""
    own = getattr(statement, "value", getattr(statement, "body", None))
    made = frame.value(statement)
    if isinstance(statement, ast.AugAssign) and made != NOTHING:
        yield from value_notes(statement.value, made, frame)
        yield statement, ("", made)
        return
    if isinstance(statement, ast.For) and made != NOTHING:  # Python 3.11 on
        yield statement.iter, (expression_label(statement.iter), made)
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, (ast.expr, ast.withitem)):
            yield from value_notes(child, NOTHING, frame, child is own)


def value_notes(
    node: ast.AST, outer: ExpressionShapes, frame: Frame, own: bool = False
) -> Iterator[NoteAt]:
    """Note what an expression was, if not the same as the one around it;
    inner ones first. A statement's own value needs no label."""
    made = frame.value(node) if isinstance(node, ast.expr) else NOTHING
    around = outer if made == NOTHING else made
    for child in ast.iter_child_nodes(node):
        yield from value_notes(child, around, frame)
    if isinstance(node, ast.expr) and made not in (NOTHING, outer):
        yield node, ("" if own else expression_label(node), made)


def expression_label(node: ast.expr) -> str:
    """Write an expression, a long call without its arguments."""
    text = ast.unparse(node)
    if len(text) > LONG_LABEL and isinstance(node, ast.Call):
        return f"{expression_label(node.func)}(…)"
    return text if len(text) <= LONG_LABEL else f"{text[: LONG_LABEL - 1]}…"


def annotated_lines(frame: Frame) -> list[CodeLine]:
    """Give the lines of a definition with their notes, without docstring."""
    node, lines = frame.node, ["", *source.lines_of(frame.code)]
    first, last = source.first_line(node), source.last_line(node)
    indent = len(lines[first]) - len(lines[first].lstrip())
    rows, one = signature(node, lines)
    left_out = {*rows[1:]} if one else set()
    if one:
        lines[rows[0]] = " " * indent + one
    notes = defaultdict[int, list[Note]](list)
    for placed, note in notes_of(frame):
        line = source.last_line(placed)
        notes[rows[0] if line in left_out else line].append(note)
    if not isinstance(node, ast.Lambda) and ast.get_docstring(node):
        doc = node.body[0]
        left_out |= {*range(doc.lineno, source.last_line(doc) + 1)}
    shown = (i for i in range(first, last + 1) if i not in left_out)
    return [(lines[i][indent:].rstrip(), notes[i]) for i in shown]

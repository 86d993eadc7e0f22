"""Annotated source: the measured shapes beside the lines that made them."""

import ast
import html
import inspect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import starmap
from types import CodeType
from typing import Any

from shapewatch.tracing.axes.names import (
    Shape,
    shape_text,
    shapes_text,
    sizes_text,
)
from shapewatch.tracing.calls import Calls, known_shapes
from shapewatch.tracing.listing.events import (
    CallEvents,
    Frame,
    ShapesEachTime,
    runs_of,
)
from shapewatch.tracing.markup import (
    STYLE,
    code_html,
    pre_html,
    shape_html,
)
from shapewatch.tracing.record.owners import owner
from shapewatch.tracing.source import expressions as source

LISTING_WIDTH, LONG_LABEL, MOST_SHAPES = 76, 24, 4

# An expression's text, or "" for a statement's own value; and what it made.
Note = tuple[str, ShapesEachTime]
CodeLine = tuple[str, list[Note]]  # its code, and what stands beside it
NoteAt = tuple[ast.expr | ast.stmt | ast.arg, Note]  # it stands where it ends


class AnnotatedSource:
    """A function's lines, with the shapes that they made beside them.

    Print it, or show it in a notebook.
    """

    def __init__(self, title: str, lines: list[CodeLine]):
        self._title, self._lines = title, lines

    def __str__(self) -> str:
        """Write the notes beside the code where there is room, else below."""
        lines = [(code, [*starmap(note_text, ns)]) for code, ns in self._lines]
        column, text = best_column(lines), [self._title, ""]
        for code, notes in lines:
            text += text_lines(code, notes, column)
        return "\n".join(line.rstrip() for line in text)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        name, _, rest = self._title.partition("\n")[0].partition(" ")
        title = f"<b>{html.escape(name)}</b> {html.escape(rest)}"
        rows = "".join(rows_html(self._lines))
        return (
            f'{STYLE}<table class="trace listing"><caption>{title}</caption>'
            f"{rows}</table>"
        )


def rows_html(lines: list[CodeLine]) -> Iterator[str]:
    """Write the rows of a listing: number, code and notes."""
    codes = code_html([code for code, _ in lines])
    for i, (code, (text, notes)) in enumerate(zip(codes, lines)):
        indent = len(text) - len(text.lstrip())
        style = f' style="--i:{indent}"' if indent else ""
        shapes = "<br>".join(starmap(note_html, notes))
        yield (
            f'<tr{style}><th scope="row">{i + 1}</th>'
            f"<td>{pre_html(code)}</td><td>{shapes}</td></tr>"
        )


def text_lines(code: str, notes: list[str], column: int) -> list[str]:
    """Write a line with its notes: beside it; or on lines of their own,
    under the column if they fit."""
    beside = f"# {' · '.join(notes)}"
    start = max(column, len(code) + 2)
    if not notes:
        return [code]
    if start + len(beside) <= LISTING_WIDTH:
        return [code.ljust(start) + beside]
    lines = [f"# {notes[0]}"]
    for note in notes[1:]:
        if len(lines[-1]) + len(f" · {note}") <= LISTING_WIDTH:
            lines[-1] += f" · {note}"
        else:
            lines.append(f"# {note}")
    indent = max(0, min(column, LISTING_WIDTH - max(map(len, lines))))
    return [code, *(" " * indent + line for line in lines)]


def best_column(lines: list[tuple[str, list[str]]]) -> int:
    """Choose the column at which the most notes stand beside their code."""
    room = Counter[int]()
    for code, notes in lines:
        if notes:
            last = LISTING_WIDTH - len(f"# {' · '.join(notes)}")
            room.update(range(len(code) + 2, last + 1))
    return max(sorted(room), key=room.__getitem__, default=LISTING_WIDTH)


def note_text(label: str, times: ShapesEachTime) -> str:
    """Write a note: its label and its shapes."""
    shapes = each_time_text(times, shape_text)
    return f"{label}: {shapes}" if label else shapes


def note_html(label: str, times: ShapesEachTime) -> str:
    """Write a note for the style sheet."""
    shapes = each_time_text(times, shape_html)
    name = f"<code>{html.escape(label)}</code> " if label else ""
    return f"<span>{name}{shapes}</span>"


def each_time_text(
    times: ShapesEachTime, write: Callable[[Shape], str]
) -> str:
    """Write the shapes that an expression had each time, and how often, of
    many the first and the last; "?" where they are not certain."""
    if times is None:
        return "?"
    texts = []
    for shapes in times:
        each = list(map(write, shapes))
        if len(each) > MOST_SHAPES:
            each = [each[0], "…", each[-1]]
        texts.append(", ".join(each))
    many = f" × {len(texts)}" if len(texts) > 1 else ""
    if len(set(texts)) == 1:
        return texts[0] + many
    return f"{texts[0]} … {texts[-1]}{many}"


def annotate(
    calls: Calls, thing: Any, path: str | None = None, nth: int = 0
) -> AnnotatedSource:
    """Write the source of a function, method or class with the named shapes
    that its expressions had; of a class, its `forward`.

    `path` is the module in which it ran, `nth` which of several runs there;
    runs from one line are one. A ? stands where a shape is not certain; a
    docstring is left out, and a signature of several lines stands on one, if
    it fits.

    Raises TypeError for what is not a function, ValueError when its source
    cannot be shown, or where `path` or `nth` choose no run.
    """
    code = code_of_thing(thing)
    node, events = definition_of(code), CallEvents(calls)
    runs = runs_of(events, code, path)
    if not 0 <= nth < len(runs):
        raise ValueError(f"{nth=}: there is nth=0 to nth={len(runs) - 1}")
    frame = Frame(events, node, runs[nth])
    lines = annotated_lines(frame)
    title = listing_title(frame, nth, len(runs))
    notes = (note for _, notes in lines for note in notes)
    texts = (shapes_text(x) for _, times in notes for x in times or ())
    if sizes := sizes_text(texts, calls.run.sizes):
        title += f"\n{sizes}"
    return AnnotatedSource(title, lines)


def listing_title(frame: Frame, nth: int, many: int) -> str:
    """Name a function, its module and which of its runs it is."""
    visit = frame.visit
    module = visit.path or visit.kind or "the traced function"
    title = f"{frame.code.co_qualname} in {module}"
    if many > 1:
        title += f", run {nth + 1} of {many} (nth={nth})"
    return title


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


def annotated_lines(frame: Frame) -> list[CodeLine]:
    """Give the lines of a definition with their notes, without docstring."""
    node, lines = frame.node, ["", *source.lines_of(frame.code)]
    first, last = source.first_line(node), source.last_line(node)
    indent = len(lines[first]) - len(lines[first].lstrip())
    rows, folded = signature(node, lines)
    left_out = {*rows[1:]} if folded else set()
    if folded:
        lines[rows[0]] = " " * indent + folded
    notes = defaultdict[int, list[Note]](list)
    for part, note in notes_of(frame):
        line = source.last_line(part)
        notes[rows[0] if line in left_out else line].append(note)
    if ast.get_docstring(node):
        doc = node.body[0]
        left_out |= {*range(doc.lineno, source.last_line(doc) + 1)}
    shown = (i for i in range(first, last + 1) if i not in left_out)
    return [(lines[i][indent:].rstrip(), notes[i]) for i in shown]


def notes_of(frame: Frame) -> Iterator[NoteAt]:
    """Note what went into a function, and what its expressions made."""
    yield from argument_notes(frame)
    for part in ast.walk(frame.node):
        if isinstance(part, ast.stmt):
            yield from statement_notes(part, frame)


def argument_notes(frame: Frame) -> Iterator[NoteAt]:
    """Note the tensors that a module's `forward` was given."""
    visit, arguments = frame.visit, frame.node.args
    if frame.code.co_name != "forward" or frame.callers:
        return
    positional = [*arguments.posonlyargs, *arguments.args][1:]
    names: dict[str | int, str] = {i: x.arg for i, x in enumerate(positional)}
    reads = {names.get(key, key): read for key, read in visit.reads.items()}
    for argument in [*positional, *arguments.kwonlyargs]:
        marks = reads.get(argument.arg)
        if shapes := known_shapes(frame.events.calls, marks, visit.start):
            yield argument, (argument.arg, (shapes,))


def statement_notes(statement: ast.stmt, frame: Frame) -> Iterator[NoteAt]:
    """Note the values of the expressions in a statement."""
    value = getattr(statement, "value", None)
    times = frame.value(statement)
    if isinstance(statement, ast.AugAssign) and times != ():
        yield from value_notes(statement.value, times, frame)
        yield statement, ("", times)
        return
    if isinstance(statement, ast.For) and times != ():  # Python 3.11 on
        yield statement.iter, (expression_label(statement.iter), times)
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, (ast.expr, ast.withitem)):
            yield from value_notes(child, (), frame, child is value)


def value_notes(
    node: ast.AST, outer: ShapesEachTime, frame: Frame, is_value: bool = False
) -> Iterator[NoteAt]:
    """Note what an expression was, if not the same as the one around it;
    inner ones first. A statement's own value needs no label."""
    times = frame.value(node) if isinstance(node, ast.expr) else ()
    around = outer if times == () else times
    for child in ast.iter_child_nodes(node):
        yield from value_notes(child, around, frame)
    if isinstance(node, ast.expr) and times not in ((), outer):
        yield node, ("" if is_value else expression_label(node), times)


def expression_label(node: ast.expr) -> str:
    """Write an expression, a long call without its arguments."""
    text = ast.unparse(node)
    if len(text) > LONG_LABEL and isinstance(node, ast.Call):
        return f"{expression_label(node.func)}(…)"
    return text if len(text) <= LONG_LABEL else f"{text[: LONG_LABEL - 1]}…"


def signature(
    node: source.Function, lines: Sequence[str]
) -> tuple[range, str]:
    """Give the lines of a signature, and what to write instead: it on one
    line, without its types, which the shapes beside it tell; or "" where it
    stands on one line, has a comment, or would not fit.

    `lines` begin with line 1 at index 1.
    """
    rows = range(node.lineno, node.body[0].lineno)
    arguments = deepcopy(node.args)
    for part in ast.walk(arguments):
        if isinstance(part, ast.arg):
            part.annotation = None
    gives = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    text = f"def {node.name}({ast.unparse(arguments)}){gives}:"
    commented = any("#" in lines[i] for i in rows)
    fits = len(rows) > 1 and len(text) <= LISTING_WIDTH and not commented
    return rows, text if fits else ""

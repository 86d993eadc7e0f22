"""The layout of annotated source, as text and as HTML."""

import html
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import starmap

from shapewatch.tracing.axes.names import Shape, shape_text
from shapewatch.tracing.listing.colours import code_html
from shapewatch.tracing.listing.events import ExpressionShapes
from shapewatch.tracing.markup import STYLE, shape_html

LISTING_WIDTH, MOST_SHAPES = 76, 4
LIGHT_MARK = "▸"  # at the line that matters

# An expression's text, or "" for a statement's own value; and what it made.
Note = tuple[str, ExpressionShapes]
CodeLine = tuple[str, list[Note]]  # its code, and what stands beside it


class AnnotatedSource:
    """A function's source; for each line its text and its notes. `lit` are
    the lines that matter, from 0.

    Print it, or show it in a notebook.
    """

    def __init__(
        self, title: str, lines: list[CodeLine], lit: Collection[int] = ()
    ):
        self.title, self.lines, self.lit = title, lines, lit

    def __str__(self) -> str:
        """Write the notes beside the code where there is room, else below."""
        lines = [(code, [*starmap(note_text, ns)]) for code, ns in self.lines]
        width = LISTING_WIDTH - 2 * bool(self.lit)
        column, found = best_column(lines, width), [self.title, ""]
        for i, (code, notes) in enumerate(lines):
            first, *rest = text_lines(code, notes, column, width)
            mark = LIGHT_MARK if i in self.lit else ""
            found += [f"{mark:2}{first}" if self.lit else first]
            found += [f"  {line}" if self.lit else line for line in rest]
        return "\n".join(line.rstrip() for line in found)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        name, _, rest = self.title.partition("\n")[0].partition(" ")
        title = f"<b>{html.escape(name)}</b> {html.escape(rest)}"
        rows = "".join(rows_html(self.lines, self.lit))
        return (
            f'{STYLE}<table class="trace listing"><caption>{title}</caption>'
            f"{rows}</table>"
        )


def rows_html(lines: list[CodeLine], lit: Collection[int]) -> Iterator[str]:
    """Write the rows of a listing: number, code and notes."""
    codes = code_html([code for code, _ in lines])
    for i, (code, (text, notes)) in enumerate(zip(codes, lines)):
        indent = len(text) - len(text.lstrip())
        style = f' style="--i:{indent}"' if indent else ""
        mark = f"<mark>{LIGHT_MARK}</mark>" if i in lit else ""
        shapes = "<br>".join(starmap(note_html, notes))
        yield (
            f'<tr{style}><th scope="row">{mark}{i + 1}</th>'
            f"<td><pre>{code}</pre></td><td>{shapes}</td></tr>"
        )


def text_lines(
    code: str, notes: list[str], column: int, width: int
) -> list[str]:
    """Write a line with its notes, beside it or below."""
    joined = f"# {' · '.join(notes)}"
    start = max(column, len(code) + 2)
    if not notes:
        return [code]
    if start + len(joined) <= width:
        return [code.ljust(start) + joined]
    return [code, *notes_below(notes, column, width)]


def best_column(lines: list[tuple[str, list[str]]], width: int) -> int:
    """Choose the column at which the most notes stand beside their code."""
    room = Counter[int]()
    for code, notes in lines:
        if notes:
            last = width - len(f"# {' · '.join(notes)}")
            room.update(range(len(code) + 2, last + 1))
    return max(sorted(room), key=room.__getitem__, default=width)


def notes_below(notes: list[str], column: int, width: int) -> list[str]:
    """Write notes on lines of their own, under the column if they fit."""
    lines = [f"# {notes[0]}"]
    for note in notes[1:]:
        if len(lines[-1]) + len(f" · {note}") <= width:
            lines[-1] += f" · {note}"
        else:
            lines.append(f"# {note}")
    indent = max(0, min(column, width - max(map(len, lines))))
    return [" " * indent + line for line in lines]


def note_text(label: str, made: ExpressionShapes) -> str:
    """Write a note: its label and its shapes."""
    shapes = shapes_each_time(made, shape_text)
    return f"{label}: {shapes}" if label else shapes


def note_html(label: str, made: ExpressionShapes) -> str:
    """Write a note for the style sheet."""
    shapes = shapes_each_time(made, shape_html)
    name = f"<code>{html.escape(label)}</code> " if label else ""
    return f"<span>{name}{shapes}</span>"


def shapes_each_time(
    made: ExpressionShapes, write: Callable[[Shape], str]
) -> str:
    """Write the shapes that an expression had each time, and how often; "?"
    where they are not certain."""
    if not made.certain:
        return "?"
    texts = [
        ", ".join(shorten_list([*map(write, shapes)])) for shapes in made.times
    ]
    many = f" × {len(texts)}" if len(texts) > 1 else ""
    if len(set(texts)) == 1:
        return texts[0] + many
    return f"{texts[0]} … {texts[-1]}{many}"


def shorten_list(texts: list[str]) -> list[str]:
    """Leave out the middle of a long list."""
    return texts if len(texts) <= MOST_SHAPES else [texts[0], "…", texts[-1]]

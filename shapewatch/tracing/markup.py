"""Markup: tables and shapes in HTML, and the style that they bring along.

All of it can be read where style is taken away, as on GitHub.
"""

import html
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from shapewatch.tracing.axes.names import LETTERS, MARKS, Axis, Shape, Shapes

Cells = Sequence[str | None]
CSS = Path(__file__).parent / "style" / "trace.css"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STYLE = " ".join(COMMENT.sub("", CSS.read_text("utf8")).split())
STYLE = f"<style>{STYLE}</style>"


def html_table(
    headers: Sequence[str], rows: Iterable[Cells], notes: Iterable[str] = ()
) -> str:
    """Write a table of cells that are HTML; the first names its row."""
    return STYLE + html_groups(headers, [("", rows)], notes)


def html_groups(
    headers: Sequence[str],
    groups: Iterable[tuple[str, Iterable[Cells]]],
    notes: Iterable[str] = (),
) -> str:
    """Write a table of rows in groups, each under its title, or "", and the
    notes below; the style is for who shows it to bring.

    Cells and headers are HTML, titles and notes are text. The first cell
    names its row, unless it is None.
    """
    head = "".join(f'<th scope="col">{name}</th>' for name in headers)
    bodies = "".join(html_group(*group, len(headers)) for group in groups)
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return (
        f'<table class="trace"><thead><tr>{head}</tr></thead>'
        f"{bodies}</table>{below}"
    )


def html_group(title: str, rows: Iterable[Cells], columns: int) -> str:
    """Write rows under a title that is as wide as the table."""
    lines = "".join(html_row(*row) for row in rows)
    if title:
        attributes = f'scope="rowgroup" colspan="{columns}"'
        title = f"<tr><th {attributes}>{html.escape(title)}</th></tr>"
    return f"<tbody>{title}{lines}</tbody>"


def html_row(name: str | None, *cells: str | None) -> str:
    """Write the name of a row, if it has one, and its cells."""
    head = "" if name is None else f'<th scope="row">{name}</th>'
    return f"<tr>{head}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def shapes_html(shapes: Shapes) -> str:
    """Write several named shapes for the style sheet."""
    return ", ".join(map(shape_html, shapes))


def shape_html(shape: Shape) -> str:
    """Mark a named shape for the style sheet: each name above its size."""
    return f'<span class="shape">({", ".join(map(axis_html, shape))})</span>'


def axis_html(axis: Axis) -> str:
    """Write the letters of an axis, marked, and its size; of an axis without
    a name, its size."""
    if axis.name == str(axis.size):
        return f"<var>{axis}</var>"
    mark = r'<b class="axis axis-\g<0>">\g<0></b>'
    name = LETTERS.sub(mark, html.escape(axis.name)) + MARKS[axis.proof]
    return f"<var>{name}<sub>{axis.size}</sub></var>"

"""Markup: tables, shapes and code in HTML, and the style that they bring.

All of it can be read where style is taken away, as on GitHub.
"""

import html
import re
from collections.abc import Iterable, Sequence
from keyword import kwlist
from pathlib import Path

from shapewatch.tracing.axes.names import LETTERS, MARKS, Shape

Cells = Sequence[str | None]
CSS = Path(__file__).parent / "style" / "trace.css"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STYLE = " ".join(COMMENT.sub("", CSS.read_text("utf8")).split())
STYLE = f"<style>{STYLE}</style>"
STRING = r'"{3}[\s\S]*?"{3}|"(?:\\.|[^"\\])*"'
SINGLE = STRING.replace('"', "'")
# What has a colour in code: a comment, a string, a name that is defined, a
# keyword or a number; and u, a minus and its name, which are not broken apart.
COLOURED = re.compile(
    r"(?P<c>#.*)|(?P<s>(?:\b[bfru]{1,2})?"
    f"(?:{STRING}|{SINGLE}))"
    r"|(?P<f>(?<=\bdef )\w+|(?<=\bclass )\w+)"
    rf"|(?P<k>\b(?:{'|'.join(kwlist)})\b)"
    r"|(?P<n>(?<!\w)\.?\d(?:e[-+]|[\w.])*)|(?P<u>-[^\W\d_][\w.]*)"
)


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
    bodies = ""
    for title, rows in groups:
        lines = "".join(html_row(*row) for row in rows)
        if title:
            attributes = f'scope="rowgroup" colspan="{len(headers)}"'
            title = f"<tr><th {attributes}>{html.escape(title)}</th></tr>"
        bodies += f"<tbody>{title}{lines}</tbody>"
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return (
        f'<table class="trace"><thead><tr>{head}</tr></thead>'
        f"{bodies}</table>{below}"
    )


def html_row(name: str | None, *cells: str | None) -> str:
    """Write the name of a row, if it has one, and its cells."""
    head = "" if name is None else f'<th scope="row">{name}</th>'
    return f"<tr>{head}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def pre_html(code: str) -> str:
    """Set code, with its indents, to the left: where style is taken away,
    JupyterLab sets what stands in a table to the right."""
    return f'<pre style="text-align: left">{code}</pre>'


def shape_html(shape: Shape) -> str:
    """Mark a named shape for the style sheet: each name above its size, its
    letters marked; of an axis without a name, the size."""
    mark, axes = r'<b class="axis axis-\g<0>">\g<0></b>', []
    for axis in shape:
        name = LETTERS.sub(mark, html.escape(axis.name)) + MARKS[axis.proof]
        named = axis.name != str(axis.size)
        text = f"{name}<sub>{axis.size}</sub>" if named else str(axis)
        axes.append(f"<var>{text}</var>")
    return f'<span class="shape">({", ".join(axes)})</span>'


def code_html(lines: Sequence[str]) -> list[str]:
    """Write lines of code in HTML, coloured as Python."""
    code = html.escape("\n".join(lines), quote=False)
    return COLOURED.sub(colour, code).split("\n")


def colour(part: re.Match) -> str:
    """Give a part of code its colour, on each of its lines."""
    start, end = f'<span class="{part.lastgroup}">', "</span>"
    return start + part[0].replace("\n", f"{end}\n{start}") + end

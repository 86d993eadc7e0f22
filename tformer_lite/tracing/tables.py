"""The table of a trace: one row a torch call, as text and as HTML."""

import html
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import groupby
from typing import NamedTuple

WIDTH = 34
HEADERS = "call", "inputs", "output"


class Row(NamedTuple):
    """One torch call, in words: where, what, and the named shapes."""

    path: str
    call: str
    reads: str
    makes: str

    def __str__(self) -> str:
        """Write a line: what was called, and the shapes."""
        call = short(self.call).ljust(WIDTH)
        return f"  {call}  {self.reads} -> {self.makes}"


class Table:
    """Rows that print themselves, and show themselves in a notebook."""

    def __init__(self, rows: list[Row], notes: list[str]):
        self.rows, self.notes = rows, notes

    def at(self, pattern: str) -> "Table":
        """Keep the rows of a module and of all within it.

        `pattern` is a path; * stands for anything. Raises KeyError when
        there is none.
        """
        within = pattern, f"{pattern}.*"
        rows = [
            row
            for row in self.rows
            if any(fnmatchcase(row.path, glob) for glob in within)
        ]
        if not rows:
            paths = dict.fromkeys(row.path for row in self.rows)
            raise KeyError(
                f"no call in {pattern!r}: the paths are {', '.join(paths)}"
            )
        return Table(rows, self.notes)

    def __str__(self) -> str:
        """Write a heading for each module, and a line for each call."""
        lines, path = [], None
        for row in self.rows:
            if row.path != path:
                path = row.path
                lines.append(path)
            lines.append(str(row))
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        groups = groupby(self.rows, key=lambda row: row.path)
        bodies = "".join(
            f"<tbody>{html_rows(*group)}</tbody>" for group in groups
        )
        return framed(HEADERS, bodies, self.notes)


def html_rows(path: str, rows: Iterable[Row]) -> str:
    """Write a heading for a module, and a row for each call."""
    lines = [
        f"<tr><td><code>{html.escape(row.call)}</code></td>"
        f"<td>{coloured(row.reads)}</td><td>{coloured(row.makes)}</td></tr>"
        for row in rows
    ]
    heading = f'<th scope="rowgroup" colspan="3">{html.escape(path)}</th>'
    return f"<tr>{heading}</tr>{''.join(lines)}"


def short(call: str) -> str:
    """Cut a call that is too long for its column."""
    return call if len(call) <= WIDTH else f"{call[: WIDTH - 1]}…"


def coloured(shapes: str) -> str:
    """Mark each shape, and each axis name in it, for the style sheet."""
    axis = r'<span class="axis axis-\g<0>">\g<0></span>'
    text = re.sub(r"(?<=[(, *+/\d-])[^\W\d]\w*", axis, html.escape(shapes))
    return re.sub(r"\([^()]*\)", r'<span class="shape">\g<0></span>', text)


def html_table(
    headers: Iterable[str], rows: list[list[str]], notes: list[str]
) -> str:
    """Write a table of cells that are HTML; the first names its row."""
    body = "".join(
        f'<tr><th scope="row">{first}</th>'
        + "".join(f"<td>{cell}</td>" for cell in others)
        + "</tr>"
        for first, *others in rows
    )
    return framed(headers, f"<tbody>{body}</tbody>", notes)


def framed(
    headers: Iterable[str], bodies: str, notes: list[str], caption: str = ""
) -> str:
    """Write the headers above the rows of a table, and notes below."""
    head = "".join(f'<th scope="col">{name}</th>' for name in headers)
    said = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return (
        f'<table class="trace">{caption}<thead><tr>{head}</tr></thead>'
        f"{bodies}</table>{said}"
    )

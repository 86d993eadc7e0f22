"""The table of a trace: one row a torch call, as text and as HTML."""

import html
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

WIDTH = 34
HEADERS = "module", "call", "inputs", "output"


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

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        rows = [
            [
                html.escape(row.path),
                f"<code>{html.escape(row.call)}</code>",
                coloured(row.reads),
                coloured(row.makes),
            ]
            for row in self.rows
        ]
        return html_table(HEADERS, rows, self.notes)


def short(call: str) -> str:
    """Cut a call that is too long for its column."""
    return call if len(call) <= WIDTH else f"{call[: WIDTH - 1]}…"


def coloured(shapes: str) -> str:
    """Mark each axis name in some shapes, for the style sheet to colour."""
    span = r'<span class="axis axis-\g<0>">\g<0></span>'
    return re.sub(r"(?<=[(, *+/\d-])[^\W\d]\w*", span, html.escape(shapes))


def html_table(
    headers: Iterable[str], rows: list[list[str]], notes: list[str]
) -> str:
    """Write a table of cells that are HTML; the first names its row."""
    head = "".join(f'<th scope="col">{name}</th>' for name in headers)
    body = "".join(
        f'<tr><th scope="row">{first}</th>'
        + "".join(f"<td>{cell}</td>" for cell in others)
        + "</tr>"
        for first, *others in rows
    )
    said = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return (
        f'<table class="trace"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>{said}"
    )

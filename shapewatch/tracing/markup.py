"""Markup: tables, shapes and code in HTML, and the style that they bring.

All of it can be read where style is taken away, as on GitHub.
"""

import html
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from keyword import iskeyword
from pathlib import Path
from tokenize import TokenInfo

from shapewatch.tracing.axes.names import LETTERS, MARKS, Shape

Cells = Sequence[str | None]
CSS = Path(__file__).parent / "style" / "trace.css"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STYLE = " ".join(COMMENT.sub("", CSS.read_text("utf8")).split())
STYLE = f"<style>{STYLE}</style>"
TOKEN_COLOURS = {
    tokenize.NUMBER: "n",
    tokenize.STRING: "s",
    tokenize.COMMENT: "c",
}
# From Python 3.12 on, an f-string is many tokens: here it is one.
BEGINS = getattr(tokenize, "FSTRING_START", None)
ENDS = getattr(tokenize, "FSTRING_END", None)
UNBROKEN = re.compile(r"-[\w.]+")  # a line does not end after a minus
# What stands in a line from one column to another: k is a keyword, f a name
# that is defined, u what is not broken.
ColourPart = tuple[int, int, str]


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
    """Write lines of code in HTML, coloured by Python's own tokens."""
    parts = defaultdict[int, list[ColourPart]](list)
    try:
        for row, part in colour_parts(lines):
            parts[row].append(part)
    except (tokenize.TokenError, SyntaxError):
        pass  # a part of a statement: what was read so far is coloured
    return [line_html(line, parts[i]) for i, line in enumerate(lines, 1)]


def colour_parts(lines: Sequence[str]) -> Iterator[tuple[int, ColourPart]]:
    """Find what has a colour, with the number of its line."""
    text = io.StringIO("\n".join(lines))
    before = ""
    for token in merge_fstrings(tokenize.generate_tokens(text.readline)):
        kind = TOKEN_COLOURS.get(token.type, "")
        if token.type == tokenize.NAME:
            kind = "k" if iskeyword(token.string) else ""
            kind = "f" if before in ("def", "class") else kind
        (first, start), (last, end) = token.start, token.end
        for row in range(first, last + 1) if kind else ():
            left = start if row == first else 0
            right = end if row == last else len(lines[row - 1])
            yield row, (left, right, kind)
        before = token.string


def merge_fstrings(tokens: Iterator[TokenInfo]) -> Iterator[TokenInfo]:
    """Make one token of an f-string."""
    deep, first = 0, None
    for token in tokens:
        if token.type == BEGINS:
            deep, first = deep + 1, first or token
        if first is None:
            yield token
        elif token.type == ENDS:
            deep -= 1
            if not deep:
                string = first._replace(type=tokenize.STRING, end=token.end)
                first = None
                yield string


def line_html(line: str, parts: list[ColourPart]) -> str:
    """Write a line: parts in their colours, and what is not broken whole,
    unless it stands in a part, such as a string."""
    pieces, at = [], 0
    unbroken = [
        (*match.span(), "u")
        for match in UNBROKEN.finditer(line)
        if match[0][1:2].isalpha()
        if not any(start <= match.start() < end for start, end, _ in parts)
    ]
    for start, end, kind in sorted([*parts, *unbroken]):
        if start >= at:
            pieces.append(html.escape(line[at:start], quote=False))
            text = html.escape(line[start:end], quote=False)
            pieces.append(f'<span class="{kind}">{text}</span>')
            at = end
    return "".join(pieces) + html.escape(line[at:], quote=False)

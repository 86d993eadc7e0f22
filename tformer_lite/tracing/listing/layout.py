"""The layout of annotated source, as text and as HTML."""

import html
from collections.abc import Callable
from typing import NamedTuple

from tformer_lite.tracing.axes.names import Shape, shape_text
from tformer_lite.tracing.listing.frames import Made
from tformer_lite.tracing.tables import html_groups, shape_html

WIDTH, MANY = 76, 4
HEADERS = "line", "code", "shapes"


class Note(NamedTuple):
    """What an expression was: its text, "" for a statement's own value; and
    what it made."""

    label: str
    made: Made


Line = tuple[str, list[Note]]  # its code, and what stands beside it


def as_text(title: str, lines: list[Line]) -> str:
    """Write the notes beside the code where there is room, else below."""
    texts = [(code, list(map(note_text, notes))) for code, notes in lines]
    column = best_column(texts)
    found = [title, ""]
    for code, notes in texts:
        joined = f"# {' · '.join(notes)}"
        if not notes:
            found.append(code)
        elif max(column, len(code) + 2) + len(joined) <= WIDTH:
            found.append(
                code.ljust(max(column - 2, len(code))) + "  " + joined
            )
        else:
            found += [code, *below(notes, column)]
    return "\n".join(found)


def best_column(lines: list[tuple[str, list[str]]]) -> int:
    """Choose the column at which the most notes stand beside their code."""

    def beside(column: int) -> int:
        return sum(
            len(code) + 2 <= column
            and column + len(" · ".join(texts)) + 2 <= WIDTH
            for code, texts in lines
            if texts
        )

    best = max(range(WIDTH), key=beside)
    return best if beside(best) else WIDTH


def below(texts: list[str], column: int) -> list[str]:
    """Write notes on lines of their own, under the column if they fit."""
    lines, line = [], "#"
    for i, text in enumerate(texts):
        more = f"{line} {text}" if line == "#" else f"{line} · {text}"
        if len(more) > WIDTH and i:
            lines.append(line)
            more = f"# {text}"
        line = more
    lines.append(line)
    indent = max(0, min(column, WIDTH - max(map(len, lines))))
    return [" " * indent + line for line in lines]


def note_text(note: Note) -> str:
    """Write a note: its label and its shapes."""
    label = f"{note.label}: " if note.label else ""
    return label + times_text(note.made, shape_text)


def times_text(made: Made, write: Callable[[Shape], str]) -> str:
    """Write the shapes that an expression had each time, and how often; "?"
    where they are not certain."""
    if not made.certain:
        return "?"
    texts = [", ".join(few(list(map(write, shapes)))) for shapes in made.times]
    many = f" × {len(texts)}" if len(texts) > 1 else ""
    if len(set(texts)) == 1:
        return texts[0] + many
    return f"{texts[0]} … {texts[-1]}{many}"


def few(texts: list[str]) -> list[str]:
    """Leave out the middle of a long list."""
    return texts if len(texts) <= MANY else [texts[0], "…", texts[-1]]


def as_html(title: str, lines: list[Line]) -> str:
    """Write a real table: readable without style and without script."""
    rows = [
        (
            str(number),
            f"<pre>{html.escape(code)}</pre>",
            "<br>".join(map(note_html, notes)),
        )
        for number, (code, notes) in enumerate(lines, 1)
    ]
    return html_groups(HEADERS, [("", rows)], caption=title)


def note_html(note: Note) -> str:
    """Write a note for the style sheet."""
    label = html.escape(note.label)
    label = f"<code>{label}</code>: " if label else ""
    return label + times_text(note.made, shape_html)

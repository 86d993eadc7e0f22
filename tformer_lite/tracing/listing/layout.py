"""The layout of annotated source, as text and as HTML."""

import html
from collections import Counter
from collections.abc import Callable
from itertools import starmap

from tformer_lite.tracing.axes.names import Shape, shape_text
from tformer_lite.tracing.listing.events import Made
from tformer_lite.tracing.tables import html_groups, shape_html

WIDTH, MANY = 76, 4
HEADERS = "line", "code", "shapes"


# An expression's text, or "" for a statement's own value; and what it made.
Note = tuple[str, Made]
Line = tuple[str, list[Note]]  # its code, and what stands beside it


class Listing:
    """A function's source; for each line its text and its notes.

    Print it, or show it in a notebook.
    """

    def __init__(self, title: str, lines: list[Line]):
        self.title, self.lines = title, lines

    def __str__(self) -> str:
        """Write the notes beside the code where there is room, else below."""
        lines = [(code, [*starmap(note_text, ns)]) for code, ns in self.lines]
        column = best_column(lines)
        found = [self.title, ""]
        for code, notes in lines:
            joined = f"# {' · '.join(notes)}"
            start = max(column, len(code) + 2)
            if not notes:
                found.append(code)
            elif start + len(joined) <= WIDTH:
                found.append(code.ljust(start) + joined)
            else:
                found += [code, *below(notes, column)]
        return "\n".join(found)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        rows = []
        for number, (code, notes) in enumerate(self.lines, 1):
            code = f"<pre>{html.escape(code)}</pre>"
            shapes = "<br>".join(starmap(note_html, notes))
            rows.append((str(number), code, shapes))
        return html_groups(HEADERS, [("", rows)], caption=self.title)


def best_column(lines: list[tuple[str, list[str]]]) -> int:
    """Choose the column at which the most notes stand beside their code."""
    room = Counter[int]()
    for code, notes in lines:
        if notes:
            last = WIDTH - len(f"# {' · '.join(notes)}")
            room.update(range(len(code) + 2, last + 1))
    return max(sorted(room), key=room.__getitem__, default=WIDTH)


def below(notes: list[str], column: int) -> list[str]:
    """Write notes on lines of their own, under the column if they fit."""
    lines = [f"# {notes[0]}"]
    for note in notes[1:]:
        if len(lines[-1]) + len(f" · {note}") <= WIDTH:
            lines[-1] += f" · {note}"
        else:
            lines.append(f"# {note}")
    indent = max(0, min(column, WIDTH - max(map(len, lines))))
    return [" " * indent + line for line in lines]


def note_text(label: str, made: Made) -> str:
    """Write a note: its label and its shapes."""
    shapes = times_text(made, shape_text)
    return f"{label}: {shapes}" if label else shapes


def note_html(label: str, made: Made) -> str:
    """Write a note for the style sheet."""
    shapes = times_text(made, shape_html)
    return f"<code>{html.escape(label)}</code>: {shapes}" if label else shapes


def times_text(made: Made, write: Callable[[Shape], str]) -> str:
    """Write the shapes that an expression had each time, and how often; "?"
    where they are not certain."""
    if not made.certain:
        return "?"
    texts = [", ".join(few([*map(write, shapes)])) for shapes in made.times]
    many = f" × {len(texts)}" if len(texts) > 1 else ""
    if len(set(texts)) == 1:
        return texts[0] + many
    return f"{texts[0]} … {texts[-1]}{many}"


def few(texts: list[str]) -> list[str]:
    """Leave out the middle of a long list."""
    return texts if len(texts) <= MANY else [texts[0], "…", texts[-1]]

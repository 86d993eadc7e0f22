"""Changes: what each version of a text has otherwise than the one before."""

import html
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest
from textwrap import dedent, wrap

from shapewatch.tracing.markup import STYLE, pre_html
from shapewatch.tracing.tables import Printable

DIFF_WIDTH = 76
WORD = re.compile(r"\w+|\s+|.")
LinePair = tuple[str | None, str | None]  # a line before and after


class Diff(Printable):
    """The lines that differ from each of some versions of a text to the next,
    under `titles`, one for each step; with `whole`, all lines.

    Print it, or show it in a notebook: before and after side by side, or on
    a narrow page one below the other.

    >>> Diff("q @ k", "q @ k.mT", titles=["RuntimeError"])
    RuntimeError
    - q @ k
    + q @ k.mT
    """

    def __init__(
        self, *versions: str, titles: Sequence[str] = (), whole: bool = False
    ):
        self.notes: list[str] = []
        self._steps: list[tuple[str, list[LinePair]]] = []
        for title, texts in zip_longest(titles, pairwise(versions)):
            pairs = line_pairs(*map(str.splitlines, texts))
            changed = pairs if whole else without_same(pairs)
            self._steps.append((title or "", changed))

    def _lines(self) -> list[str]:
        """Write a title, and lines with - that were replaced by those with +
        below them."""
        lines = []
        for title, pairs in self._steps:
            for line in title.splitlines():
                lines += wrap(line, DIFF_WIDTH) or [""]
            for old, new in pairs:
                signed = ("  ", old), ("- ", old), ("+ ", new)
                chosen = signed[:1] if old == new else signed[1:]
                lines += [sign + x for sign, x in chosen if x is not None]
        return lines

    def _repr_html_(self) -> str:
        """Write a real table: readable without style and without script."""
        bodies = ""
        for title, pairs in self._steps:
            text = html.escape(title).replace("\n", "<br>")
            head = f'<th scope="rowgroup" colspan="2">{text}</th>'
            rows = "".join(pair_html(*pair) for pair in pairs)
            title_row = f"<tr>{head}</tr>" if title else ""
            bodies += f"<tbody>{title_row}{rows}</tbody>"
        return (
            f'{STYLE}<table class="trace diff"><thead><tr><th scope="col">'
            'before</th><th scope="col">after</th></tr></thead>'
            f"{bodies}</table>"
        )


def line_pairs(before: list[str], after: list[str]) -> list[LinePair]:
    """Set the lines of two versions beside each other."""
    matcher = SequenceMatcher(None, before, after, False)
    return [
        pair
        for _, i, j, k, n in matcher.get_opcodes()
        for pair in zip_longest(before[i:j], after[k:n])
    ]


def without_same(pairs: list[LinePair]) -> list[LinePair]:
    """Leave out the lines that stay; move the others to the left, alike."""
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    lines = [x for pair in pairs for x in pair if x is not None]
    moved = iter(dedent("\n".join(lines)).split("\n"))
    dedented = [[x if x is None else next(moved) for x in p] for p in pairs]
    return [(old, new) for old, new in dedented]


def pair_html(old: str | None, new: str | None) -> str:
    """Write a line before and after; a sign says that it differs."""
    if old == new:
        same = cell_html(" ", html.escape(old or "", quote=False))
        return f'<tr class="same">{same * 2}</tr>'
    left, right = mark_changed_words(old or "", new or "")
    before = cell_html("−", left) if old is not None else "<td></td>"
    after = cell_html("+", right) if new is not None else "<td></td>"
    return f"<tr>{before}{after}</tr>"


def cell_html(sign: str, text: str) -> str:
    """Write a line after its sign."""
    indent = len(text) - len(text.lstrip())
    code = pre_html(f"{sign} {text}")
    return f'<td style="--i:{indent + 2}">{code}</td>'


def mark_changed_words(old: str, new: str) -> tuple[str, str]:
    """Mark the words in which two lines differ."""
    before, after = WORD.findall(old), WORD.findall(new)
    texts = ["", ""]
    matcher = SequenceMatcher(None, before, after, False)
    for kind, i, j, k, n in matcher.get_opcodes():
        parts = ("del", before[i:j]), ("ins", after[k:n])
        for side, (tag, words) in enumerate(parts):
            text = html.escape("".join(words), quote=False)
            if text.strip() and kind != "equal":
                space = text[: len(text) - len(text.lstrip())]
                text = f"{space}<{tag}>{text.lstrip()}</{tag}>"
            texts[side] += text
    return texts[0], texts[1]

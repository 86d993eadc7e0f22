"""Words in a row, and below each of them what becomes of it."""

from collections.abc import Sequence
from itertools import accumulate

from pictures.canvas import WIDEST, Canvas
from tformer_lite.drawing.surface.page import NAME, Box, text_width
from tformer_lite.drawing.surface.palette import EDGE, HIGHLIGHT, PAPER, RIM
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["word_rows"]

HIGH, STEP = 22, 38  # of a word's box; from row to row
APART, DOWN = 22, 29  # where rows are side by side: between them; a name


def word_rows(
    *rows: Sequence[str], titles: Sequence[str], names: Sequence[str] = ()
) -> Picture:
    """Draw rows of words, each made of the one above it: -> a picture.

    A column in which the last word is not the first one is lit. Columns that
    have `names` lie down, and the rows stand side by side. Raises ValueError
    for rows that are not equally long.

    >>> word_rows(["to", "be"], ["7", "0"], ["to", "?"], titles="abc")
    a: to be. b: 7 0. c: to ?. Not the same in the end: be.
    """
    texts = [list(map(str, row)) for row in rows]
    if not rows or {*map(len, texts)} != {len(texts[0])}:
        raise ValueError(f"rows of {[*map(len, texts)]} words: no columns.")
    join = ", ".join if names else " ".join
    lit = [old != new for old, new in zip(texts[0], texts[-1])]
    lost = join(x for x, new in zip(names or texts[0], lit) if new) or "none"
    said = [f"{name}: {join(row)}." for name, row in zip(titles, texts)]
    text = " ".join([*said, f"Not the same in the end: {lost}."])
    if names:
        return draw_beside(texts, titles, lit, names).picture(text)
    return draw_words(texts, titles, lit).picture(text)


@with_style
def draw_words(
    texts: list[list[str]], titles: Sequence[str], lit: list[bool]
) -> Canvas:
    """Draw a box for each word, and an arrow to what it becomes."""
    page = Canvas()
    left = max(text_width(name, NAME, "bold") for name in titles) + 8
    needs = [max(map(text_width, column)) + 6 for column in zip(*texts)]
    spare = (WIDEST - left - sum(needs)) / len(lit)
    ends = [*accumulate((x + spare for x in needs), initial=left)]
    for i, (name, row) in enumerate(zip(titles, texts)):
        y = i * STEP
        page.bold(0, y + HIGH / 2, name, ha="left")
        for j, word in enumerate(row):
            x, wide = ends[j], ends[j + 1] - ends[j]
            draw_word(page, (x + 1, y, wide - 2, HIGH), word, lit[j])
            middle = x + wide / 2
            if i:
                page.arrow((middle, y - STEP + HIGH + 2), (middle, y - 2))
    return page


def draw_word(page: Canvas, box: Box, word: str, lit: bool) -> None:
    """Draw a word in its box."""
    fill, edge = (HIGHLIGHT, RIM) if lit else (PAPER, EDGE)
    page.box(box, fc=fill[0], ec=edge[0])
    page.word(box[0] + box[2] / 2, box[1] + HIGH / 2, word, box[2] - 2)


@with_style
def draw_beside(
    texts: list[list[str]],
    titles: Sequence[str],
    lit: list[bool],
    names: Sequence[str],
) -> Canvas:
    """Draw rows side by side; what stays the same has one box."""
    page, left = Canvas(), max(map(text_width, names)) + 8
    step = (WIDEST - left + APART) / len(texts)
    for i, title in enumerate(titles):
        page.bold(left + step * (i + 0.5) - APART / 2, -12, title)
    for j, (name, *words) in enumerate(zip(names, *texts)):
        y = DOWN * j
        page.note(0, y + HIGH / 2, name, ha="left")
        for i, word in enumerate(words if lit[j] else words[:1]):
            x, wide = (
                left + step * i,
                step if lit[j] else WIDEST - left + APART,
            )
            draw_word(page, (x, y, wide - APART, HIGH), word, lit[j] and i > 0)
            if i:
                ends = (x - APART + 1, y + HIGH / 2), (x - 1, y + HIGH / 2)
                page.arrow(*ends)
    return page

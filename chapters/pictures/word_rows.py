"""Words in a row, and below each of them what becomes of it."""

from collections.abc import Sequence
from itertools import accumulate

from pictures.canvas import WIDEST, Canvas
from tformer_lite.drawing.surface.page import NAME, text_width
from tformer_lite.drawing.surface.palette import (
    EDGE,
    HIGHLIGHT,
    PAPER,
    RIM,
)
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["word_rows"]

HIGH, STEP = 22, 38  # of a word's box; from row to row


def word_rows(*rows: Sequence[str], titles: Sequence[str]) -> Picture:
    """Draw rows of words, each made of the one above it: -> a picture.

    A column in which the last word is not the first one is lit. Raises
    ValueError for rows that are not equally long.

    >>> word_rows(["to", "be"], ["7", "0"], ["to", "?"], titles="abc")
    a: to be. b: 7 0. c: to ?. Not the same in the end: be.
    """
    texts = [list(map(str, row)) for row in rows]
    if not rows or {*map(len, texts)} != {len(texts[0])}:
        raise ValueError(f"rows of {[*map(len, texts)]} words: no columns.")
    pairs = list(zip(texts[0], texts[-1]))
    lost = " ".join(old for old, new in pairs if old != new) or "none"
    said = [f"{name}: {' '.join(row)}." for name, row in zip(titles, texts)]
    lit = [old != new for old, new in pairs]
    text = " ".join([*said, f"Not the same in the end: {lost}."])
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
            fill, edge = (HIGHLIGHT, RIM) if lit[j] else (PAPER, EDGE)
            box = x + 1, y, wide - 2, HIGH
            page.box(box, fc=fill[0], ec=edge[0])
            middle = x + wide / 2
            page.word(middle, y + HIGH / 2, word, wide - 4)
            if i:
                page.arrow((middle, y - STEP + HIGH + 2), (middle, y - 2))
    return page

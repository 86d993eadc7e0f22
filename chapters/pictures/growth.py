"""Tables that grow from step to step, such as the keys that a cache keeps."""

import math
import sys
from collections.abc import Sequence
from itertools import groupby

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface.matrix import (
    check_matrix,
    labels_for,
    number,
)
from tformer_lite.drawing.surface.page import (
    NARROW,
    SIZE,
    SMALL,
    WIDE,
    Page,
    Place,
    Style,
    shortened,
    text_width,
)
from tformer_lite.drawing.surface.palette import DARK, KINDS, PAPER
from tformer_lite.drawing.surface.picture import Picture, styled

__all__ = ["growth"]

SCORES = KINDS["scores"]
CELL, HIGH = (5, 13), 15  # a cell's width, at least and at most; its height
FADED: Style = {"fc": PAPER[0], "ec": "none", "alpha": 0.6, "zorder": 3}
BESIDE, GAP, HEAD, FOOT = 5, 14, 40, 22  # pixels between tables and steps


def growth(
    *tables: Sequence[Tensor],
    rows: list[str] | None = None,
    titles: list[str] | None = None,
) -> Picture:
    """Draw tables as they were after each step: [(S, D), ...] -> a picture.

    Each argument is one table: what it was after the first step, after the
    second, and so on. Rows that were not there a step before, or were other
    numbers, are framed; what was there is faded. Below each step stands how
    many numbers there are. `rows` labels the rows of the last step, `titles`
    replaces what you wrote as arguments. Raises ValueError for anything but
    matrices as wide as the first.

    >>> growth([torch.ones(1, 2), torch.ones(2, 2)], titles=["k"])
    k grows over 2 steps: after step 1 (1, 2); ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or ["table"] * len(tables)
    counts = {len(steps) for steps in tables}
    if len(counts) != 1 or counts == {0} or len(titles) != len(tables):
        raise ValueError(
            f"{len(titles)} titles for tables after {sorted(counts)} steps: "
            "give each table as often as the others, at least once."
        )
    grown = Growth(titles, tables, rows)
    wide, narrow = (draw_growth(grown, page) for page in (WIDE, NARROW))
    return Picture(wide, grown.text(), DARK | SCORES.counterparts(), narrow)


class Growth:
    """Tables after each step: `titles`, `steps` with one matrix a table, the
    `rows` that are new, and the words of the longest one's rows."""

    def __init__(
        self,
        titles: list[str],
        tables: Sequence[Sequence[Tensor]],
        rows: list[str] | None,
    ):
        for title, table in zip(titles, tables):
            check_table(title, list(map(torch.as_tensor, table)))
        self.titles = titles
        self.steps = [
            [torch.as_tensor(each).detach().cpu().double() for each in step]
            for step in zip(*tables)
        ]
        before = [[each[:0] for each in self.steps[0]], *self.steps]
        self.new = [
            list(map(changed, old, now))
            for old, now in zip(before, self.steps)
        ]
        every = [each for step in self.steps for each in step]
        self.limit = max(each.abs().max().item() for each in every) or 1.0
        self.columns = [each.shape[1] for each in self.steps[0]]
        self.words = labels_for(rows, max(map(len, every)))

    def text(self) -> str:
        """Say how the tables grow, then the numbers of their new rows."""
        shapes = [
            f"step {i} {', '.join(str(tuple(each.shape)) for each in step)}"
            for i, step in enumerate(self.steps, 1)
        ]
        grow = "grow" if len(self.titles) > 1 else "grows"
        say = f"{', '.join(self.titles)} {grow} over {len(self.steps)} "
        say += f"step{'s' * (len(self.steps) > 1)}: after {'; '.join(shapes)}."
        lines = []
        for i, (step, new) in enumerate(zip(self.steps, self.new), 1):
            for title, each, rows in zip(self.titles, step, new):
                for row in rows:
                    numbers = " ".join(map(number, each[row].tolist()))
                    word = self.words[row]
                    lines.append(f"step {i}, {title} of {word}: {numbers}")
        return say + "\n\n" + "\n".join(lines)


def size(tables: list[Tensor]) -> str:
    """Count the numbers in tables: 3 × 2 × 4 = 24."""
    shapes = [tuple(each.shape) for each in tables]
    count = sum(math.prod(shape) for shape in shapes)
    if len(set(shapes)) > 1:
        return str(count)
    (n, d), times = shapes[0], f"{len(shapes)} × " * (len(shapes) > 1)
    return f"{n} × {times}{d} = {count}"


def check_table(title: str, steps: list[Tensor]) -> None:
    """Raise ValueError unless a table is a matrix, as wide after each step."""
    for step in steps:
        check_matrix(title, step)
    widths = [step.shape[1] for step in steps]
    if len(set(widths)) > 1:
        raise ValueError(
            f"{title} has {widths} columns: tables that grow get more rows, "
            "so transpose those that have their positions in columns."
        )


def changed(before: Tensor, now: Tensor) -> list[int]:
    """List the rows that are not what they were."""
    same = min(len(before), len(now))
    other = (before[:same] - now[:same]).abs().amax(dim=-1) > 1e-5
    return [i for i, new in enumerate(other.tolist()) if new] + [
        *range(same, len(now))
    ]


class Layout:
    """Where steps stand on a page so wide: right of the words, `pitch` from
    one to the next, as many in a band as fit, and the bands below each
    other; a cell is `wide`."""

    def __init__(self, grown: Growth, width: float):
        count, columns = len(grown.steps), sum(grown.columns)
        self.left = max(map(text_width, grown.words)) + 10
        room, beside = width - self.left, BESIDE * (len(grown.titles) - 1)
        least = columns * CELL[0] + beside + GAP
        fit = max(1, int(room // least))
        self.band = math.ceil(count / math.ceil(count / fit))
        self.pitch = room / self.band
        self.wide = min(CELL[1], (self.pitch - beside - GAP) / columns)
        self.pitch = min(self.pitch, 1.5 * (columns * self.wide + beside))
        self.tops = [0]
        for start in range(0, count, self.band):
            here = grown.steps[start : start + self.band]
            rows = max(len(table) for step in here for table in step)
            self.tops.append(self.tops[-1] + HEAD + HIGH * rows + FOOT)

    def place(self, step: int) -> Place:
        """Where the first row of a step begins."""
        band, at = divmod(step, self.band)
        return self.left + at * self.pitch, self.tops[band] + HEAD


@styled
def draw_growth(grown: Growth, width: float) -> Figure:
    """Draw the words once, and beside them the tables after each step."""
    at = Layout(grown, width)
    page = Page(width, at.tops[-1])
    for step in range(len(grown.steps)):
        _, top = at.place(step)
        if step % at.band == 0:
            last = min(len(grown.steps), step + at.band) - 1
            most = max(map(len, grown.steps[last]))
            for row, word in enumerate(grown.words[:most]):
                y = top + HIGH * (row + 0.5)
                page.write(at.left - 8, y, word, ha="right")
        draw_step(page, grown, step, at)
    return page.figure


def draw_step(page: Page, grown: Growth, step: int, at: Layout) -> None:
    """Draw the tables after a step: what is new framed, what was faded."""
    left, top = at.place(step)
    style: Style = {"weight": "bold", "ha": "left"}
    page.write(left, top - 28, f"step {step + 1}", **style)
    below = top + HIGH * max(map(len, grown.steps[step])) + 11
    counted = size(grown.steps[step])
    if text_width(counted, SMALL) > at.pitch - 4:
        counted = counted.rpartition(" ")[2]
    page.note(left, below, counted, ha="left")
    tables = zip(grown.titles, grown.steps[step], grown.new[step])
    for title, table, new in tables:
        long = at.wide * table.shape[1]
        named = shortened(title, long + BESIDE, size=SIZE)
        page.note(left + long / 2, top - 10, named, size=SIZE)
        box = left, top, long, HIGH * len(table)
        page.cells(box, table, SCORES, (-grown.limit, grown.limit))
        for fresh, run in groupby(range(len(table)), new.__contains__):
            first, *others = run
            place = left, top + HIGH * first
            extent = long, HIGH * (1 + len(others))
            if fresh:
                page.frame((*place, *extent))
            else:
                page.add(Rectangle(place, *extent, **FADED))
        left += long + BESIDE

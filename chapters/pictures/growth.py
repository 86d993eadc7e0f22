"""Tables that grow from step to step, such as the keys that a cache keeps."""

import math
from collections.abc import Sequence
from itertools import groupby

import torch
from matplotlib.patches import Rectangle
from torch import Tensor

from pictures.canvas import WIDEST, Canvas, titles_of
from tformer_lite.drawing.surface.matrix import (
    check_matrix,
    labels_for,
    number,
)
from tformer_lite.drawing.surface.page import (
    SIZE,
    SMALL,
    Place,
    Style,
    shortened,
    text_width,
)
from tformer_lite.drawing.surface.palette import CENTRED, PAPER
from tformer_lite.drawing.surface.picture import Picture, styled

__all__ = ["growth"]

CELL, HIGH = (8, 13), 15  # a cell's width, at least and at most; its height
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
    counts = {len(steps) for steps in tables}
    if len(counts) != 1 or counts == {0}:
        raise ValueError(
            f"tables after {sorted(counts)} steps: give each table as often "
            "as the others, at least once."
        )
    grown = Growth(titles_of(titles, len(tables)), tables, rows)
    return draw_growth(grown).picture(grown.text())


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
            list(map(changed_rows, old, now))
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


def size_text(tables: list[Tensor]) -> str:
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


def changed_rows(before: Tensor, now: Tensor) -> list[int]:
    """List the rows that are not what they were."""
    same = min(len(before), len(now))
    other = (before[:same] - now[:same]).abs().amax(dim=-1) > 1e-5
    return [i for i, new in enumerate(other.tolist()) if new] + [
        *range(same, len(now))
    ]


@styled
def draw_growth(grown: Growth) -> Canvas:
    """Draw the words once, and beside them the tables after each step, as
    many as have room."""
    page, count, columns = Canvas(), len(grown.steps), sum(grown.columns)
    room = WIDEST - 10 - max(map(text_width, grown.words))
    beside = BESIDE * (len(grown.titles) - 1) + GAP
    fit = max(1, int(room // (columns * CELL[0] + beside)))
    band = math.ceil(count / math.ceil(count / fit))
    wide = min(CELL[1], (room / band - beside) / columns)
    top = 0
    for start in range(0, count, band):
        steps = range(start, min(count, start + band))
        most = max(len(table) for i in steps for table in grown.steps[i])
        for row, word in enumerate(grown.words[:most]):
            page.write(-8, top + HIGH * (row + 0.5), word, ha="right")
        for i in steps:
            left = (i - start) * (columns * wide + beside)
            draw_step(page, grown, i, (left, top), wide)
        top += HEAD + HIGH * most + FOOT
    return page


def draw_step(
    page: Canvas, grown: Growth, i: int, at: Place, wide: float
) -> None:
    """Draw the tables after a step: what is new framed, what was faded."""
    (left, top), step = at, grown.steps[i]
    page.write(left, top - 28, f"step {i + 1}", weight="bold", ha="left")
    below = top + HIGH * max(map(len, step)) + 11
    counted = size_text(step)
    if text_width(counted, SMALL) > wide * sum(grown.columns) + BESIDE + GAP:
        counted = counted.rpartition(" ")[2]
    page.note(left, below, counted, ha="left")
    for title, table, new in zip(grown.titles, step, grown.new[i]):
        long = wide * table.shape[1]
        named = shortened(title, long + BESIDE, size=SIZE)
        page.note(left + long / 2, top - 10, named, size=SIZE)
        box = left, top, long, HIGH * len(table)
        page.cells(box, table, CENTRED, (-grown.limit, grown.limit))
        for fresh, group in groupby(range(len(table)), new.__contains__):
            first, *others = group
            box = left, top + HIGH * first, long, HIGH * (1 + len(others))
            if fresh:
                page.frame(box)
            else:
                page.add(Rectangle(box[:2], *box[2:], **FADED))
        left += long + BESIDE

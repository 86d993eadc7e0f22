"""Tables that grow from step to step, such as the keys that a cache keeps."""

import math
from collections.abc import Sequence
from itertools import chain, groupby

import torch
from torch import Tensor

from pictures.canvas import WIDEST, Canvas, largest, titles_of
from tformer_lite.drawing.surface.matrix import (
    check_matrix,
    labels_for,
    number,
)
from tformer_lite.drawing.surface.page import (
    SIZE,
    Box,
    Style,
    ellipsize,
    text_width,
)
from tformer_lite.drawing.surface.palette import PAPER
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["growth"]

CELL, HIGH = (8, 13), 15  # a cell's width, at least and at most; its height
VEIL: Style = {"fc": PAPER[0], "ec": "none", "alpha": 0.6, "zorder": 3}
BESIDE, GAP, HEAD, FOOT = 5, 14, 40, 22  # pixels between tables and steps
Steps = list[list[Tensor]]  # after each step, the tables
NewRows = list[list[list[int]]]  # the rows that are new in them


def growth(
    *tables: Sequence[Tensor],
    rows: list[str] | None = None,
    titles: list[str] | None = None,
) -> Picture:
    """Draw tables as they were after each step: [(S, D), ...] -> a picture.

    Each argument is one table: what it was after the first step, after the
    second, and so on. NewRows that were not there a step before, or were other
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
    steps = [list(map(torch.as_tensor, step)) for step in zip(*tables)]
    titles = titles_of(titles, len(tables))
    for title, table in zip(titles, zip(*steps)):
        check_table(title, table)
    before = [[table[:0] for table in steps[0]], *steps]
    new = [list(map(changed_rows, *pair)) for pair in zip(before, steps)]
    words = labels_for(rows, max(map(len, chain(*steps))))
    page = draw_growth(titles, steps, new, words)
    return page.picture(growth_text(titles, steps, new, words))


def growth_text(
    titles: list[str], steps: Steps, new: NewRows, words: list[str]
) -> str:
    """Say how the tables grow, then the numbers of their new rows."""
    shapes = [
        f"step {i} {', '.join(str(tuple(table.shape)) for table in step)}"
        for i, step in enumerate(steps, 1)
    ]
    count = f"{len(steps)} step{'s' * (len(steps) > 1)}"
    say = f"{', '.join(titles)} grow{'s' * (len(titles) == 1)} over {count}: "
    lines = [
        f"step {i}, {title} of {words[row]}: "
        + " ".join(map(number, table[row].tolist()))
        for i, (step, fresh) in enumerate(zip(steps, new), 1)
        for title, table, rows in zip(titles, step, fresh)
        for row in rows
    ]
    return f"{say}after {'; '.join(shapes)}.\n\n" + "\n".join(lines)


def count_text(tables: list[Tensor]) -> str:
    """Count the numbers in tables: 3 × 2 × 4 = 24."""
    shapes = [tuple(each.shape) for each in tables]
    count = sum(math.prod(shape) for shape in shapes)
    if len(set(shapes)) > 1:
        return str(count)
    (n, d), times = shapes[0], f"{len(shapes)} × " * (len(shapes) > 1)
    return f"{n} × {times}{d} = {count}"


def check_table(title: str, steps: Sequence[Tensor]) -> None:
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
    return [*other.nonzero().flatten().tolist(), *range(same, len(now))]


@with_style
def draw_growth(
    titles: list[str], steps: Steps, new: NewRows, words: list[str]
) -> Canvas:
    """Draw the words once, and beside them the tables after each step, as
    many as have room."""
    page, columns = Canvas(), sum(table.shape[1] for table in steps[0])
    room = WIDEST - 10 - max(map(text_width, words))
    beside = BESIDE * (len(titles) - 1) + GAP
    fit = max(1, int(room // (columns * CELL[0] + beside)))
    band = math.ceil(len(steps) / math.ceil(len(steps) / fit))
    wide = min(CELL[1], (room / band - beside) / columns)
    top, limit = 0, largest(*chain(*steps))
    for start in range(0, len(steps), band):
        most = max(map(len, chain(*steps[start : start + band])))
        for row, word in enumerate(words[:most]):
            page.write(-8, top + HIGH * (row + 0.5), word, ha="right")
        for i, step in enumerate(steps[start : start + band]):
            left, n = i * (columns * wide + beside), start + i
            page.bold(left, top - 28, f"step {n + 1}", ha="left", size=SIZE)
            below = top + HIGH * max(map(len, step)) + 11
            page.note(left, below, count_text(step), ha="left")
            for title, table, rows in zip(titles, step, new[n]):
                box = left, top, wide * table.shape[1], HIGH * len(table)
                draw_table(page, title, table, rows, box, limit)
                left += box[2] + BESIDE
        top += HEAD + HIGH * most + FOOT
    return page


def draw_table(
    page: Canvas,
    title: str,
    table: Tensor,
    new: list[int],
    box: Box,
    limit: float,
) -> None:
    """Draw a table after a step: what is new framed, what was faded."""
    left, top, wide, _ = box
    named = ellipsize(title, wide + BESIDE, size=SIZE)
    page.note(left + wide / 2, top - 10, named, size=SIZE)
    page.scores(box, table, limit)
    for fresh, group in groupby(range(len(table)), new.__contains__):
        first, *others = group
        part = left, top + HIGH * first, wide, HIGH * (1 + len(others))
        if fresh:
            page.frame(part)
        else:
            page.rectangle(part, **VEIL)

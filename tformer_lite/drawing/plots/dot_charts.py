"""Dots for seeds: what a training gives, and how much of it is chance."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from matplotlib.figure import Figure
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.plots.charts import check_line, size_of
from tformer_lite.drawing.plots.line_page import Scale, across
from tformer_lite.drawing.surface.matrix import number, table, with_minus
from tformer_lite.drawing.surface.page import (
    NAME,
    NARROW,
    SMALL,
    WIDE,
    Page,
    Style,
    lines,
    text_width,
)
from tformer_lite.drawing.surface.palette import DARK, EDGE, LINES
from tformer_lite.drawing.surface.picture import Picture, styled

ROW, HEAD, BELOW, WORDS = 30, 22, 40, 14  # pixels: of a row, around all
DOT, NEAR = 6.5, 5  # how wide a dot is; what is nearer is stacked
Row = tuple[str, Tensor]


def seeds(
    *rows: Tensor, axis: str, titles: Sequence[str] | None = None
) -> Picture:
    """Draw what each seed gave as a dot, and their mean: (R), (R) -> picture.

    Each vector, of as many seeds as there are, has a row, named by its
    argument as you wrote it or by one of `titles`. `axis` says in words what
    the numbers are. Raises ValueError for anything but vectors.

    >>> seeds(torch.tensor([0.9, 1.0]), axis="exact match", titles=["wsd"])
    exact match: wsd (2,): mean 0.95, from 0.90 to ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or [f"row {i}" for i in range(len(rows))]
    if not rows or len(titles) != len(rows):
        raise ValueError(f"{len(rows)} vectors, {len(titles)} titles.")
    shown = []
    for title, row in zip(titles, rows):
        values = torch.as_tensor(row).detach().cpu()
        check_line(title, values, size_of(values))
        shown.append((title, values.double()))
    wide, narrow = (draw_seeds(shown, axis, w) for w in (WIDE, NARROW))
    return Picture(wide, text_of(shown, axis), DARK, narrow)


def text_of(rows: list[Row], axis: str) -> str:
    """Say what the dots show: a paragraph of words, then the numbers."""
    say = []
    for title, values in rows:
        mean, low, high = map(number, (values.mean(), *values.aminmax()))
        say.append(f"{title} ({len(values)},): mean {mean}, ")
        say[-1] += f"from {low} to {high}."
    longest = max(len(values) for _, values in rows)
    cells = [
        [title, *map(number, values), *[""] * (longest - len(values))]
        for title, values in rows
    ]
    return f"{axis}: {' '.join(say)}\n\n{table(axis, cells)}"


@dataclass(frozen=True)
class Plan:
    """Where rows of dots stand on a page so wide: the names at their left,
    the scale between, the means at their right."""

    rows: list[Row]
    width: float

    @cached_property
    def names(self) -> list[list[str]]:
        """The title of each row, in lines."""
        return [
            lines(title, 0.36 * self.width, NAME) for title, _ in self.rows
        ]

    @cached_property
    def means(self) -> list[str]:
        """The mean of each row, as it is written."""
        return [with_minus(number(values.mean())) for _, values in self.rows]

    @cached_property
    def left(self) -> float:
        """Where the scale begins."""
        return max(text_width(x, NAME) for n in self.names for x in n) + 24

    @cached_property
    def wide(self) -> float:
        """How wide the scale is."""
        texts = [*self.means, "mean"]
        right = max(text_width(text, weight="bold") for text in texts)
        return self.width - self.left - right - 24

    @cached_property
    def scale(self) -> Scale:
        """The scale that all rows share."""
        return across(
            torch.cat([values for _, values in self.rows]), self.wide
        )

    def place(self, value: float) -> float:
        """Tell where a value stands."""
        return self.left + self.wide * self.scale.share(value)


def piles(plan: Plan, i: int) -> list[int]:
    """Tell how many dots lie below each of a row, from the lowest up."""
    levels, bottom = list[int](), -math.inf
    for spot in map(plan.place, sorted(plan.rows[i][1].tolist())):
        near = spot - bottom < NEAR
        levels.append(levels[-1] + 1 if near else 0)
        bottom = bottom if near else spot
    return levels


def height(plan: Plan, i: int) -> float:
    """Give the height of a row."""
    pile = DOT * max(piles(plan, i)) + ROW - 6
    return max(ROW, WORDS * len(plan.names[i]) + 8, pile)


@styled
def draw_seeds(rows: list[Row], axis: str, width: float) -> Figure:
    """Draw a row of dots for each vector, on a page so wide."""
    plan = Plan(rows, width)
    low = HEAD + sum(height(plan, i) for i in range(len(rows)))
    page, y = Page(width, low + BELOW), float(HEAD)
    page.note(width, HEAD - 10, "mean", ha="right")
    for tick, text in zip(plan.scale.ticks, plan.scale.texts()):
        x = plan.place(tick)
        page.ax.plot([x, x], [HEAD, low], color=EDGE[0], lw=0.7, zorder=0)
        page.write(x, low + 11, text, size=SMALL)
    page.write(plan.left + plan.wide / 2, low + 28, axis)
    for i in range(len(rows)):
        y += height(plan, i)
        draw_row(page, plan, i, y - max(ROW, WORDS * len(plan.names[i])) / 2)
    return page.figure


def draw_row(page: Page, plan: Plan, i: int, y: float) -> None:
    """Draw the dots of a row, near ones above each other; its name, and its
    mean as a stroke and as a number."""
    (colour, _), *_ = LINES[i % len(LINES)]
    first = y - WORDS * (len(plan.names[i]) - 1) / 2
    name: Style = {"ha": "right", "color": colour, "size": NAME}
    for n, text in enumerate(plan.names[i]):
        page.write(plan.left - 20, first + WORDS * n, text, **name)
    bold: Style = {"ha": "right", "weight": "bold"}
    page.write(page.width, y, plan.means[i], **bold)
    values = plan.rows[i][1]
    spots = [plan.place(value) for value in sorted(values.tolist())]
    mean = plan.place(values.mean().item())
    page.ax.plot([mean, mean], [y - 9, y + 9], color=colour, lw=2)
    page.ax.plot([spots[0], spots[-1]], [y, y], color=colour, lw=0.8)
    dot: Style = {"marker": "o", "ms": DOT, "mew": 0, "alpha": 0.75}
    for spot, level in zip(spots, piles(plan, i)):
        page.ax.plot([spot], [y - DOT * level], color=colour, **dot)

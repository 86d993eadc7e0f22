"""Bars beside words: what is likely, and where the most of something is."""

import math
import sys
from collections.abc import Sequence

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.plots.charts import check_line
from tformer_lite.drawing.surface.headings import (
    HEADING,
    draw_heading,
    heading_height,
    heading_of,
)
from tformer_lite.drawing.surface.matrix import (
    labels_for,
    number,
    table,
    with_minus,
)
from tformer_lite.drawing.surface.page import (
    NAME,
    NARROW,
    SMALL,
    WIDE,
    Page,
    Place,
    lines,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    CENTRED,
    DARK,
    INK,
    LINE,
    MUTED,
)
from tformer_lite.drawing.surface.picture import Picture
from tformer_lite.rounding import first_largest

BLUE, _, ORANGE = zip(CENTRED.light, CENTRED.dark)
BAR, GAP = 14, 16  # of a bar, between panels
SHORT, LONG = 40, 320  # how long the longest bar is, at least and at most


def bars(
    *rows: Tensor,
    labels: Sequence[str],
    glosses: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
) -> Picture:
    """Draw vectors as bars beside words: (V), (V) -> a picture.

    Each vector has a panel, headed by its argument as you wrote it; `titles`
    replaces what you wrote, and what follows a line feed there is set small.
    All panels have one scale. `labels` says what each bar stands for, and
    `glosses` says it once more, such as a word's translation. Raises
    ValueError for anything but vectors as long as `labels`.

    >>> bars(torch.tensor([0.75, 0.25]), labels=["घर", "रुख"], titles=["p"])
    p (2,): 2 bars. p is largest for घर ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or [f"row {i}" for i in range(len(rows))]
    if not rows or len(titles) != len(rows):
        raise ValueError(f"{len(rows)} vectors, {len(titles)} titles.")
    values = [torch.as_tensor(row).detach().cpu() for row in rows]
    for title, row in zip(titles, values):
        check_line(title, row, values[0].numel())
    chart = Bars(list(titles), values, labels, glosses)
    wide, narrow = (draw(chart, width) for width in (WIDE, NARROW))
    return Picture(wide, chart.text(), DARK | dict([BLUE, ORANGE]), narrow)


class Bars:
    """Vectors to be drawn as bars: their titles, their values, what each is
    written as, and the label and the gloss of each of their places."""

    def __init__(
        self,
        titles: list[str],
        values: list[Tensor],
        labels: Sequence[str],
        glosses: Sequence[str] | None,
    ):
        size = len(values[0])
        self.titles, self.values = titles, values
        self.labels = labels_for(list(labels), size)
        self.glosses = labels_for(list(glosses or [""] * size), size)
        self.written = [list(map(written, row.tolist())) for row in values]
        self.low = min(0.0, *(row.min().item() for row in values))
        self.high = max(0.0, *(row.max().item() for row in values))

    def text(self) -> str:
        """Say what the bars show: a paragraph of words, then the numbers."""
        titles, size = self.titles, len(self.labels)
        heads = (", ".join(title.split("\n")) for title in titles)
        shape = f"({size},)"
        say = ", ".join(f"{head} {shape}" for head in heads)
        say += f": {size} bar{'s' * (size > 1)}."
        names = [title.split("\n")[0] for title in titles]
        for name, row, texts in zip(names, self.values, self.written):
            most = first_largest(row)
            what = ", ".join(self.names(most))
            say += f" {name} is largest for {what} ({texts[most]})."
        rows = [["" for _ in self.names(0)] + names]
        for i, cells in enumerate(zip(*self.written)):
            rows.append([*self.names(i), *cells])
        return f"{say}\n\n{table('bars', rows)}"

    def names(self, i: int) -> list[str]:
        """Give the label of a place, and its gloss, if there are any."""
        both = [self.labels[i], self.glosses[i]]
        return both if any(self.glosses) else both[:1]


def written(value: float) -> str:
    """Write a whole number with its thousands apart, others with decimals."""
    return f"{value:,}" if isinstance(value, int) else number(value)


class Layout:
    """Where bars stand on a page so wide: how many panels stand side by
    side, how wide each is, how long a bar may be, and how high all is."""

    def __init__(self, chart: Bars, width: float):
        most = 0.36 * width
        self.names = [lines(name, most, NAME) for name in chart.labels]
        self.glosses = [lines(gloss, most, SMALL) for gloss in chart.glosses]
        label, gloss = widest(self.names, NAME), widest(self.glosses, SMALL)
        texts = [with_minus(text) for row in chart.written for text in row]
        self.room = max(map(text_width, texts)) + 6
        beside, below = label + gloss + 8, max(label, gloss)
        count = len(chart.titles)
        fits = [self.fit(width - start, count) for start in (beside, below)]
        self.beside = gloss > 0 and beside <= most and fits[0] == fits[1]
        self.labels_end = label if self.beside else below
        self.start = (beside if self.beside else below) + 8
        wide, self.side_by_side = width - self.start, fits[not self.beside]
        self.slot = (wide + GAP) / self.side_by_side - GAP
        self.long = min(LONG, self.slot - self.room)
        self.heads = [heading_of(title, self.slot) for title in chart.titles]
        pairs = zip(self.names, self.glosses)
        self.steps = [self.step(*pair) for pair in pairs]

    def fit(self, wide: float, count: int) -> int:
        """Tell how many of the panels stand side by side."""
        fit = max(1, int((wide - 8 + GAP) // (SHORT + self.room + GAP)))
        return math.ceil(count / math.ceil(count / fit))

    def step(self, name: list[str], gloss: list[str]) -> float:
        """Give the height of a bar with its words."""
        sizes = len(name), len(gloss) if any(gloss) else 0
        count = max(sizes) if self.beside else sum(sizes)
        return HEADING * count + 8

    def rows(self) -> list[range]:
        """Give the panels that stand side by side, row by row."""
        panels, each = range(len(self.heads)), self.side_by_side
        return [panels[i : i + each] for i in panels[::each]]

    def head(self, panels: range) -> float:
        """Give the height of the headings of panels side by side."""
        return heading_height([self.heads[i] for i in panels])


def widest(texts: list[list[str]], size: float) -> float:
    """Give the width of the widest line."""
    return max(text_width(line, size) for text in texts for line in text)


def draw(chart: Bars, width: float) -> Figure:
    """Draw bars for a page so wide."""
    plan = Layout(chart, width)
    rows, bodies = plan.rows(), sum(plan.steps) + GAP
    high = sum(plan.head(row) + bodies for row in rows) - GAP
    page, top = Page(width, high + 2), 0.0
    for row in rows:
        top += plan.head(row)
        draw_words(page, plan, top)
        for place, i in enumerate(row):
            left = plan.start + place * (plan.slot + GAP)
            draw_heading(page, left, top, plan.heads[i])
            draw_panel(page, (left, top), plan, chart, i)
        top += bodies
    return page.figure


def draw_words(page: Page, plan: Layout, top: float) -> None:
    """Write labels right-aligned, each gloss beside or below its own."""
    for name, gloss, step in zip(plan.names, plan.glosses, plan.steps):
        middle = top + step / 2
        below = [] if plan.beside or not any(gloss) else gloss
        y = middle - HEADING * (len(name) + len(below) - 1) / 2
        for line in name:
            page.write(plan.labels_end, y, line, ha="right", size=NAME)
            y += HEADING
        for line in below:
            page.note(plan.labels_end, y, line, ha="right")
            y += HEADING
        y = middle - HEADING * (len(gloss) - 1) / 2
        for line in gloss if plan.beside else ():
            page.note(plan.labels_end + 8, y, line, ha="left")
            y += HEADING
        top += step


def draw_panel(
    page: Page, corner: Place, plan: Layout, chart: Bars, i: int
) -> None:
    """Draw the bars of a vector, each with its number at its end."""
    left, top = corner
    scale = plan.long / (chart.high - chart.low or 1)
    zero = left - chart.low * scale
    line = Rectangle((zero - 0.5, top), 1, sum(plan.steps), fc=LINE[0])
    page.add(line)
    values = zip(chart.values[i].tolist(), chart.written[i], plan.steps)
    for value, text, step in values:
        start, end = sorted((zero, zero + value * scale))
        colour = (ORANGE if value > 0 else BLUE)[0]
        place = start, top + step / 2 - BAR / 2
        page.add(Rectangle(place, end - start, BAR, fc=colour))
        none = text.strip("-0.") == ""
        style = {"ha": "left", "color": (MUTED if none else INK)[0]}
        page.write(
            max(end, zero) + 4, top + step / 2, with_minus(text), **style
        )
        top += step

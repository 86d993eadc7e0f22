"""How lines are drawn: scales, quiet grids, names at their ends."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Locator, LogLocator, MaxNLocator
from torch import Tensor

from tformer_lite.drawing.plots.charts import Chart, Line, Run
from tformer_lite.drawing.surface.headings import (
    draw_heading,
    heading_height,
    heading_of,
)
from tformer_lite.drawing.surface.matrix import with_minus
from tformer_lite.drawing.surface.page import (
    SMALL,
    Page,
    Style,
    lines,
    text_width,
)
from tformer_lite.drawing.surface.palette import AXES, EDGE, INK, LINES
from tformer_lite.drawing.surface.picture import styled

HIGH, SLOT, MOST, GAP = 170, 280, 560, 28  # a panel's height and width
WORDS = 13  # a line of a name
BELOW = 40  # the numbers along the axis, and its name
Look = tuple[tuple[str, str], Any, str]  # colours, dash, marker
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """An axis of values from `low` to `high`, and the places that it names."""

    low: float
    high: float
    log: bool
    ticks: list[float]

    def share(self, value: float) -> float:
        """Tell how far up a value stands: 0 at the lowest, 1 at the top."""
        low, high, value = map(self.size, (self.low, self.high, value))
        return (value - low) / (high - low)

    def size(self, value: float) -> float:
        """Give a value's size on the scale."""
        return math.log10(value) if self.log else value

    def texts(self) -> list[str]:
        """Write the places, with as many decimals as all of them need."""
        if self.log:
            return list(map(power, self.ticks))
        steps = [b - a for a, b in itertools.pairwise(self.ticks)]
        finest = min(steps, default=1)
        places = max(0, -math.floor(math.log10(finest) + 1e-9))
        places += bool(places) and abs(finest * 10**places % 1) > 1e-6
        return [with_minus(f"{x + 0.0:,.{places}f}") for x in self.ticks]


def power(value: float) -> str:
    """Write a number of a logarithmic scale: a power of ten where long."""
    if 1e-3 <= value < 1e6:
        return f"{value:,.10g}"
    digit, exponent = f"{value:.0e}".split("e")
    shown = "10" + str(int(exponent)).translate(SUPERSCRIPT)
    return shown if digit == "1" else f"{digit}·{shown}"


def scale_of(values: Tensor, count: int, log: bool, pad: float) -> Scale:
    """Find about so many round numbers around values; `pad` leaves room."""
    low, high = values.min().item(), values.max().item()
    if log:
        pad = (high / low) ** pad if high > low else 2
        low, high = low / pad, high * pad
        subs = (1.0,) if high / low > 30 else (1.0, 2.0, 5.0)
        locator: Locator = LogLocator(subs=subs, numticks=count + 1)
    else:
        room = (high - low) * pad if high > low else 0.5
        low, high = low - room, high + room
        whole = bool((values == values.round()).all())
        ones = {"integer": whole, "min_n_ticks": 1}
        locator = MaxNLocator(count, steps=[1, 2, 5, 10], **ones)
    found = [x for x in locator.tick_values(low, high) if low <= x <= high]
    return Scale(low, high, log, found)


def across(places: Tensor, wide: float) -> Scale:
    """Find as many numbers for an axis as have room side by side."""
    for count in range(int(wide / 45) + 1, 0, -1):
        scale = scale_of(places, count, False, 0)
        spots = [wide * scale.share(tick) for tick in scale.ticks]
        room = max(map(text_width, [*scale.texts(), ""])) + 6
        if all(b - a >= room for a, b in itertools.pairwise(spots)):
            return scale
    return replace(scale, ticks=scale.ticks[:1])


class Panel:
    """A chart laid out at a place: its scales, the box of its lines, their
    names, and its heading."""

    def __init__(self, chart: Chart, run: Run, left: float, wide: float):
        self.chart, self.run, self.left = chart, run, left
        values = torch.cat([line.values for line in chart.lines])
        self.up = scale_of(values, 5, chart.log, 0.04)
        most = 0.28 * wide
        self.names = [lines(x.title, most) for x in chart.lines]
        beside = max(text_width(x) for name in self.names for x in name)
        room = max(map(text_width, [*self.up.texts(), ""])) + 8
        places = torch.tensor(run.places, dtype=torch.double)
        self.across = across(places, wide - room - beside - 16)
        half = max(map(text_width, self.across.texts())) / 2
        self.start = left + max(room, half)
        self.wide = left + wide - self.start - max(beside + 16, half)
        title, _, note = chart.head.partition("\n")
        notes = ", ".join(filter(None, [note, "log scale" * chart.log]))
        head = f"{title}\n{notes}"
        self.heading = heading_of(head, wide)
        self.gap = WORDS * max(map(len, self.names)) + 1
        self.high = max(HIGH, self.gap * len(self.names))

    def looks(self) -> list[Look]:
        """Give each line its colour, dash and marker."""
        return [LINES[line.look] for line in self.chart.lines]


def draw_panel(panel: Panel, page: Page, top: float) -> None:
    """Draw all of it, its lines from `top` down."""
    draw_heading(page, panel.left, top, panel.heading)
    ax = page.axes((panel.start, top, panel.wide, panel.high))
    ax.set(yscale="log" if panel.chart.log else "linear")
    ax.set(ylim=(panel.up.low, panel.up.high))
    ax.set(xlim=(panel.across.low, panel.across.high))
    ax.hlines(panel.up.ticks, *ax.get_xlim(), colors=EDGE[0], lw=0.7)
    draw_numbers(panel, page, top)
    for line, look in zip(panel.chart.lines, panel.looks()):
        draw_line(ax, line, panel.run, look)
    draw_names(panel, page, top)


def draw_numbers(panel: Panel, page: Page, top: float) -> None:
    """Write the numbers of both axes, and what the lines run along."""
    style: Style = {"ha": "right", "size": SMALL}
    for tick, text in zip(panel.up.ticks, panel.up.texts()):
        y = top + panel.high * (1 - panel.up.share(tick))
        page.write(panel.start - 7, y, text, **style)
    low = top + panel.high
    for tick, text in zip(panel.across.ticks, panel.across.texts()):
        x = panel.start + panel.wide * panel.across.share(tick)
        page.write(x, low + 11, text, size=SMALL)
    _, (colour, _) = AXES.get(panel.run.axis, ("", INK))
    middle = panel.start + panel.wide / 2
    page.write(middle, low + 28, panel.run.name, color=colour)


def draw_names(panel: Panel, page: Page, top: float) -> None:
    """Write each line's name beside its end, and join the two."""
    ends = [
        panel.high * panel.up.share(line.mean[-1].item())
        for line in panel.chart.lines
    ]
    right = panel.start + panel.wide
    places = apart(ends, panel.gap, panel.high - panel.gap / 2 + 7)
    for name, end, place, (pair, *_) in zip(
        panel.names, ends, places, panel.looks()
    ):
        y = top + panel.high - place
        path = [(right + 3, top + panel.high - end), (right + 11, y)]
        page.ax.plot(*zip(*path), color=pair[0], lw=0.7)
        y -= WORDS * (len(name) - 1) / 2
        for text in name:
            page.write(right + 14, y, text, ha="left", color=pair[0])
            y += WORDS


@styled
def draw_line(ax: Axes, line: Line, run: Run, look: Look) -> None:
    """Draw a line, marked every so often; of several seeds, dots, too."""
    (colour, _), dash, marker = look
    (drawn,) = ax.plot(run.places, line.mean.tolist(), color=colour, lw=1.5)
    if len(line.values) == 1:
        style: Style = {"marker": marker, "ms": 4, "markevery": run.step}
        drawn.set(linestyle=dash, clip_on=False, **style)
        return
    for row in line.values.tolist():
        dots = ax.scatter(run.places, row, s=7, color=colour, alpha=0.4)
        dots.set(linewidths=0, clip_on=False)


def draw_charts(charts: list[Chart], run: Run, width: float) -> Figure:
    """Draw panels on a page so wide: side by side where they have room."""
    fit = max(1, int((width + GAP) // (SLOT + GAP)))
    each = math.ceil(len(charts) / math.ceil(len(charts) / fit))
    wide = (width + GAP) / each - GAP
    panels = [
        Panel(chart, run, i % each * (wide + GAP), min(wide, MOST))
        for i, chart in enumerate(charts)
    ]
    rows = [panels[i : i + each] for i in range(0, len(panels), each)]
    tops = [heading_height([p.heading for p in row]) for row in rows]
    heights = [max(p.high for p in row) + BELOW for row in rows]
    page, y = Page(width, sum(tops) + sum(heights)), 0.0
    for row, top, high in zip(rows, tops, heights):
        for panel in row:
            draw_panel(panel, page, y + top)
        y += top + high
    return page.figure


def apart(ends: list[float], gap: float, top: float) -> list[float]:
    """Move heights, in their order, `gap` apart, and none above `top`."""
    order = sorted(range(len(ends)), key=ends.__getitem__)
    places = list(ends)
    for lower, upper in itertools.pairwise(order):
        places[upper] = max(places[upper], places[lower] + gap)
    for upper in reversed(order):
        places[upper] = min(places[upper], top)
        top = places[upper] - gap
    return places

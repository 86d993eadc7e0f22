"""Line drawings of the vectors inside a Transformer."""

import itertools
import math
import sys
import textwrap
from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from tformer_lite.drawing.matrix import check_known, number, table
from tformer_lite.drawing.palette import AXES, DARK, EDGE, INK, LINES
from tformer_lite.drawing.picture import Picture, styled
from tformer_lite.rounding import first_largest
from tformer_lite.tracing.source.expressions import argument_texts

# Inches: of the page, of what stands left of the lines, of their height, of
# a line of words and of one letter.
WIDTH, LEFT, HEIGHT, WORDS, LETTER = 7.1, 0.6, 2.4, 0.2, 0.09
WRAP = 24  # letters after which a name goes on below
ROWS = 16  # places whose numbers the text face gives, at most
RUNS = AXES | {"step": ("batches learned from", INK)}


def curves(
    *rows: Tensor,
    axis: str = "T",
    titles: list[str] | None = None,
    places: Sequence[int] | None = None,
) -> Picture:
    """Draw vectors as lines over one axis: (T), (T) -> a picture.

    The figure is headed by its arguments as you wrote them and their shape;
    `titles` replaces what you wrote. Each line has its name at its end, and
    a dash, a marker and a colour of its own. `axis` is the letter of the
    axis that the vectors run along, or "step" for what training noted, and
    `places` are the numbers along it (0, 1, 2, ...). Raises ValueError for
    anything but equally long vectors, and for too many to tell apart.

    >>> curves(torch.arange(3.0), titles=["rising"])
    rising (3,): 1 line over T (position that asks), 0 to 2. ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or [f"row {i}" for i in range(len(rows))]
    if not 0 < len(rows) <= len(LINES) or len(titles) != len(rows):
        raise ValueError(
            f"{len(rows)} vectors, {len(titles)} titles: draw 1 to "
            f"{len(LINES)} vectors, each with its title."
        )
    values = [torch.as_tensor(row).detach().cpu() for row in rows]
    for title, value in zip(titles, values):
        check_line(title, value, values[0].numel())
    values = [value.double() for value in values]
    places = list(range(len(values[0])) if places is None else places)
    if len(places) != len(values[0]):
        raise ValueError(f"{len(places)} places, {len(values[0])} numbers.")
    check_known("axis", axis, RUNS)
    chart = Chart(axis, titles, torch.stack(values), places)
    return Picture(draw_chart(chart), chart_text(chart), DARK)


def check_line(title: str, value: Tensor, size: int) -> None:
    """Raise ValueError for what is no line of `size` numbers."""
    if value.ndim != 1 or not len(value):
        raise ValueError(
            f"{title} has shape {tuple(value.shape)}, and a chart shows "
            "vectors: choose one, such as table[:, 0]."
        )
    if len(value) != size:
        raise ValueError(
            f"{title} has {len(value)} numbers, the first vector {size}: "
            "those in one figure are equally long."
        )
    if value.is_complex():
        raise ValueError(
            f"{title} is {value.dtype}, and a chart shows real numbers: "
            "choose .real, .imag or .abs()."
        )
    if not value.double().isfinite().all():
        raise ValueError(f"{title} is not finite everywhere: fill it first.")


class Chart:
    """Vectors along one axis: a row of values each; titles, a heading with
    the shape that they share, places, and how many one of them stands for."""

    def __init__(
        self, letter: str, titles: list[str], values: Tensor, places: list[int]
    ):
        self.letter, self.titles = letter, titles
        self.values, self.places = values, places
        self.heading = f"{', '.join(titles)} ({len(places)},)"
        self.step = math.ceil(len(places) / ROWS)


def chart_text(chart: Chart) -> str:
    """Say what the lines show: a paragraph of words, then the numbers."""
    letter, words, at = chart.letter, RUNS[chart.letter][0], chart.places
    count = len(chart.titles)
    lines = f"{count} line{'s' * (count > 1)} over {letter} ({words})"
    say = [f"{chart.heading}: {lines}, {at[0]} to {at[-1]}."]
    for title, row in zip(chart.titles, chart.values):
        low, high = first_largest(-row), first_largest(row)
        first, last, least, most = (number(row[i]) for i in (0, -1, low, high))
        say.append(
            f"{title} runs from {first} to {last}, is lowest at {at[low]} "
            f"({least}) and highest at {at[high]} ({most})."
        )
    rows = [[f"{letter}\\line", *chart.titles]]
    for place, values in zip(at[:: chart.step], chart.values.T[:: chart.step]):
        rows.append([str(place), *map(number, values)])
    return " ".join(say) + "\n\n" + table(chart.heading, rows)


@styled
def draw_chart(chart: Chart) -> Figure:
    """Draw lines, with the heading above and the names beside them."""
    names = [textwrap.wrap(title, WRAP) or [""] for title in chart.titles]
    beside = max(len(line) for name in names for line in name) * LETTER + 0.3
    head = textwrap.wrap(chart.heading, int((WIDTH - LEFT) / LETTER))
    wide = min(WIDTH - LEFT - beside, 4.8)
    size = LEFT + wide + beside, 0.5 + HEIGHT + 0.1 + WORDS * len(head)
    figure = Figure(figsize=size)
    box = LEFT / size[0], 0.5 / size[1], wide / size[0], HEIGHT / size[1]
    ax = figure.add_axes(box)
    draw_lines(chart, ax)
    draw_names(chart, ax, names)
    ax.set_title("\n".join(head), loc="left", color=INK[0], size=11)
    return figure


def draw_lines(chart: Chart, ax: Axes) -> None:
    """Draw the axes, a quiet grid, and each line, marked every so often."""
    ax.set_axisbelow(True)
    ax.grid(axis="y", color=EDGE[0], linewidth=0.7)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelcolor=INK[0])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    words, colours = RUNS[chart.letter]
    ax.set_xlabel(f"{chart.letter}: {words}", color=colours[0])
    for row, (pair, dash, marker) in zip(chart.values, LINES):
        (line,) = ax.plot(chart.places, row.tolist(), color=pair[0])
        line.set(linestyle=dash, marker=marker, markersize=4)
        line.set_markevery(chart.step)


def draw_names(chart: Chart, ax: Axes, names: list[list[str]]) -> None:
    """Write each line's name beside its end, and join the two."""
    low, high = ax.get_ylim()
    gap = max(map(len, names)) * WORDS * (high - low) / HEIGHT
    ends = chart.values[:, -1].tolist()
    places = apart(ends, gap, high)
    leader = {"arrowstyle": "-", "linewidth": 0.7, "relpos": (0, 0.5)}
    beside: dict = {"textcoords": ax.get_yaxis_transform(), "va": "center"}
    for name, end, place, (pair, *_) in zip(names, ends, places, LINES):
        beside |= {"color": pair[0], "arrowprops": leader | {"color": pair[0]}}
        at = chart.places[-1], end
        ax.annotate("\n".join(name), at, (1.04, place), **beside)


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

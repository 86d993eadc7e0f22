"""Charts of the vectors inside a Transformer: bars, dots and lines."""

import ast
import itertools
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface import palette
from tformer_lite.drawing.surface.matrix import (
    check_axis,
    labels_for,
    number,
    table,
    with_minus,
)
from tformer_lite.drawing.surface.page import (
    NAME,
    PANEL,
    SIZE,
    Style,
    lines,
    text_width,
)
from tformer_lite.drawing.surface.picture import Picture, with_style
from tformer_lite.rounding import first_largest

BLUE, _, ORANGE = zip(palette.AROUND_ZERO.light, palette.AROUND_ZERO.dark)
HEAD, BAR, DOTS, HIGH = 15, 22, 30, 170  # heights: lines of a heading, rows
SHORTEST = 40  # how long the longest bar is, at least
TEXT_ROWS = 16  # places whose numbers the text face of lines gives, at most
RUNS = {letter: words for letter, (words, _) in palette.AXES.items()}
RUNS["step"] = "batches learned from"
FEW: Style = {"steps": [1, 2, 5, 10], "min_n_ticks": 1}  # round numbers
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def bars(
    *rows: Tensor,
    labels: Sequence[str],
    glosses: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    one_scale: bool = True,
) -> Picture:
    """Draw vectors as bars beside words: (V), (V) -> a picture.

    Each vector has a panel, headed by its argument as you wrote it; `titles`
    replaces what you wrote, and what follows a line feed there is set small.
    All panels have `one_scale`, or each its own. `labels` says what each bar
    stands for, and `glosses` says it once more, such as a word's translation.
    Raises ValueError for anything but vectors as long as `labels`.

    >>> bars(torch.tensor([0.75, 0.25]), labels=["घर", "रुख"], titles=["p"])
    p (2,): 2 bars. p is largest for घर ...
    """
    titles = titles_of(rows, titles, argument_texts(sys._getframe(1)))
    size = size_of(rows[0])
    values = [vector_of(x, row, size) for x, row in zip(titles, rows)]
    words = labels_for(list(labels), size)
    said = labels_for(list(glosses or [""] * size), size)
    chart = Bars(titles, values, words, said, one_scale)
    return Picture(draw_bars(chart), bars_text(chart), palette.DARK)


@dataclass(frozen=True)
class Bars:
    """Vectors to be drawn as bars: their titles, their values, and the label
    and the gloss of each of their places."""

    titles: Sequence[str]
    values: Sequence[Tensor]
    labels: Sequence[str]
    glosses: Sequence[str]
    one_scale: bool = True

    def texts(self, i: int) -> list[str]:
        """Write the values of a vector: whole numbers without decimals."""
        values = self.values[i].tolist()
        return [f"{x:,}" if isinstance(x, int) else number(x) for x in values]

    def words(self, i: int) -> list[str]:
        """Give the label of a place, and its gloss, if there are any."""
        both = [self.labels[i], self.glosses[i]]
        return both if any(self.glosses) else both[:1]


def bars_text(chart: Bars) -> str:
    """Say what bars show: a paragraph of words, then the numbers."""
    size = len(chart.labels)
    heads = (", ".join(title.split("\n")) for title in chart.titles)
    say = ", ".join(f"{head} ({size},)" for head in heads)
    say += f": {size} bar{'s' * (size > 1)}."
    names = [title.split("\n")[0] for title in chart.titles]
    columns = [chart.texts(i) for i in range(len(names))]
    for name, row, texts in zip(names, chart.values, columns):
        most = first_largest(row)
        what = ", ".join(chart.words(most))
        say += f" {name} is largest for {what} ({texts[most]})."
    rows = [["" for _ in chart.words(0)] + names]
    rows += [[*chart.words(i), *x] for i, x in enumerate(zip(*columns))]
    return f"{say}\n\n{table('bars', rows)}"


@with_style
def draw_bars(chart: Bars) -> list[Figure]:
    """Draw vectors side by side, as many as have room beside the words."""
    names = ["\n".join(lines(x, 0.34 * PANEL, NAME)) for x in chart.labels]
    glosses = ["\n".join(lines(x, 0.24 * PANEL)) for x in chart.glosses]
    gloss, count = widest(glosses, SIZE), len(chart.values)
    room = PANEL - widest(names, NAME) - gloss - 20
    digits = max(widest(chart.texts(i), SIZE) for i in range(count)) + 10
    fit = max(1, int(room // (SHORTEST + digits + 8)))
    each = math.ceil(count / math.ceil(count / fit))
    wide = room / each - 8
    heads = [heading_lines(title, wide) for title in chart.titles]
    step = BAR + 14 * max(text.count("\n") for text in names + glosses)
    high = HEAD * most_lines(heads) + 10 + step * len(names)
    figures, panels = list[Figure](), range(count)
    for some in (panels[i : i + each] for i in panels[::each]):
        figure, axes = new_axes(PANEL, high, len(some))
        for ax, i in zip(axes, some):
            draw_vector(ax, chart, i)
            draw_heading(ax, heads[i], most_lines(heads))
            shown = chart.values if chart.one_scale else [chart.values[i]]
            low, top = torch.cat([torch.zeros(1), *shown]).aminmax()
            beyond = (top - low or 1) * digits / (wide - digits)
            ax.set(xlim=(low.item(), (top + beyond).item()), xticks=[])
        draw_words(axes[0].yaxis, names, glosses, gloss)
        figures.append(figure)
    return figures


def draw_vector(ax: Axes, chart: Bars, i: int) -> None:
    """Draw the bars of a vector, each with its number at its end."""
    import seaborn as sns  # slow: imported when something is to be drawn

    values = chart.values[i].tolist()
    colours = [(ORANGE if value > 0 else BLUE)[0] for value in values]
    places = range(len(values))
    look: Style = {"palette": colours, "saturation": 1, "legend": False}
    look |= {"errorbar": None, "hue": places, "orient": "h", "width": 0.64}
    sns.barplot(x=values, y=places, ax=ax, **look)
    ax.axvline(0, color=palette.LINE[0], lw=1)
    for y, (value, text) in enumerate(zip(values, chart.texts(i))):
        none = text.strip("-0.") == ""
        style: Style = {"color": (palette.GREY if none else palette.INK)[0]}
        place = (max(value, 0), y), (4, 0), "data", "offset points"
        end = ax.annotate(with_minus(text), *place, va="center", **style)
        end.set_in_layout(False)


def draw_words(
    axis: Axis, names: list[str], glosses: list[str], room: float
) -> None:
    """Write labels, and between each and its bar its gloss."""
    axis.remove_overlapping_locs = False  # a gloss is a minor tick
    axis.set_ticks(range(len(names)), names)
    axis.set_ticks(range(len(names)), glosses, minor=True)
    axis.set_tick_params(labelsize=NAME, pad=room + (12 if room else 6))
    small: Style = {"labelcolor": palette.GREY[0], "pad": 6}
    axis.set_tick_params(which="minor", **small)


def seeds(
    *rows: Tensor, axis: str, titles: Sequence[str] | None = None
) -> Picture:
    """Draw what each seed gave as a dot, and their mean: (R), (R) -> picture.

    Each vector, of as many seeds as there are, has a row, named by its
    argument as you wrote it or by one of `titles`; rows whose names are alike
    up to a comma have one colour. `axis` says in words what the numbers are.
    Raises ValueError for anything but vectors.

    >>> seeds(torch.tensor([0.9, 1.0]), axis="exact match", titles=["wsd"])
    exact match: wsd (2,): mean 0.95, from 0.90 to ...
    """
    titles = titles_of(rows, titles, argument_texts(sys._getframe(1)))
    named = zip(titles, rows)
    values = [vector_of(x, row, size_of(row)).double() for x, row in named]
    figure = draw_seeds(titles, values, axis)
    return Picture(figure, seeds_text(titles, values, axis), palette.DARK)


def seeds_text(
    titles: Sequence[str], rows: Sequence[Tensor], axis: str
) -> str:
    """Say what the dots show: a paragraph of words, then the numbers."""
    say, cells = [], []
    longest = max(map(len, rows))
    for title, values in zip(titles, rows):
        mean, low, high = map(number, (values.mean(), *values.aminmax()))
        say.append(f"{title} ({len(values)},): mean {mean}, ")
        say[-1] += f"from {low} to {high}."
        blank = [""] * (longest - len(values))
        cells.append([title, *map(number, values), *blank])
    return f"{axis}: {' '.join(say)}\n\n{table(axis, cells)}"


@with_style
def draw_seeds(
    titles: Sequence[str], rows: Sequence[Tensor], axis: str
) -> Figure:
    """Draw a row of dots for each vector; its mean as a stroke and as a
    number."""
    names = [lines(title, 0.34 * PANEL, NAME) for title in titles]
    pile, words = largest_pile(rows), max(map(len, names))
    step = max(DOTS, 15 * words + 6, min(9 * pile, 90))
    figure, (ax,) = new_axes(PANEL, 60 + step * len(rows))
    kinds = list(dict.fromkeys(x.split(",")[0] for x in titles))
    looks = [kinds.index(x.split(",")[0]) % len(palette.LINES) for x in titles]
    alone = len(kinds) == len(rows)
    colours = [palette.LINES[0 if alone else i][0][0] for i in looks]
    right: Style = {"transform": ax.get_yaxis_transform(), "va": "center"}
    for i, (row, colour) in enumerate(zip(rows, colours)):
        ax.hlines(i, row.min(), row.max(), color=colour, lw=0.8)
        ax.vlines(row.mean(), i - 0.3, i + 0.3, color=colour, lw=2)
        text = with_minus(number(row.mean())).removesuffix(".00")
        ax.text(1.04, i, text, weight="bold", **right)
    draw_dots(ax, rows, colours, min(6.5, 72 / pile))
    ax.set_yticks(range(len(rows)), map("\n".join, names), size=NAME)
    for label, colour in zip(ax.get_yticklabels(), colours):
        label.set_color(colour)
    ax.set(xlabel=axis, ylim=(len(rows) - 0.5, -0.5))
    ax.text(1.04, -0.7, "mean", color=palette.GREY[0], **right)
    ax.grid(axis="x")
    return figure


def draw_dots(
    ax: Axes, rows: Sequence[Tensor], colours: list[str], size: float
) -> None:
    """Draw dots so large, near ones above each other; from 0, if not far."""
    import seaborn as sns  # slow: imported when something is to be drawn

    dots = torch.cat(list(rows)).tolist()
    if 0 <= min(dots) < max(dots) / 2:
        ax.axvline(0, color=palette.LINE[0], lw=0.8, zorder=0)
    places = [i for i, row in enumerate(rows) for _ in row]
    look: Style = {"palette": colours, "hue": places, "legend": False}
    look |= {"size": size, "alpha": 0.75, "warn_thresh": 1}
    sns.swarmplot(x=dots, y=places, orient="h", ax=ax, **look)
    draw_ticks(ax.xaxis, dots)


def largest_pile(rows: Sequence[Tensor]) -> int:
    """Count the dots of a row that would lie at one place, at most."""
    dots = torch.cat(list(rows))
    near = (dots.max() - dots.min()).item() / 40 or 1
    places = [(row / near).round().tolist() for row in rows]
    return max(Counter(row).most_common(1)[0][1] for row in places)


def curves(
    *rows: Any,
    axis: str = "T",
    titles: Sequence[str] | None = None,
    places: Sequence[float] | None = None,
    log: bool | Sequence[bool] = False,
    seeds: bool = False,
    heads: Sequence[str] | None = None,
) -> Picture:
    """Draw vectors as lines over one axis: (T), (T) -> a picture.

    Each line has its name at its end, its argument as you wrote it or one of
    `titles`; lines of one name look alike. A list of vectors is a panel of
    its own. `heads` are the headings of panels: what follows a line feed is
    set small. `axis` is what the vectors run along: a letter of the book's,
    "step" for what training noted, or a plain word; `places` are the numbers
    along it (0, 1, 2, ...). `log` asks for a logarithmic scale, in all panels
    or in each. With `seeds`, a line is the mean of a matrix (seeds, T), whose
    numbers are dots. Raises ValueError for what cannot be drawn so.

    >>> curves(torch.arange(3.0), titles=["rising"])
    rising (3,): 1 line over T (target position), 0 to 2. ...
    """
    groups, texts = split_panels(rows, argument_texts(sys._getframe(1)))
    titles = list(titles or texts)
    count, kinds = sum(map(len, groups)), list(dict.fromkeys(titles))
    if not 0 < len(kinds) <= len(palette.LINES) or len(titles) != count:
        raise ValueError(
            f"{count} vectors, {len(titles)} titles: draw 1 to "
            f"{len(palette.LINES)} vectors, each with its title."
        )
    size, names = size_of(groups[0][0]), iter(titles)
    rows_of_lines = [
        [
            Line(name, values_of(name, row, seeds, size), kinds.index(name))
            for row, name in zip(group, names)
        ]
        for group in groups
    ]
    at = places_along(axis, places, size)
    logs = [log] * len(groups) if isinstance(log, bool) else log
    panels = zip(heads or [""] * len(groups), rows_of_lines, logs)
    charts = [Chart(*panel, axis, at) for panel in panels]
    if len(charts) != len(groups):
        raise ValueError(f"{len(groups)} panels, {len(charts)} heads or logs.")
    return Picture(draw_charts(charts), charts_text(charts), palette.DARK)


@dataclass(frozen=True)
class Line:
    """A title, the numbers of each seed, (seeds, places), and the number of
    its look: its colour, dash and marker."""

    title: str
    values: Tensor
    look: int

    @property
    def mean(self) -> Tensor:
        """The line itself: the mean over seeds."""
        return self.values.mean(0)


@dataclass(frozen=True)
class Chart:
    """A panel: lines with a heading, on a scale that may be logarithmic,
    along an axis, and the places on it."""

    head: str
    lines: list[Line]
    log: bool
    axis: str
    places: Sequence[float]

    @property
    def heading(self) -> str:
        """The heading, in which a logarithmic scale is named."""
        title, _, note = self.head.partition("\n")
        notes = ", ".join(filter(None, [note, "log scale" * self.log]))
        return f"{title}\n{notes}"

    @property
    def names(self) -> list[str]:
        """The titles of lines, each broken so that it has room beside them."""
        return ["\n".join(lines(x.title, 100)) for x in self.lines]

    @property
    def step(self) -> int:
        """How many places a printed number, or a mark, stands for."""
        return math.ceil(len(self.places) / TEXT_ROWS)


def split_panels(
    rows: Sequence[Any], texts: list[str]
) -> tuple[list[list[Any]], list[str]]:
    """Divide what was given into panels, with what each was written as."""
    if not all(map(is_group, rows)) or not rows:
        return [list(rows)], texts or [f"row {i}" for i in range(len(rows))]
    nodes = [ast.parse(text, mode="eval").body for text in texts]
    names = [ast.unparse(x) for n in nodes for x in getattr(n, "elts", [])]
    if len(names) != (count := sum(map(len, rows))):
        names = [f"row {i}" for i in range(count)]
    return list(map(list, rows)), names


def is_group(row: Any) -> bool:
    """Tell a list of vectors from one vector."""
    listed = isinstance(row, list | tuple) and len(row) > 0
    return listed and torch.as_tensor(row[0]).ndim > 0


def values_of(title: str, values: Any, seeds: bool, size: int) -> Tensor:
    """Check the numbers of a line with `size` places: (seeds, places)."""
    values = torch.as_tensor(values).detach().cpu()
    if seeds and values.ndim == 2 and len(values):
        for row in values:
            check_line(title, row, size)
        return values.double()
    return vector_of(title, values, size).double()[None]


def places_along(
    axis: str, places: Sequence[float] | None, size: int
) -> Sequence[float]:
    """Give the places of so many numbers along an axis: those that are given,
    or 0, 1, 2 ... Raises ValueError for an unknown axis, and for too few."""
    places = range(size) if places is None else list(places)
    if axis not in RUNS:
        check_axis(axis)
    if len(places) != size:
        raise ValueError(f"{len(places)} places, {size} numbers.")
    return places


def check_positive(chart: Chart) -> None:
    """Raise ValueError for a logarithmic scale that has no place for all."""
    for line in chart.lines:
        if chart.log and line.values.min() <= 0:
            raise ValueError(
                f"{line.title} has {number(line.values.min())}, and a "
                "logarithmic scale only numbers above 0: draw without log."
            )


def charts_text(charts: Sequence[Chart]) -> str:
    """Say what panels show: a paragraph of words, then the numbers."""
    words = " ".join(map(chart_sentences, charts))
    return "\n\n".join([words, *map(chart_numbers, charts)])


def lines_and_shape(chart: Chart) -> str:
    """Name a panel's lines, and the shape that they share."""
    titles = ", ".join(line.title for line in chart.lines)
    return f"{titles} ({len(chart.places)},)"


def chart_sentences(chart: Chart) -> str:
    """Describe a panel to someone who does not see it."""
    count, seeds = len(chart.lines), len(chart.lines[0].values)
    at = [f"{place:g}" for place in chart.places]
    words = RUNS.get(chart.axis)
    head = ", ".join(filter(None, chart.head.split("\n")))
    say = [f"{head}: " if head else ""]
    say[0] += f"{lines_and_shape(chart)}: {count} line"
    say[0] += "s" * (count > 1) + f" over {chart.axis}"
    say[0] += f" ({words}), " if words else ", "
    say[0] += f"{at[0]} to {at[-1]}" + ", log scale" * chart.log
    say[0] += f", each the mean of {seeds} seeds." if seeds > 1 else "."
    for line in chart.lines:
        row = line.mean
        found = row.log10() if chart.log else row
        low, high = first_largest(-found), first_largest(found)
        ends = (row[i].item() for i in (0, -1, low, high))
        first, last, least, most = (value_text(x, chart.log) for x in ends)
        say.append(
            f"{line.title} runs from {first} to {last}, is lowest at "
            f"{at[low]} ({least}) and highest at {at[high]} ({most})."
        )
    return " ".join(say)


def value_text(value: float, log: bool) -> str:
    """Write a number with two decimals; very small and large ones on a
    logarithmic scale with as many digits as matter there."""
    if log and value < 0.1:
        return f"{value:.1e}"
    large = log and value >= 100
    return f"{float(f'{value:.3g}'):,.0f}" if large else number(value)


def chart_numbers(chart: Chart) -> str:
    """List the numbers of a panel, or some of them, evenly spaced."""
    rows = [[f"{chart.axis}\\line", *(line.title for line in chart.lines)]]
    means = torch.stack([line.mean for line in chart.lines], 1)
    for place, row in zip(chart.places[:: chart.step], means[:: chart.step]):
        cells = (value_text(value, chart.log) for value in row.tolist())
        rows.append([f"{place:g}", *cells])
    return table(lines_and_shape(chart), rows)


def draw_charts(charts: Sequence[Chart]) -> list[Figure]:
    """Draw a figure for each panel, all equally large."""
    for chart in charts:
        check_positive(chart)
    heads = [heading_lines(chart.heading, PANEL - 80) for chart in charts]
    high = max(HIGH, *(names_gap(x) * len(x.lines) for x in charts))
    high += HEAD * most_lines(heads) + 46
    figures = []
    for chart, head in zip(charts, heads):
        figure, (ax,) = new_axes(PANEL, high)
        draw_heading(ax, head, most_lines(heads))
        draw_chart(figure, ax, chart)
        figures.append(figure)
    return figures


def names_gap(chart: Chart) -> float:
    """Tell how far apart the names of lines stand, at least."""
    return 14 * max(name.count("\n") + 1 for name in chart.names) + 1


@with_style
def draw_chart(figure: Figure, ax: Axes, chart: Chart) -> None:
    """Draw the lines of a panel, on quiet scales, and their names."""
    for line in chart.lines:
        draw_line(ax, line, chart)
    values = torch.cat([line.values for line in chart.lines])
    whole = bool((values == values.round()).all())
    draw_ticks(ax.xaxis, chart.places)
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=whole, **FEW))
    if chart.log:
        far = values.max() / values.min() > 30
        subs = (1.0,) if far else (1.0, 2.0, 5.0)
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=subs, numticks=6))
        ax.minorticks_off()
    ax.yaxis.set_major_formatter(FuncFormatter(tick_text))
    _, (colour, _) = palette.AXES.get(chart.axis, ("", palette.INK))
    words = RUNS.get(chart.axis)
    name = f"{chart.axis}: {words}" if words else chart.axis
    ax.set_xlabel(name, color=colour)
    ax.margins(x=0, y=0.04)
    ax.grid(axis="y")
    ax.tick_params(axis="x", pad=7)
    draw_names(figure, ax, chart)


def draw_ticks(axis: Axis, places: Sequence[float]) -> None:
    """Write as many round numbers along an axis as have room."""
    for count in range(6, 0, -1):
        locator = MaxNLocator(count, **FEW)
        ticks = locator.tick_values(min(places), max(places))
        if sum(text_width(tick_text(x)) + 10 for x in ticks) <= 220:
            break
    axis.set_major_locator(locator)
    axis.set_major_formatter(FuncFormatter(tick_text))


def tick_text(value: float, place: object = None) -> str:
    """Write a number at a scale: a power of ten where it is long."""
    if value == 0 or 1e-3 <= abs(value) < 1e9:
        return with_minus(f"{value:,.10g}")
    digit, exponent = f"{value:.0e}".split("e")
    power = "10" + str(int(exponent)).translate(SUPERSCRIPT)
    return power if digit == "1" else f"{digit}·{power}"


def draw_line(ax: Axes, line: Line, chart: Chart) -> None:
    """Draw a line, marked every so often; of several seeds, dots, too."""
    (colour, _), dash, marker = palette.LINES[line.look]
    (drawn,) = ax.plot(chart.places, line.mean.tolist(), color=colour, lw=1.5)
    if len(line.values) == 1:
        style = {"marker": marker, "ms": 4, "markevery": chart.step}
        drawn.set(linestyle=dash, clip_on=False, **style)
        return
    for row in line.values.tolist():
        dots = ax.scatter(chart.places, row, s=7, color=colour, alpha=0.4)
        dots.set(linewidths=0, clip_on=False)


def draw_names(figure: Figure, ax: Axes, chart: Chart) -> None:
    """Write each line's name beside its end, and join the two."""
    ends = [(chart.places[-1], line.mean[-1].item()) for line in chart.lines]
    join: Style = {"arrowstyle": "-", "lw": 0.7, "shrinkA": 1, "shrinkB": 3}
    names, gap = [], names_gap(chart)
    for line, end, name in zip(chart.lines, ends, chart.names):
        (colour, _), *_ = palette.LINES[line.look]
        style: Style = {"color": colour, "va": "center"}
        style["arrowprops"] = join | {"color": colour, "relpos": (0, 0.5)}
        where = end, (14, 0), "data", "offset points"
        names.append(ax.annotate(name, *where, **style))
    figure.draw_without_rendering()  # which lays the page out
    pixels = 72 / figure.dpi
    low, high = ax.bbox.y0 * pixels, ax.bbox.height * pixels
    heights = [ax.transData.transform(end)[1] * pixels - low for end in ends]
    least = [max(height, gap / 2 - 4) for height in heights]
    places = apart(least, gap, high - gap / 2 + 2)
    for text, old, new in zip(names, heights, places):
        text.set_position((14, new - old))


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


def widest(texts: Iterable[str], size: float) -> float:
    """Give the width of the widest line of some texts."""
    return max(text_width(x, size) for t in texts for x in t.split("\n"))


HeadLines = tuple[list[str], list[str]]  # lines of a title; of what is small


def heading_lines(title: str, width: float) -> HeadLines:
    """Break a title, and what follows a line feed in it, into lines."""
    first, _, note = title.partition("\n")
    bold = [x for x in lines(first, width, NAME, "bold") if x]
    return bold, [x for x in lines(note, width) if x]


def most_lines(heads: Sequence[HeadLines]) -> int:
    """Count the lines of the longest heading."""
    return max(len(bold) + len(notes) for bold, notes in heads)


def draw_heading(ax: Axes, head: HeadLines, count: int) -> None:
    """Write a heading above axes, as high as one of so many lines."""
    bold, notes = head
    title, note = "\n".join(bold), "\n".join(notes)
    below = HEAD * (count - len(bold)) + 4
    ax.set_title(title, loc="left", size=NAME, weight="bold", pad=below)
    where = (0, 1), (0, below - HEAD * len(notes)), "axes fraction"
    style: Style = {"size": SIZE, "color": palette.GREY[0], "va": "bottom"}
    ax.annotate(note, *where, "offset points", **style)


def titles_of(
    rows: Sequence[Any], titles: Sequence[str] | None, texts: Sequence[str]
) -> Sequence[str]:
    """Name vectors by their titles, or as they were written. Raises
    ValueError for no vectors, and for more or fewer titles."""
    titles = titles or texts or [f"row {i}" for i in range(len(rows))]
    if not rows or len(titles) != len(rows):
        raise ValueError(f"{len(rows)} vectors, {len(titles)} titles.")
    return titles


def size_of(values: Any) -> int:
    """Tell how many places a vector has, or a matrix of seeds."""
    return (torch.as_tensor(values).shape or (0,))[-1]


def vector_of(title: str, values: Any, size: int) -> Tensor:
    """Check a vector of `size` numbers."""
    values = torch.as_tensor(values).detach().cpu()
    check_line(title, values, size)
    return values


def check_line(title: str, value: Tensor, size: int) -> None:
    """Raise ValueError for what is no vector of `size` numbers."""
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


@with_style
def new_axes(
    width: float, height: float, count: int = 1
) -> tuple[Figure, list[Axes]]:
    """Make a figure so large, in pixels, with axes side by side; they leave
    as much room for words as these need, and share the scale upwards."""
    layout = ConstrainedLayoutEngine(w_pad=2 / 72, h_pad=2 / 72, wspace=0.03)
    figure = Figure((width / 72, height / 72), layout=layout)
    axes = figure.subplots(1, count, sharey=True, squeeze=False)
    return figure, list(axes[0])

"""Vectors to be drawn: their lines, their panels, and what these say."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tformer_lite.drawing.surface.matrix import number, table
from tformer_lite.drawing.surface.palette import AXES
from tformer_lite.rounding import first_largest

ROWS = 16  # places whose numbers the text face gives, at most
RUNS = {letter: words for letter, (words, _) in AXES.items()}
RUNS["step"] = "batches learned from"


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
    """A panel: lines with a heading, on a scale that may be logarithmic."""

    head: str
    lines: list[Line]
    log: bool


@dataclass(frozen=True)
class Run:
    """What lines run along: an axis, and the places on it."""

    axis: str
    places: Sequence[float]

    @property
    def name(self) -> str:
        """The axis in words."""
        words = RUNS.get(self.axis)
        return f"{self.axis}: {words}" if words else self.axis

    @property
    def step(self) -> int:
        """How many places a printed number, or a mark, stands for."""
        return math.ceil(len(self.places) / ROWS)


def size_of(values: Any) -> int:
    """Tell how many places a vector has, or a matrix of seeds."""
    return (torch.as_tensor(values).shape or (0,))[-1]


def values_of(title: str, values: Any, seeds: bool, size: int) -> Tensor:
    """Check the numbers of a line with `size` places: (seeds, places)."""
    values = torch.as_tensor(values).detach().cpu()
    if seeds and values.ndim == 2 and len(values):
        for row in values:
            check_line(title, row, size)
        return values.double()
    check_line(title, values, size)
    return values.double()[None]


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


def check_positive(chart: Chart) -> None:
    """Raise ValueError for a logarithmic scale that has no place for all."""
    for line in chart.lines:
        if chart.log and line.values.min() <= 0:
            raise ValueError(
                f"{line.title} has {number(line.values.min())}, and a "
                "logarithmic scale only numbers above 0: draw without log."
            )


def text_of(charts: list[Chart], run: Run) -> str:
    """Say what panels show: a paragraph of words, then the numbers."""
    words = " ".join(sentences(chart, run) for chart in charts)
    return "\n\n".join([words, *(numbers(chart, run) for chart in charts)])


def heading(chart: Chart, run: Run) -> str:
    """Name a panel's lines, and the shape that they share."""
    titles = ", ".join(line.title for line in chart.lines)
    return f"{titles} ({len(run.places)},)"


def sentences(chart: Chart, run: Run) -> str:
    """Describe a panel to someone who does not see it."""
    count, seeds = len(chart.lines), len(chart.lines[0].values)
    at = [f"{place:g}" for place in run.places]
    words = RUNS.get(run.axis)
    say = [", ".join(filter(None, chart.head.split("\n"))) + ": "]
    say = say if chart.head else [""]
    say[0] += f"{heading(chart, run)}: {count} line{'s' * (count > 1)} over "
    say[0] += f"{run.axis} ({words}), " if words else f"{run.axis}, "
    say[0] += f"{at[0]} to {at[-1]}" + ", log scale" * chart.log
    say[0] += f", each the mean of {seeds} seeds." if seeds > 1 else "."
    for line in chart.lines:
        row = line.mean
        found = row.log10() if chart.log else row
        low, high = first_largest(-found), first_largest(found)
        ends = (row[i].item() for i in (0, -1, low, high))
        first, last, least, most = (said(x, chart.log) for x in ends)
        say.append(
            f"{line.title} runs from {first} to {last}, is lowest at "
            f"{at[low]} ({least}) and highest at {at[high]} ({most})."
        )
    return " ".join(say)


def said(value: float, log: bool) -> str:
    """Write a number with two decimals; very small and large ones on a
    logarithmic scale with as many digits as matter there."""
    if log and value < 0.1:
        return f"{value:.1e}"
    large = log and value >= 100
    return f"{float(f'{value:.3g}'):,.0f}" if large else number(value)


def numbers(chart: Chart, run: Run) -> str:
    """List the numbers of a panel, or some of them, evenly spaced."""
    rows = [[f"{run.axis}\\line", *(line.title for line in chart.lines)]]
    means = torch.stack([line.mean for line in chart.lines], 1)
    for place, row in zip(run.places[:: run.step], means[:: run.step]):
        cells = (said(value, chart.log) for value in row.tolist())
        rows.append([f"{place:g}", *cells])
    return table(heading(chart, run), rows)

"""Line drawings of the vectors inside a Transformer."""

import ast
import sys
from collections.abc import Sequence
from typing import Any

import torch

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.plots.charts import (
    RUNS,
    Chart,
    Line,
    Run,
    check_positive,
    size_of,
    text_of,
    values_of,
)
from tformer_lite.drawing.plots.line_page import draw_charts
from tformer_lite.drawing.surface.matrix import check_axis
from tformer_lite.drawing.surface.page import NARROW, WIDE
from tformer_lite.drawing.surface.palette import DARK, LINES
from tformer_lite.drawing.surface.picture import Picture


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
    rising (3,): 1 line over T (query position), 0 to 2. ...
    """
    groups, written = grouped(rows, argument_texts(sys._getframe(1)))
    titles = list(titles or written)
    count, kinds = sum(map(len, groups)), list(dict.fromkeys(titles))
    if not 0 < len(kinds) <= len(LINES) or len(titles) != count:
        raise ValueError(
            f"{count} vectors, {len(titles)} titles: draw 1 to "
            f"{len(LINES)} vectors, each with its title."
        )
    size, names = size_of(groups[0][0]), iter(titles)
    lines = [
        [
            Line(name, values_of(name, row, seeds, size), kinds.index(name))
            for row, name in zip(group, names)
        ]
        for group in groups
    ]
    run = run_of(axis, range(size) if places is None else places, size)
    logs = [log] * len(groups) if isinstance(log, bool) else log
    charts = list(map(Chart, heads or [""] * len(groups), lines, logs))
    if len(charts) != len(groups):
        raise ValueError(f"{len(groups)} panels, {len(charts)} heads or logs.")
    return picture(charts, run)


def run_of(axis: str, places: Sequence[float], size: int) -> Run:
    """Check what lines run along, and its places."""
    if axis not in RUNS:
        check_axis(axis)
    if len(places) != size:
        raise ValueError(f"{len(places)} places, {size} numbers.")
    return Run(axis, list(places))


def picture(charts: list[Chart], run: Run) -> Picture:
    """Draw panels for a wide page and for a phone."""
    for chart in charts:
        check_positive(chart)
    wide, narrow = (draw_charts(charts, run, w) for w in (WIDE, NARROW))
    return Picture(wide, text_of(charts, run), DARK, narrow)


def grouped(
    rows: Sequence[Any], texts: list[str]
) -> tuple[list[list[Any]], list[str]]:
    """Divide what was given into panels, with what each was written as."""
    if not all(map(is_group, rows)) or not rows:
        return [list(rows)], texts or [f"row {i}" for i in range(len(rows))]
    nodes = [ast.parse(text, mode="eval").body for text in texts]
    names = [ast.unparse(x) for n in nodes for x in getattr(n, "elts", [])]
    count = sum(map(len, rows))
    if len(names) != count:
        names = [f"row {i}" for i in range(count)]
    return list(map(list, rows)), names


def is_group(row: Any) -> bool:
    """Tell a list of vectors from one vector."""
    listed = isinstance(row, list | tuple) and len(row) > 0
    return listed and torch.as_tensor(row[0]).ndim > 0

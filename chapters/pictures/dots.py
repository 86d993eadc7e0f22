"""A dot for each mark that a thing has: things down, marks across."""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from tformer_lite.drawing.surface.page import (
    NARROW,
    SMALL,
    WIDE,
    Page,
    Place,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import DARK, EDGE, INK, PAPER
from tformer_lite.drawing.surface.picture import Picture

__all__ = ["dots"]

TILT = math.radians(60)  # of the words above the columns
LINE, STEM = 14, 5  # pixels: a row; between a word and its column
ROOM = 16  # between the words and the columns
IN_ALL = "in all"
KEY = {True: "the only one", False: "one of several"}


@dataclass(frozen=True)
class Dots:
    """What has which marks: the rows, each with its marks; above which row a
    title stands; and how many rows have each mark, the most frequent first.
    """

    rows: dict[str, list[str]]
    titles: dict[str, str]
    columns: dict[str, int]

    @property
    def text(self) -> str:
        """Say in words what there is: alone, and in all."""
        alone = sum(len(marks) == 1 for marks in self.rows.values())
        none = sum(not marks for marks in self.rows.values())
        first, *_ = self.columns or {"": 0}
        head = (
            f"{len(self.rows)} rows, {len(self.columns)} columns "
            f"({len(self.rows)}, {len(self.columns)}): {alone} rows have one "
            f"dot alone, {none} none. Most dots, {self.columns.get(first, 0)},"
            f" are in the column {first}."
        )
        lines = [f"{row}: {', '.join(m)}" for row, m in self.rows.items()]
        return "\n".join([head, "", *lines])


def dots(
    found: Mapping[str, Collection[str]],
    titles: Mapping[str, str] | None = None,
) -> Picture:
    """Draw a row of dots for each thing: one for each mark that it has.

    `found` gives the marks of each thing, `titles` what to write above which
    of them. A mark that is a thing's only one is a full dot, others are
    rings; the columns begin with the most frequent mark. Raises ValueError
    where there is nothing to draw, or no row for a title.

    >>> dots({"no_scale": ["score_scale"], "rows_hidden": []})
    2 rows, 1 columns (2, 1): 1 rows have one dot alone, 1 none. ...
    """
    rows = {name: list(dict.fromkeys(marks)) for name, marks in found.items()}
    counts = Counter(mark for marks in rows.values() for mark in marks)
    if not counts:
        raise ValueError(f"{len(rows)} rows, and no mark in any: no dots.")
    for name in titles or {}:
        if name not in rows:
            raise ValueError(f"no row {name!r}: there are {', '.join(rows)}")
    shown = Dots(rows, dict(titles or {}), dict(counts.most_common()))
    wide, narrow = (draw_dots(shown, width) for width in (WIDE, NARROW))
    return Picture(wide, shown.text, DARK, narrow)


class Grid(NamedTuple):
    """Where things are on a page: columns and rows by their middles, the
    line of sums, the ends of the lines; and the size of letters."""

    xs: list[float]
    ys: dict[str, float]
    sums: float
    left: float
    right: float
    top: float
    size: float


def grid_of(shown: Dots, width: float) -> Grid:
    """Find places for all on a page of a width."""
    size = SMALL if width > 500 else 9
    words = [*shown.rows, IN_ALL, *KEY.values()]
    left = max(text_width(row, size) for row in words) + ROOM
    lengths = [text_width(name, size) for name in shown.columns]
    step = column_width(width - left, lengths)
    top = max(lengths) * math.sin(TILT) + size + STEM
    ys, y = {}, top - LINE / 2
    for row in shown.rows:
        y += LINE * (2.3 if row in shown.titles else 1)
        ys[row] = y
    xs = [left + (i + 0.5) * step for i in range(len(lengths))]
    right = left + step * len(xs)
    return Grid(xs, ys, y + LINE + 4, left, right, top, size)


def column_width(room: float, lengths: list[float]) -> float:
    """How far columns are apart, so that the tilted words above fit, too."""
    slant = math.cos(TILT)
    fits = [
        (room - length * slant - 8) / (i + 0.5)
        for i, length in enumerate(lengths)
    ]
    return min(24, room / len(lengths), *fits)


def draw_dots(shown: Dots, width: float) -> Figure:
    """Draw the words, and the dots where they meet."""
    grid = grid_of(shown, width)
    page = Page(width, grid.sums + 1.5 * LINE)
    draw_lines(page, grid)
    draw_words(page, shown, grid)
    for full, word in KEY.items():
        spots = [
            (x, grid.ys[row])
            for row, marks in shown.rows.items()
            for x, name in zip(grid.xs, shown.columns)
            if name in marks and (len(marks) == 1) is full
        ]
        x, y = grid.left - ROOM, grid.top - LINE * (1 + full)
        page.write(x, y, word, ha="right", size=grid.size)
        draw_spots(page, [*spots, (x + ROOM / 2, y)], full, grid)
    return page.figure


def draw_words(page: Page, shown: Dots, grid: Grid) -> None:
    """Write what columns and rows are, titles, and sums below."""
    right: Style = {"ha": "right", "size": grid.size}
    bold: Style = {"ha": "left", "weight": "bold", "size": grid.size}
    tilted: Style = {"ha": "left", "va": "bottom", "rotation": 60}
    tilted |= {"rotation_mode": "anchor", "size": grid.size}
    crowded = grid.right - grid.left < 14 * len(grid.xs)
    for i, (name, count) in enumerate(shown.columns.items()):
        page.write(grid.xs[i] + 3, grid.top - STEM, name, **tilted)
        lower = grid.size * (i % 2) if crowded else 0
        page.write(grid.xs[i], grid.sums + lower, str(count), size=grid.size)
    for row, y in grid.ys.items():
        page.write(grid.left - ROOM, y, row, **right)
    for row, title in shown.titles.items():
        page.write(0, grid.ys[row] - LINE - 1, title, **bold)
    page.note(grid.left - ROOM, grid.sums, IN_ALL, **right)


def draw_lines(page: Page, grid: Grid) -> None:
    """Draw a line for each row and each column: one path keeps it small."""
    lines = [((grid.left, y), (grid.right, y)) for y in grid.ys.values()]
    bottom = grid.sums - LINE
    lines += [((x, grid.top), (x, bottom)) for x in grid.xs]
    codes = [Path.MOVETO, Path.LINETO] * len(lines)
    path = Path([place for line in lines for place in line], codes)
    page.add(PathPatch(path, fill=False, ec=EDGE[0], lw=0.7, zorder=0))


def draw_spots(page: Page, spots: list[Place], full: bool, grid: Grid) -> None:
    """Draw dots, or rings."""
    size = min(8, (grid.right - grid.left) / len(grid.xs) - 3)
    style: Style = {"ls": "", "marker": "o", "ms": size, "mew": 1.2}
    style |= {"mec": INK[0], "mfc": (INK if full else PAPER)[0]}
    page.ax.plot(*zip(*spots), clip_on=False, **style)

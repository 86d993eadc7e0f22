"""Heatmaps of the matrices inside a Transformer."""

import math
import sys
from dataclasses import replace
from importlib.resources import files

import matplotlib as mpl
import seaborn as sns
import torch
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from tformer_lite.drawing.matrix import Panel, choice, describe, make_panel
from tformer_lite.drawing.palette import AXES, EDGE, HATCH, INK, KINDS, PAPER
from tformer_lite.drawing.picture import STYLE, Picture
from tformer_lite.tracing.source.expressions import argument_texts

FONTS_HERE = files("tformer_lite.drawing") / "fonts"
FONT = FONTS_HERE / "NotoSansDevanagari-Regular.ttf"
HEAD = 0.85  # inches above and below a panel's cells, for its words
font_manager.fontManager.addfont(FONT)
# Before any copy that the machine has, so that drawings are the same; and
# for bold words too, or matplotlib warns that it has no bold ones.
FONTS = font_manager.fontManager.ttflist
REGULAR = FONTS.pop()
FONTS[:0] = REGULAR, replace(REGULAR, weight=700)


def heatmap(
    *matrices: Tensor,
    axes: str = "T S",
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    mask: Tensor | None = None,
    kind: str | None = None,
    titles: list[str] | None = None,
) -> Picture:
    """Draw matrices as heatmaps, one below the other: (T, S) -> a picture.

    Each panel is headed by its argument as you wrote it and its shape;
    `titles` replaces what you wrote. `axes` names rows and columns by the
    book's letters, `rows` and `columns` label them. `kind` is "scores"
    (colours centred on 0), "weights" (fixed from 0 to 1) or "mask"; left
    out, it is read off the values. Cells of −∞, and cells where `mask` is
    False, are hatched. Raises ValueError for anything but matrices.

    >>> heatmap(softmax(torch.zeros(2, 3)), titles=["weights"])
    weights (2, 3): rows T (position that asks), columns S ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or ["matrix"] * len(matrices)
    if not matrices or len(titles) != len(matrices):
        raise ValueError(f"{len(matrices)} matrices, {len(titles)} titles.")
    letters = tuple(choice("axis", letter, AXES) for letter in axes.split())
    if len(letters) != 2:
        raise ValueError(f"{axes=} must be two letters, such as 'T S'.")
    panels = [
        make_panel(title, matrix, letters, (rows, columns), mask, kind)
        for title, matrix in zip(titles, matrices)
    ]
    with mpl.rc_context(STYLE):
        figure = draw(panels)
    return Picture(figure, describe(panels), counterparts(panels))


def counterparts(panels: list[Panel]) -> dict[str, str]:
    """Map each light colour of a figure to its dark one."""
    pairs = dict([INK, EDGE, HATCH, *(AXES[x][1] for x in panels[0].axes)])
    for panel in panels:
        pairs |= KINDS[panel.kind].counterparts()
    return pairs | dict([PAPER])


def draw(panels: list[Panel]) -> Figure:
    """Stack the panels, each as high as its rows need (sizes in inches)."""
    rows, columns = map(max, zip(*(panel.values.shape for panel in panels)))
    cell = min(0.55, 5.5 / columns), min(0.3, 6 / rows)
    heights = [len(panel.values) * cell[1] for panel in panels]
    above = [HEAD, *(HEAD + slant(panel, cell[0]) for panel in panels[:-1])]
    size = columns * cell[0] + 1.5, sum(heights) + sum(above)
    figure = Figure(figsize=size, facecolor=PAPER[0])
    bottom, limit = size[1], largest(panels)
    for panel, height, head in zip(panels, heights, above):
        bottom -= head + height
        wide = panel.values.shape[1] * cell[0]
        box = 1.5 / size[0], bottom / size[1]
        box += wide / size[0], height / size[1]
        draw_panel(panel, figure.add_axes(box), cell, limit)
    return figure


def largest(panels: list[Panel]) -> float:
    """Find the largest size of a score, so that panels share one scale."""
    seen = [p.values[~p.hidden] for p in panels if p.kind == "scores"]
    sizes = torch.cat([torch.zeros(1), *seen]).double().abs()
    return sizes[sizes.isfinite()].max().item() or 1.0


def draw_panel(panel: Panel, ax: Axes, cell: tuple, limit: float) -> None:
    """Draw one matrix: coloured cells, numbers, hatching, labels."""
    kind = KINDS[panel.kind]
    low, high = (-limit, limit) if panel.kind == "scores" else (0, 1)
    room = cell[0] >= 0.45 and cell[1] >= 0.25
    sns.heatmap(
        panel.values.double().masked_fill(panel.hidden, 0).numpy(),
        vmin=low,
        vmax=high,
        cmap=kind.scale(kind.light),
        cbar=False,
        annot=numbers(panel) if room else None,
        fmt="",
        annot_kws={"color": INK[0]},
        linewidths=0.7,
        linecolor=EDGE[0],
        clip_on=False,
        ax=ax,
    )
    for row, column in panel.hidden.nonzero().tolist():
        ax.add_patch(hatching(row, column))
    label(panel, ax, cell)


def numbers(panel: Panel) -> list[list[str]]:
    """Write the cells with a minus sign that is as wide as a plus."""
    return [[text.replace("-", "−") for text in row] for row in panel.cells()]


def hatching(row: int, column: int) -> Rectangle:
    """Hatch one cell, below its number."""
    style = {"hatch": "///", "facecolor": "none", "edgecolor": HATCH[0]}
    return Rectangle(
        (column, row), 1, 1, linewidth=0, clip_on=False, zorder=1.5, **style
    )


def label(panel: Panel, ax: Axes, cell: tuple) -> None:
    """Write the heading, and name and label both axes."""
    ax.set_title(panel.heading, loc="left", color=INK[0], size=11)
    for axis, size, letter, name, labels in zip(
        (ax.yaxis, ax.xaxis),
        reversed(cell),
        panel.axes,
        panel.names,
        panel.labels,
    ):
        step = spacing(size)
        places = [place + 0.5 for place in range(len(labels))]
        axis.set_ticks(places[::step], labels[::step])
        axis.set_tick_params(length=0, labelcolor=INK[0], rotation=0)
        axis.set_label_text(f"{letter}: {name}", color=AXES[letter][1][0])
    if slant(panel, cell[0]):
        ax.xaxis.set_tick_params(rotation=45)
    if len(ax.get_ylabel()) * 0.07 > len(panel.values) * cell[1] + 0.4:
        # There is room for the letter, and not for its words.
        ax.set_ylabel(panel.axes[0], rotation=0, ha="right", va="center")


def spacing(size: float) -> int:
    """Tell how many cells of a size (in inches) share one label."""
    return math.ceil(0.2 / size)


def slant(panel: Panel, wide: float) -> float:
    """Tell how many more inches slanted column labels reach down than level
    ones; 0 where the labels of cells so wide fit side by side."""
    longest = max(map(len, panel.labels[1]))
    level = longest * 0.09 <= wide * spacing(wide)
    return 0.0 if level else longest * 0.065 - 0.1

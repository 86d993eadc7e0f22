"""Heatmaps of the matrices inside a Transformer."""

import math
import sys
import unicodedata
from dataclasses import dataclass
from importlib.resources import files

import matplotlib as mpl
import seaborn as sns
import torch
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from tformer_lite.palette import AXES, EDGE, HATCH, INK, KINDS, PAPER
from tformer_lite.picture import STYLE, Picture
from tformer_lite.tracing.source import argument_texts

font_manager.fontManager.addfont(
    files("tformer_lite") / "fonts" / "NotoSansDevanagari-Regular.ttf"
)

HEAD = 0.85  # inches above and below a panel's cells, for its words


@dataclass(frozen=True)
class Panel:
    """One matrix with all that its drawing and its description need."""

    title: str
    values: Tensor
    hidden: Tensor
    kind: str
    axes: tuple[str, str]
    labels: tuple[list[str], list[str]]

    def cell(self, i: int, j: int) -> str:
        """Write one value: two decimals, −∞, True or False."""
        value = self.values[i, j].item()
        if self.kind == "mask":
            return str(bool(value))
        return f"{round(value, 2) + 0.0:.2f}".replace("-inf", "-∞")

    def cells(self) -> list[list[str]]:
        """Write every value."""
        rows, columns = self.values.shape
        return [[self.cell(i, j) for j in range(columns)] for i in range(rows)]


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

    Each panel is headed by the argument as you wrote it and by its shape;
    `titles` replaces what you wrote. `axes` names rows and columns by the
    book's letters, `rows` and `columns` label them. `kind` is "scores"
    (colours centred on 0), "weights" (fixed from 0 to 1) or "mask"; left
    out, it is read off the values. Cells of −∞, and cells where `mask` is
    False, are hatched. Raises ValueError for anything that is not a matrix.
    """
    written = argument_texts(sys._getframe(1))
    if len(titles or written) != len(matrices):
        written = ["matrix"] * len(matrices)
    letters = tuple(axes.split())
    panels = [
        make_panel(title, matrix, letters, (rows, columns), mask, kind)
        for title, matrix in zip(titles or written, matrices, strict=True)
    ]
    fixed = [PAPER, INK, EDGE, HATCH] + [AXES[letter][1] for letter in letters]
    dark = {}
    for panel in panels:
        dark |= KINDS[panel.kind].counterparts()
    with mpl.rc_context(STYLE):
        figure = draw(panels)
    return Picture(figure, describe(panels), dark | dict(fixed))


def make_panel(title, matrix, letters, labels, mask, kind) -> Panel:
    """Check a matrix and what belongs to it, and fill in what was left out."""
    values = matrix.detach().cpu()
    if values.ndim != 2:
        raise ValueError(
            f"{title} has shape {tuple(values.shape)}, and a heatmap shows a "
            "matrix: choose one, such as weights[0, 1]."
        )
    known("axis", AXES, *letters)
    kind = kind or kind_of(values)
    known("kind", KINDS, kind)
    labels = tuple(
        [str(i) for i in range(size)] if chosen is None else list(chosen)
        for chosen, size in zip(labels, values.shape, strict=True)
    )
    if tuple(map(len, labels)) != tuple(values.shape):
        raise ValueError(
            f"{title} has shape {tuple(values.shape)}, but there are labels "
            f"for {len(labels[0])} rows and {len(labels[1])} columns."
        )
    hidden = ~values if kind == "mask" else values == -math.inf
    if mask is not None:
        hidden = hidden | ~mask.cpu().expand_as(values)
    return Panel(title, values, hidden, kind, letters, labels)


def known(what: str, choices: dict, *chosen: str) -> None:
    """Raise ValueError for a choice that is not among the known ones."""
    for choice in chosen:
        if choice not in choices:
            raise ValueError(
                f"unknown {what} {choice!r}: known are {', '.join(choices)}."
            )


def kind_of(values: Tensor) -> str:
    """Tell a mask, weights (each row sums to 1, or is 0) and scores apart."""
    if values.dtype == torch.bool:
        return "mask"
    sums = values.double().sum(-1)
    rows = ((sums - 1).abs() < 1e-2) | (sums == 0)
    return "weights" if rows.all() and (values >= 0).all() else "scores"


def draw(panels: list[Panel]) -> Figure:
    """Stack the panels, each as high as its rows need (sizes in inches)."""
    columns = max(panel.values.shape[1] for panel in panels)
    tallest = max(panel.values.shape[0] for panel in panels)
    cell = min(0.55, 5.5 / columns), min(0.3, 6 / tallest)
    sizes = [panel.values.shape[0] * cell[1] + HEAD for panel in panels]
    figure = Figure(figsize=(columns * cell[0] + 1.5, sum(sizes)))
    figure.patch.set_facecolor(PAPER[0])
    top = 1.0
    for panel, size in zip(panels, sizes, strict=True):
        wide = panel.values.shape[1] * cell[0] / figure.get_figwidth()
        high = (size - HEAD) / sum(sizes)
        top -= size / sum(sizes)
        place = (1 - columns * cell[0] / figure.get_figwidth(), top, wide, high)
        draw_panel(panel, figure.add_axes(place), cell, limit_of(panels))
    return figure


def limit_of(panels: list[Panel]) -> float:
    """Find the largest finite score, so that panels share one scale."""
    scores = [p.values[~p.hidden].double() for p in panels if p.kind == "scores"]
    sizes = torch.cat([torch.zeros(1, dtype=torch.double), *scores]).abs()
    return sizes[sizes.isfinite()].max().item() or 1.0


def draw_panel(panel: Panel, ax: Axes, cell: tuple, limit: float) -> None:
    """Draw one matrix: coloured cells, numbers, labels, hatching."""
    kind = KINDS[panel.kind]
    low, high = (-limit, limit) if panel.kind == "scores" else (0, 1)
    numbers = [[text.replace("-", "−") for text in row] for row in panel.cells()]
    sns.heatmap(
        panel.values.double().masked_fill(panel.hidden, 0).numpy(),
        vmin=low, vmax=high, cmap=kind.scale(kind.light), cbar=False,
        annot=numbers if min(cell) >= 0.29 else None, fmt="",
        annot_kws={"color": INK[0]}, linewidths=0.7, linecolor=EDGE[0],
        xticklabels=panel.labels[1], yticklabels=panel.labels[0],
        clip_on=False, ax=ax,
    )  # fmt: skip
    for i, j in panel.hidden.nonzero().tolist():
        hatching = Rectangle(
            (j, i), 1, 1, hatch="///", facecolor="none",
            edgecolor=HATCH[0], linewidth=0, clip_on=False, zorder=1.5,
        )  # fmt: skip
        ax.add_patch(hatching)
    label_axes(panel, ax, cell[0])


def label_axes(panel: Panel, ax: Axes, width: float) -> None:
    """Write the title above, and name and number both axes."""
    shape = tuple(panel.values.shape)
    ax.set_title(f"{panel.title} {shape}", loc="left", color=INK[0], size=11)
    ax.tick_params(length=0, colors=INK[0])
    ax.tick_params(axis="y", rotation=0)
    longest = max(map(len, panel.labels[1]))
    ax.tick_params(axis="x", rotation=45 if longest * 0.09 > width else 0)
    for letter, name in zip(panel.axes, (ax.set_ylabel, ax.set_xlabel), strict=True):
        words, colours = AXES[letter]
        name(f"{letter}: {words}", color=colours[0])


def describe(panels: list[Panel]) -> str:
    """Say what the figure shows: a sentence or three a panel, then numbers."""
    sentences = " ".join(sentence(panel) for panel in panels)
    small = [panel for panel in panels if max(panel.values.shape) <= 16]
    return "\n\n".join([sentences, *map(table, small)])


def sentence(panel: Panel) -> str:
    """Describe one panel for someone who does not see it."""
    rows, columns = (f"{letter} ({AXES[letter][0]})" for letter in panel.axes)
    shape = tuple(panel.values.shape)
    say = [f"{panel.title} {shape}: rows {rows}, columns {columns}."]
    if panel.hidden.any():
        hidden, cells = panel.hidden.sum().item(), panel.hidden.numel()
        say.append(f"{hidden} of {cells} cells are masked.")
    if panel.kind != "mask" and not panel.hidden.all():
        seen = panel.values.double().masked_fill(panel.hidden, -math.inf)
        i, j = divmod(seen.argmax().item(), seen.shape[1])
        say.append(
            f"Largest: {panel.cell(i, j)} in row {i} ({panel.labels[0][i]}), "
            f"column {j} ({panel.labels[1][j]})."
        )
    return " ".join(say)


def table(panel: Panel) -> str:
    """Set a panel's labels and values in columns of plain text."""
    names, heads = panel.labels
    lines = [["\\".join(panel.axes), *heads]]
    lines += [[n, *c] for n, c in zip(names, panel.cells(), strict=True)]
    widths = [max(map(width_of, column)) for column in zip(*lines, strict=True)]
    padded = [
        [" " * (w - width_of(text)) + text for text, w in zip(line, widths)]
        for line in lines
    ]
    return "\n".join([panel.title, *map("  ".join, padded)])


def width_of(text: str) -> int:
    """Count the columns a text takes: vowel signs above or below take none."""
    return sum(unicodedata.category(letter) != "Mn" for letter in text)

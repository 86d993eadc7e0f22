"""One matrix, checked, with all that drawing and describing it needs."""

import math
import unicodedata
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer_lite.drawing.palette import AXES, KINDS
from tformer_lite.model.checks import check_axes
from tformer_lite.rounding import SOUND, decimals, first_largest


@dataclass(frozen=True)
class Panel:
    """A matrix, its title, which of its cells are hidden, and its labels."""

    title: str
    values: Tensor
    hidden: Tensor
    kind: str
    axes: tuple[str, str]
    labels: tuple[list[str], list[str]]

    @property
    def heading(self) -> str:
        """Write the title and the shape."""
        return f"{self.title} {tuple(self.values.shape)}"

    @property
    def names(self) -> list[str]:
        """Name the axes in words. Beside channels, or words of a vocabulary,
        a position neither asks nor answers."""
        plain = not set(self.axes).isdisjoint("CFV")
        return [
            "position" if plain and letter in "TS" else AXES[letter][0]
            for letter in self.axes
        ]

    def cell(self, i: int, j: int) -> str:
        """Write one value: a whole number, two decimals, −∞, True or False."""
        value = self.values[i, j].item()
        if self.kind == "mask":
            return str(bool(value))
        if isinstance(value, int):
            return str(value)
        return decimals(value).replace("inf", "∞")

    def cells(self) -> list[list[str]]:
        """Write every value."""
        rows, columns = self.values.shape
        return [[self.cell(i, j) for j in range(columns)] for i in range(rows)]


def make_panel(title, matrix, axes, labels, mask, kind) -> Panel:
    """Check a matrix and what belongs to it, and fill in what was left out."""
    values = torch.as_tensor(matrix).detach().cpu()
    if values.ndim != 2:
        raise ValueError(
            f"{title} has shape {tuple(values.shape)}, and a heatmap shows a "
            "matrix: choose one, such as weights[0, 1]."
        )
    kind = choice("kind", kind or kind_of(values), KINDS)
    hidden = values == (False if kind == "mask" else -math.inf)
    if mask is not None:
        check_axes(mask, values)
        hidden = hidden | ~mask.cpu()
    labels = tuple(map(labels_for, labels, values.shape))
    return Panel(title, values, hidden, kind, axes, labels)


def choice(what: str, chosen: str, known: dict) -> str:
    """Return what was chosen; ValueError when it is not among the known."""
    if chosen not in known:
        raise ValueError(f"{what} {chosen!r}: known are {', '.join(known)}.")
    return chosen


def kind_of(values: Tensor) -> str:
    """Tell a mask, weights (each row sums to 1, or is 0) and scores apart."""
    if values.dtype == torch.bool:
        return "mask"
    near = values.double().round(decimals=SOUND)
    sums = near.sum(-1)
    rows = ((sums - 1).abs() < 1e-2) | (sums == 0)
    return "weights" if rows.all() and (near >= 0).all() else "scores"


def labels_for(chosen: list[str] | None, size: int) -> list[str]:
    """Check the labels of an axis; number its places when there are none."""
    if chosen is None:
        return [str(i) for i in range(size)]
    if len(chosen) != size:
        raise ValueError(f"{len(chosen)} labels for an axis of size {size}.")
    return list(chosen)


def describe(panels: list[Panel]) -> str:
    """Say what the panels show: one paragraph of words, then the numbers."""
    words = " ".join(map(sentences, panels))
    small = [panel for panel in panels if max(panel.values.shape) <= 16]
    return "\n\n".join([words, *map(table, small)])


def sentences(panel: Panel) -> str:
    """Describe a panel to someone who does not see it."""
    rows, columns = (
        f"{letter} ({name})" for letter, name in zip(panel.axes, panel.names)
    )
    say = [f"{panel.heading}: rows {rows}, columns {columns}."]
    if panel.hidden.any():
        hidden, cells = panel.hidden.sum().item(), panel.hidden.numel()
        say.append(f"{hidden} of {cells} cells are masked.")
    if panel.kind != "mask" and not panel.hidden.all():
        seen = panel.values.double().masked_fill(panel.hidden, -math.inf)
        i, j = divmod(first_largest(seen), seen.shape[1])
        row, column = panel.labels[0][i], panel.labels[1][j]
        say.append(
            f"Largest: {panel.cell(i, j)} in row {i} ({row}), "
            f"column {j} ({column})."
        )
    return " ".join(say)


def table(panel: Panel) -> str:
    """Set a panel's labels and values in columns of plain text."""
    names, heads = panel.labels
    lines = [["\\".join(panel.axes), *heads]]
    lines += [[name, *row] for name, row in zip(names, panel.cells())]
    widths = [max(map(width, column)) for column in zip(*lines)]
    rows = [
        "  ".join(" " * (w - width(text)) + text for text, w in zip(r, widths))
        for r in lines
    ]
    return "\n".join([panel.title, *rows])


def width(text: str) -> int:
    """Count the columns a text takes: vowel signs above or below take none."""
    return sum(unicodedata.category(letter) != "Mn" for letter in text)

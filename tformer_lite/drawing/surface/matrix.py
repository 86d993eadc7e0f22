"""One matrix, checked, with all that drawing and describing it needs."""

import math
from collections.abc import Collection, Sequence
from unicodedata import category

import torch
from torch import Tensor

from tformer_lite.drawing.surface.palette import AXES, KINDS
from tformer_lite.model.checks import check_axes
from tformer_lite.rounding import SOUND, decimals, first_largest

UNWRITTEN = set("01234")  # percent that are not written


class Matrix:
    """A matrix to be drawn: its title and heading, its values, which of its
    cells are hidden, what each says, its kind, the letters, names and
    labels of its two axes, and the number of the row that is framed.

    Kind and labels that are None are filled in. Raises ValueError for what
    is no matrix, and for what does not fit it.
    """

    def __init__(
        self,
        title: str,
        values: Tensor,
        axes: Sequence[str],
        labels: Sequence[list[str] | None],
        mask: Tensor | None,
        kind: str | None,
        row: int | str | None = None,
        diagonal: int | None = None,
    ):
        self.title, self.axes = title, axes
        self.values = values = torch.as_tensor(values).detach().cpu()
        check_matrix(title, values)
        self.heading = f"{title} {tuple(values.shape)}"
        self.kind = kind = kind or kind_of(values)
        check_known("kind", kind, KINDS)
        self.hidden = values == (False if kind == "mask" else -math.inf)
        if mask is not None:
            check_axes(mask, values.shape)
            self.hidden |= ~mask.cpu()
        self.labels = list(map(labels_for, labels, values.shape))
        self.names = [AXES.get(letter, ("",))[0] for letter in axes]
        self.cells = [[cell(x, kind) for x in xs] for xs in values.tolist()]
        self.row = None if row is None else row_number(row, self.labels[0])
        self.diagonal = diagonal

    @property
    def texts(self) -> list[list[str]]:
        """What stands in the cells: of percent from 5 on, and of scores with
        a framed row in this row alone."""
        alone = self.kind == "scores" and self.row is not None
        rows = [self.row] if alone else range(len(self.cells))
        few = UNWRITTEN if self.kind == "percent" else ()
        return [
            [with_minus(x) * (i in rows and x not in few) for x in row]
            for i, row in enumerate(self.cells)
        ]

    @property
    def best(self) -> tuple[int, int]:
        """The row and column of the largest value that is not hidden: in the
        framed row, if there is one."""
        seen = self.values.double().masked_fill(self.hidden, -math.inf)
        if self.row is not None:
            others = torch.arange(len(seen)) != self.row
            seen[others] = -math.inf
        return divmod(first_largest(seen), seen.shape[1])


def framed_boxes(matrix: Matrix) -> list[tuple[int, int, int, int]]:
    """Give the boxes of cells that have a frame."""
    rows, columns = matrix.values.shape
    boxes = [] if matrix.row is None else [(0, matrix.row, columns, 1)]
    if matrix.diagonal is not None:
        pairs = [(i - matrix.diagonal, i) for i in range(rows)]
        boxes += [(j, i, 1, 1) for j, i in pairs if 0 <= j < columns]
    return boxes


def check_matrix(title: str, values: Tensor) -> None:
    """Raise ValueError unless values are a matrix of real numbers."""
    if values.ndim != 2:
        raise ValueError(
            f"{title} has shape {tuple(values.shape)}, and a heatmap shows a "
            "matrix: choose one, such as weights[0, 1]."
        )
    if not values.numel():
        raise ValueError(
            f"{title} has shape {tuple(values.shape)}, and no number in it: "
            "a heatmap shows at least one."
        )
    if values.is_complex():
        raise ValueError(
            f"{title} is {values.dtype}, and a heatmap shows real numbers: "
            "choose .real, .imag or .abs()."
        )


def cell(value: float, kind: str) -> str:
    """Write a value: a whole number, two decimals, −∞, True or False."""
    if kind == "mask":
        return str(bool(value))
    if kind == "percent":
        return f"{100 * round(value, SOUND):.0f}"
    return str(value) if isinstance(value, int) else number(value)


def check_known(what: str, name: object, known: Collection) -> None:
    """Raise ValueError when a name is not among the known."""
    if name not in known:
        raise ValueError(
            f"{what} {name!r}: known are {', '.join(map(str, known))}."
        )


def check_axis(name: str) -> None:
    """Raise ValueError for the letter of no axis; a word names any."""
    if name not in AXES and not any(map(str.islower, name)):
        raise ValueError(
            f"axis {name!r}: known are {', '.join(AXES)}, and plain words."
        )


def kind_of(values: Tensor) -> str:
    """Tell a mask, weights (each row sums to 1, or is 0) and scores apart."""
    if values.dtype == torch.bool:
        return "mask"
    near = values.double().round(decimals=SOUND)
    sums = near.sum(-1)
    rows = ((sums - 1).abs() < 1e-2) | (sums == 0)
    return "weights" if rows.all() and (near >= 0).all() else "scores"


def labels_for(chosen: list[str] | None, size: int) -> list[str]:
    """Check the labels of an axis, and write control characters as Python
    does; number its places when there are none."""
    if chosen is None:
        return [str(i) for i in range(size)]
    if len(chosen) != size:
        raise ValueError(f"{len(chosen)} labels for an axis of size {size}.")
    return ["".join(map(visible, str(label))) for label in chosen]


def row_number(row: int | str, words: list[str]) -> int:
    """Find a row by its word or number. Raises ValueError if it is none."""
    if isinstance(row, str):
        check_known("row", row, words)
        return words.index(row)
    check_known("row", row, range(len(words)))
    return row


def visible(letter: str) -> str:
    """Write a letter that can be drawn as it is, a line feed as \\n."""
    if category(letter) in ("Cc", "Cs"):
        return letter.encode("unicode_escape").decode()
    return letter


def describe(matrices: list[Matrix]) -> str:
    """Say what matrices show: one paragraph of words, then the numbers."""
    numbers = (table_of(matrix, matrix.title) for matrix in matrices)
    words = " ".join(map(matrix_sentences, matrices))
    return "\n\n".join([words, *filter(None, numbers)])


def table_of(matrix: Matrix, title: str) -> str:
    """Write a matrix's numbers, if it is small enough."""
    if max(matrix.values.shape) > 16:
        return ""
    names, heads = matrix.labels
    rows = [["\\".join(matrix.axes), *heads]]
    rows += [[name, *row] for name, row in zip(names, matrix.cells)]
    return table(title, rows)


def matrix_sentences(matrix: Matrix) -> str:
    """Describe a matrix to someone who does not see it."""
    rows, columns = (
        f"{letter} ({name})" if name else letter
        for letter, name in zip(matrix.axes, matrix.names)
    )
    say = [f"{matrix.heading}: rows {rows}, columns {columns}."]
    if matrix.hidden.any():
        hidden, cells = matrix.hidden.sum().item(), matrix.hidden.numel()
        say.append(f"{hidden} of {cells} cells are masked.")
    if matrix.diagonal is not None:
        say.append(f"Cells with row − column = {matrix.diagonal} are framed.")
    if matrix.row is not None:
        word = matrix.labels[0][matrix.row]
        say.append(f"Row {matrix.row} ({word}) is framed.")
    framed = slice(matrix.row, None if matrix.row is None else matrix.row + 1)
    if matrix.kind != "mask" and not matrix.hidden[framed].all():
        i, j = matrix.best
        row, column = matrix.labels[0][i], matrix.labels[1][j]
        of = "Largest" if matrix.row is None else "Largest in it"
        most = matrix.cells[i][j] + " %" * (matrix.kind == "percent")
        say.append(f"{of}: {most} in row {i} ({row}), column {j} ({column}).")
    return " ".join(say)


def table(title: str, rows: list[list[str]]) -> str:
    """Set rows in columns of plain text, below a title."""
    lines = zip(*map(right_aligned, zip(*rows)))
    return "\n".join([title, *map("  ".join, lines)])


def right_aligned(texts: Sequence[str]) -> list[str]:
    """Fill texts up to one width: vowel signs above or below take none."""
    widths = [sum(category(letter) != "Mn" for letter in t) for t in texts]
    return [" " * (max(widths) - w) + t for t, w in zip(texts, widths)]


def number(value: Tensor | float) -> str:
    """Write a number with two decimals, and no zero with a minus."""
    return decimals(float(value)).replace("inf", "∞")


def with_minus(text: str) -> str:
    """Write a minus sign that is as wide as a plus."""
    return text.replace("-", "−")

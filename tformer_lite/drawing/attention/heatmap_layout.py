"""How matrices are laid out: side by side, or below each other."""

import math
from collections.abc import Sequence

from tformer_lite.drawing.surface.matrix import Matrix, with_minus
from tformer_lite.drawing.surface.page import (
    NAME,
    SMALL,
    lines,
    shape_width,
    text_width,
)

MOST = 24  # rows and columns that are drawn cell by cell
LEAST, SQUARE, ROW = 15, 20, 22  # cells: side by side, a square, with digits
HIGH, SLOT = 320, 250  # of an image: its height, the least width beside others
HEAD, TITLE, GAP, EDGE = 36, 15, 24, 8  # pixels around matrices
LONGEST = 120  # a word, beside or below
TURN = math.radians(60)  # of words below a matrix
STEPS = [x * 10**i for i in range(6) for x in (1, 2, 5)]


class Layout:
    """Where matrices stand on a page so wide: how many are side by side, how
    large cells and digits are (none: 0), what heads and labels need."""

    def __init__(self, matrices: list[Matrix], width: float):
        self.matrices, self.width = matrices, width
        shapes = [matrix.values.shape for matrix in matrices]
        self.rows, self.columns = map(max, zip(*shapes))
        self.is_image = max(self.rows, self.columns) > MOST
        first, *others = (matrix.labels[0] for matrix in matrices)
        self.shared = all(words == first for words in others)
        self.margin = max(map(beside, matrices))
        self.rooms = [0.0, 0.0] if self.is_image else digit_rooms(matrices)
        count = len(matrices)
        fit = next(k for k in range(count, 0, -1) if k == 1 or self.fits(k))
        self.side_by_side = math.ceil(count / math.ceil(count / fit))
        self.slot = self.slots(self.side_by_side)
        self.cell, self.digits = self.cells(self.slot / self.columns)
        self.titles = [
            lines(m.title, self.slot, NAME, "bold") for m in matrices
        ]
        self.in_line = all(
            len(title) == 1 and head_width(self, i, True) <= self.slot
            for i, title in enumerate(self.titles)
        )

    def fits(self, count: int) -> bool:
        """Tell whether so many matrices stand side by side."""
        if self.is_image:
            return self.slots(count) >= SLOT
        least = LEAST if self.width > 500 else self.rooms[0]
        return self.slots(count) / self.columns >= least

    def slots(self, count: int) -> float:
        """Give the width of each of so many panels, side by side."""
        margins = self.margin * (1 if self.shared else count)
        return (self.width - margins - 12 - GAP * (count - 1)) / count

    def cells(self, wide: float) -> tuple[tuple[float, float], int]:
        """Give the size of a cell that may be so wide, and of its digits."""
        if self.is_image:
            high = min(HIGH / self.rows, SQUARE)
            square = self.rows == self.columns
            return (min(wide, high if square else SQUARE), high), 0
        for size, room in zip((10, 9), self.rooms[::-1]):
            if wide >= room:
                return (min(wide, max(room + 6, 40)), ROW), size
        side = min(wide, SQUARE)
        return (side, side), 0


def groups(plan: Layout) -> list[range]:
    """Give the panels that stand side by side, row by row."""
    panels, each = range(len(plan.matrices)), plan.side_by_side
    return [panels[i : i + each] for i in panels[::each]]


def beside(matrix: Matrix) -> float:
    """Give the room that the words of a matrix need at its left."""
    rows, columns = map(longest, matrix.labels)
    return max(rows + EDGE, columns * math.cos(TURN))


def digit_rooms(matrices: list[Matrix]) -> list[float]:
    """Give the widths of cells whose digits have 9 and 10 pixels."""
    cells = {text for m in matrices for row in m.cells for text in row}
    texts = list(map(with_minus, cells))
    return [max(text_width(x, size) for x in texts) + 5 for size in (9, 10)]


def head_width(plan: Layout, i: int, in_line: bool) -> float:
    """Give the width of a title and its shape, in one line or in two."""
    matrix = plan.matrices[i]
    shape = shape_width(matrix.axes, tuple(matrix.values.shape))
    title = max(text_width(x, NAME, "bold") for x in plan.titles[i])
    return title + 10 + shape if in_line else max(title, shape)


def head(plan: Layout, panels: Sequence[int]) -> float:
    """Give the height of what stands above panels side by side."""
    if plan.in_line:
        return HEAD
    return HEAD + TITLE * max(len(plan.titles[i]) for i in panels)


def body(plan: Layout, panels: Sequence[int]) -> float:
    """Give the height of panels side by side, with the words below."""
    return max(
        len(plan.matrices[i].values) * plan.cell[1] + below(plan, i)
        for i in panels
    )


def below(plan: Layout, i: int) -> float:
    """Give the room that the words below a panel need."""
    words = plan.matrices[i].labels[1]
    if is_level(plan, words):
        return 20
    return longest(words) * math.sin(TURN) + 16


def is_level(plan: Layout, words: list[str]) -> bool:
    """Tell whether words below a matrix need not be turned."""
    short = all(word.isdecimal() for word in words)
    return short or longest(words) + 4 <= plan.cell[0]


def longest(words: Sequence[str]) -> float:
    """Give the width of the longest word, as it is written."""
    return min(max(text_width(word, SMALL) for word in words), LONGEST)


def ticks(size: int, cell: float, room: float) -> list[int]:
    """Choose the places of an axis that are labelled, so much room apart:
    in equal steps from the first, and the last where it has room."""
    doubled = [2**i for i in range(20)] if size % 16 == 0 else STEPS
    step = next(step for step in doubled if step * cell >= room)
    places = list(range(0, size, step))
    last = size - 1
    if len(places) > 1 and (last - places[-1]) * cell < room:
        places.pop()
    return places if last in places or last * cell < room else [*places, last]

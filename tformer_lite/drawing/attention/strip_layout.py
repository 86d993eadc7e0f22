"""How a strip is laid out: as large as fits, and broken into lines."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tformer_lite.drawing.attention.chains import Chain, Operator
from tformer_lite.drawing.surface.matrix import Matrix
from tformer_lite.drawing.surface.page import (
    NAME,
    SMALL,
    shape_width,
    text_width,
)

LARGEST, LEAST = 16.5, 11.0  # cells, in pixels
HEAD, BETWEEN = 54, 36  # above the cells; what stands between two lines
GAP, SIGN, TINY = 14, 26, 30  # between matrices: nothing, a sign, a mask
CHANNELS = "channels"
TURN = math.radians(60)  # of the words below a matrix


@dataclass(frozen=True)
class Spot:
    """A matrix or an operator, its left edge and width; and whether the
    words of its rows stand at its left."""

    link: Matrix | Operator
    left: float
    width: float
    words: bool = False


@dataclass
class Line:
    """What stands in a row; `above` are operators that the row before had
    no room for."""

    end: float
    above: list[Operator] = field(default_factory=list)
    spots: list[Spot] = field(default_factory=list)

    @property
    def matrices(self) -> list[Matrix]:
        """The matrices alone."""
        links = [spot.link for spot in self.spots]
        return [link for link in links if isinstance(link, Matrix)]

    def put(
        self, link: Matrix | Operator, width: float, words: bool = False
    ) -> None:
        """Put something at the end."""
        self.spots.append(Spot(link, self.end, width, words))
        self.end += width


def best_layout(
    chains: Sequence[Chain], width: float
) -> tuple[float, list[list[Line]]]:
    """Choose the largest cells that need the fewest lines."""
    left = max(margin(m) for chain in chains for m in chain.matrices)
    room = min(
        (width - left - 6) / matrix.values.shape[1]
        for chain in chains
        for matrix in chain.matrices
    )
    steps = range(int(2 * (LARGEST - LEAST)) + 1)
    sizes = [min(LARGEST - step / 2, room) for step in steps]
    tried = [
        (size, [list(lines_of(chain, left, width, size)) for chain in chains])
        for size in sizes
    ]
    return min(tried, key=lambda one: sum(map(len, one[1])))


def lines_of(
    chain: Chain, left: float, width: float, cell: float
) -> Iterator[Line]:
    """Break a chain into lines that are no wider than the page."""
    line, waiting, said = Line(left), list[Operator](), [""]
    for link in chain.links:
        if isinstance(link, Operator):
            waiting.append(link)
            continue
        first, rows = not line.matrices, link.labels[0]
        new = not first and has_words(link, 0) and rows != said
        room = GAP * (not waiting) + sum(map(operator_width, waiting))
        room = (0 if first and not waiting else room) + margin(link) * new
        wide = panel_width(link, cell)
        if not first and line.end + room + wide > width - 3:
            yield line
            line, waiting, new, first = Line(left, waiting), [], False, True
            room = 0
        for operator in waiting:
            line.put(operator, operator_width(operator))
        line.end += room - sum(map(operator_width, waiting))
        line.put(link, wide, new or (first and has_words(link, 0)))
        waiting, said = [], rows if has_words(link, 0) else said
    yield line


def has_words(matrix: Matrix, axis: int) -> bool:
    """Whether words, or numbers, stand beside an axis: channels have none."""
    return matrix.axes[axis] not in ("C", "D", "F")


def margin(matrix: Matrix) -> float:
    """How much room the words of its rows take."""
    words = matrix.labels[0] if has_words(matrix, 0) else []
    bold = [text_width(word, SMALL, "bold") for word in words]
    return max(bold, default=0) + 8


def panel_width(matrix: Matrix, cell: float) -> float:
    """How wide a matrix is with what stands above it."""
    sizes = tuple(matrix.values.shape)
    title = text_width(matrix.title, NAME, "bold")
    above = title, shape_width(matrix.axes, sizes)
    return max(cell * sizes[1], *above) + 2


def operator_width(operator: Operator) -> float:
    """How much room an operator takes between two matrices."""
    if is_sign(operator):
        return SIGN
    notes = [text_width(note, SMALL) for note in operator.notes]
    name = text_width(operator.name, weight="bold")
    return max(name, TINY, *notes, 0) + 12


def is_sign(operator: Operator) -> bool:
    """Whether it is written large, without an arrow: @ or =."""
    return len(operator.name) < 3 and operator.mask is None


def below(matrix: Matrix) -> float:
    """How far the words of its columns reach down."""
    if not has_words(matrix, 1):
        return 16
    widest = max(text_width(word, SMALL, "bold") for word in matrix.labels[1])
    return widest * math.sin(TURN) + 12


def height(line: Line, cell: float) -> float:
    """How high a line is with all that belongs to it."""
    reach = [cell * len(m.values) + below(m) for m in line.matrices]
    between = BETWEEN + 6 * any(o.mask is not None for o in line.above)
    return HEAD + max(reach) + bool(line.above) * between

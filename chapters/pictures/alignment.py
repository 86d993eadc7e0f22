"""Ribbons from words to words, as wide as the weights between them."""

from collections.abc import Iterator, Sequence

from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

from pictures.canvas import WIDEST, Canvas, titles_of
from tformer_lite.drawing.surface.matrix import Matrix, table_of
from tformer_lite.drawing.surface.page import (
    NAME,
    Style,
    shortened,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    INK,
    MUTED,
    RIM,
    SHARE,
)
from tformer_lite.drawing.surface.picture import Picture, styled
from tformer_lite.rounding import rounded

__all__ = ["ribbons"]

THIN = 0.1  # smaller weights have no ribbon
BAND, HIGH = 24, 100  # a ribbon of weight 1; from words to words
WORD, LONGEST = 16, 90  # a line of words; a word that is turned
RIBBON = SHARE.light[-1]
Bands = Iterator[tuple[int, float, float, float]]


def ribbons(
    *weights: Tensor,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    row: int | str | None = None,
    titles: Sequence[str] | None = None,
) -> Picture:
    """Draw attention as ribbons, as wide as its weights: (T, S) -> a picture.

    Each of the words `rows` has ribbons from those of the `columns` that it
    attends to; weights below 0.1 have none. Several matrices, such as
    heads, stand below each other. The `row` of a number or word is lit;
    `titles` replaces what you wrote. Raises ValueError for what is no
    matrix, or has negative numbers.

    >>> ribbons(softmax(torch.zeros(2, 3)), titles=["weights"])
    weights: ribbons as wide as weights, (2, 3). 0 attends to 0 (0.33). ...
    """
    labels = [list(words) if words else None for words in (rows, columns)]
    shown = [
        Matrix(title, values, ("T", "S"), labels, None, "weights")
        for title, values in zip(titles_of(titles, len(weights)), weights)
    ]
    for matrix in shown:
        if (matrix.values < 0).any():
            raise ValueError(f"{matrix.title} has negative numbers.")
    lit = place_of(row, shown[0].labels[0])
    return Ribbons(shown, lit).picture(ribbons_text(shown, lit))


def place_of(row: int | str | None, words: list[str]) -> int | None:
    """Find a row by its number or word. Raises ValueError for another."""
    if isinstance(row, str) and row in words:
        return words.index(row)
    if isinstance(row, str) or not -1 < (row or 0) < len(words):
        raise ValueError(f"{row=} is none of {', '.join(words)}.")
    return row


def ribbons_text(matrices: Sequence[Matrix], lit: int | None) -> str:
    """Say what ribbons show: what is lit, or else each row; then numbers."""
    words = []
    for matrix in matrices:
        sizes = tuple(matrix.values.shape)
        words.append(f"{matrix.title}: ribbons as wide as weights, {sizes}.")
        rows = range(len(matrix.values)) if lit is None else [lit]
        words += [row_text(matrix, i, 1 if lit is None else 3) for i in rows]
    numbers = [table_of(matrix, matrix.title) for matrix in matrices]
    return "\n\n".join([" ".join(words), *filter(None, numbers)])


def row_text(matrix: Matrix, i: int, most: int) -> str:
    """Say what a row attends to most."""
    shares = list(map(rounded, matrix.values[i].tolist()))
    order = sorted(range(len(shares)), key=lambda j: -shares[j])[:most]
    best = [f"{matrix.labels[1][j]} ({shares[j]:.2f})" for j in order]
    return f"{matrix.labels[0][i]} attends to {', '.join(best)}."


class Ribbons(Canvas):
    """A page of matrices below each other, each with its words above and
    below; these are turned where they have no room."""

    @styled
    def __init__(self, matrices: Sequence[Matrix], lit: int | None):
        super().__init__()
        labels = matrices[0].labels
        widest = max(text_width(word) for words in labels for word in words)
        self.turned = widest + 4 > WIDEST / max(map(len, labels))
        self.span = WIDEST - (min(widest, LONGEST) if self.turned else 4)
        self.word = 0.87 * min(widest, LONGEST) + 12 if self.turned else WORD
        top = 0.0
        for matrix in matrices:
            if len(matrices) > 1:
                style: Style = {"weight": "bold", "size": NAME}
                self.write(self.span / 2, top, matrix.title, **style)
                top += WORD
            top = draw_matrix(self, matrix, lit, top) + WORD

    def places(self, words: Sequence[str]) -> list[float]:
        """Spread words over a line."""
        return [self.span * (i + 0.5) / len(words) for i in range(len(words))]


def draw_matrix(
    page: Ribbons, matrix: Matrix, lit: int | None, top: float
) -> float:
    """Draw ribbons between two lines of words, and tell where they end."""
    rows, columns = matrix.labels
    draw_words(page, columns, top + page.word, -1)
    top += page.word + 8
    for i, start, stop, wide in bands(matrix, page):
        colour, order = (RIM[0], 3) if i == lit else (RIBBON, 2)
        style: Style = {"fc": colour, "ec": RIM[0], "lw": 0.5}
        path = ribbon(top, start, stop, wide)
        page.add(PathPatch(path, zorder=order, **style))
    draw_words(page, rows, top + HIGH + 8, 1, lit)
    return top + HIGH + 8 + page.word


def draw_words(
    page: Ribbons,
    words: list[str],
    y: float,
    down: int,
    lit: int | None = None,
) -> None:
    """Write words that begin at a line and go down, or up; a marker is
    grey."""
    turn: Style = {"rotation": 60, "rotation_mode": "anchor"}
    turn |= {"ha": "right", "va": "top"} if down > 0 else {"ha": "left"}
    for i, (x, word) in enumerate(zip(page.places(words), words)):
        marker = word.startswith("[") and word.endswith("]")
        style: Style = {"color": (MUTED if marker else INK)[0]}
        style |= {"weight": "bold"} if i == lit else {}
        style |= turn if page.turned else {}
        up = 0 if page.turned else 5 * down
        page.write(x, y + up, shortened(word, LONGEST), **style)


def bands(matrix: Matrix, page: Ribbons) -> Bands:
    """Give the row of each ribbon, where it starts and stops, and how wide
    it is: as its weight, and those of a word side by side, so that none
    meets the next word's."""
    values = matrix.values.double()
    room = [
        0.85 * (page.span / n) / max(values.sum(axis).max().item(), 1e-6)
        for axis, n in enumerate(reversed(values.shape))
        if n > 1
    ]
    kept = values.masked_fill(values < THIN, 0) * min([BAND, *room])
    stops, starts = (
        [x - wide / 2 for x, wide in zip(page.places(words), sums.tolist())]
        for words, sums in zip(matrix.labels, (kept.sum(1), kept.sum(0)))
    )
    for i, j in kept.nonzero().tolist():
        wide = kept[i, j].item()
        yield i, starts[j], stops[i], wide
        starts[j] += wide
        stops[i] += wide


def ribbon(top: float, start: float, stop: float, wide: float) -> Path:
    """Shape a ribbon: two curves that leave and arrive straight."""
    half, low = top + HIGH / 2, top + HIGH
    there = [(start, top), (start, half), (stop, half), (stop, low)]
    back = [(x + wide, y) for x, y in reversed(there)]
    curve = [Path.CURVE4] * 3
    codes = [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY]
    return Path([*there, *back, there[0]], codes)

"""Ribbons from words to words, as wide as the weights between them."""

from collections.abc import Iterator, Sequence

from torch import Tensor

from pictures.canvas import WIDEST, Canvas, titles_of
from tformer_lite.drawing.surface.matrix import Matrix, table_of
from tformer_lite.drawing.surface.page import SIZE, Style, text_width
from tformer_lite.drawing.surface.palette import GREY, INK, RIM, SHARE
from tformer_lite.drawing.surface.picture import Picture, with_style
from tformer_lite.rounding import round_number

__all__ = ["ribbons"]

THIN = 0.1  # smaller weights have no ribbon
BAND, HIGH = 24, 100  # a ribbon of weight 1; from words to words
WORD, LONGEST = 16, 80  # a line of words; a word that is turned
RIBBON = SHARE.light[-1]
Places = Sequence[float]
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
    heads, stand beside each other. The `row` of a number or word is lit;
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
    titles = [x.title * (len(shown) > 1) for x in shown]
    page, *others = (draw_ribbons(x, lit, y) for x, y in zip(shown, titles))
    return page.picture(ribbons_text(shown, lit), *others)


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
    shares = list(map(round_number, matrix.values[i].tolist()))
    order = sorted(range(len(shares)), key=lambda j: -shares[j])[:most]
    best = [f"{matrix.labels[1][j]} ({shares[j]:.2f})" for j in order]
    return f"{matrix.labels[0][i]} attends to {', '.join(best)}."


@with_style
def draw_ribbons(matrix: Matrix, lit: int | None, title: str) -> Canvas:
    """Draw a matrix between its words, which are turned where they have no
    room."""
    page, labels = Canvas(), matrix.labels
    page.bold(WIDEST / 2, -WORD, title)
    most = [len(words) * max(map(text_width, words)) for words in labels]
    turned = max(most) > WIDEST - 30
    top = 0.87 * LONGEST + 14 if turned else WORD + 6
    rows, columns = (word_places(words, turned) for words in labels)
    draw_ends(page, labels[1], columns, top - 6, -1, turned)
    for i, start, stop, wide in bands(matrix.values, rows, columns):
        colour, order = (RIM[0], 3) if i == lit else (RIBBON, 2)
        style: Style = {"ec": colour, "lw": wide - 0.8, "zorder": order}
        page.wire((start, top), (stop, top + HIGH), upright=True, **style)
    draw_ends(page, labels[0], rows, top + HIGH + 6, 1, turned, lit)
    return page


def word_places(words: Sequence[str], turned: bool) -> list[float]:
    """Spread words over a line; those that are turned stand out at an end."""
    wide = WIDEST - (LONGEST if turned else 4)
    return [wide * (i + 0.5) / len(words) for i in range(len(words))]


def draw_ends(
    page: Canvas,
    words: list[str],
    places: Places,
    y: float,
    down: int,
    turned: bool,
    lit: int | None = None,
) -> None:
    """Write words that begin at a line and go down, or up; a marker is
    grey."""
    turn: Style = {"rotation": 60, "rotation_mode": "anchor"}
    turn |= {"ha": "right", "va": "top"} if down > 0 else {"ha": "left"}
    for i, (x, word) in enumerate(zip(places, words)):
        marker = word.startswith("[") and word.endswith("]")
        style: Style = {"color": (GREY if marker else INK)[0], "size": SIZE}
        style |= {"weight": "bold"} if i == lit else {}
        style |= turn if turned else {}
        page.word(x, y + 5 * down * (not turned), word, LONGEST, **style)


def bands(values: Tensor, rows: Places, columns: Places) -> Bands:
    """Give the row of each ribbon, the middles of its ends, and how wide it
    is: as its weight, and those of a word side by side, so that none meets
    the next word's."""
    room = [
        0.85 * (places[1] - places[0]) / max(sums.max().item(), 1e-6)
        for places, sums in ((rows, values.sum(1)), (columns, values.sum(0)))
        if len(places) > 1
    ]
    kept = values.double().masked_fill(values < THIN, 0) * min([BAND, *room])
    stops, starts = (
        [x - wide / 2 for x, wide in zip(places, sums.tolist())]
        for places, sums in ((rows, kept.sum(1)), (columns, kept.sum(0)))
    )
    for i, j in kept.nonzero().tolist():
        wide = kept[i, j].item()
        yield i, starts[j] + wide / 2, stops[i] + wide / 2, wide
        starts[j] += wide
        stops[i] += wide

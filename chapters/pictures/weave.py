"""How ribbons are laid out and drawn, from words to words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from tformer_lite.drawing.surface.matrix import Matrix
from tformer_lite.drawing.surface.page import (
    NAME,
    Box,
    Page,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import INK, MUTED, RIM, SHARE

THIN = 0.1  # smaller weights have no ribbon
RIBBON = SHARE.light[-1], SHARE.dark[-1]
# Pixels: from words to words, from word to word, and of what is above.
HIGH, PITCH, HEAD, GUTTER = 120, 27, 26, 24
WIDEST, LEAST = 24, 200  # a ribbon of weight 1; a drawing beside others
Places = Sequence[float]


@dataclass(frozen=True)
class Weave:
    """Where the words of a matrix stand: in two lines, from top to bottom
    or, if `level`, from left to right. `ends` says where the lines are,
    `starts` and `stops` where on them the words of columns and rows are.
    """

    matrix: Matrix
    level: bool
    ends: tuple[float, float]
    starts: Places
    stops: Places

    @property
    def unit(self) -> float:
        """How wide a ribbon of weight 1 is, so that none meets the next
        word's."""
        values = self.matrix.values.double()
        sides = (self.starts, values.sum(0)), (self.stops, values.sum(1))
        room = [
            0.85 * (words[1] - words[0]) / max(sums.max().item(), 1e-6)
            for words, sums in sides
            if len(words) > 1
        ]
        return min([WIDEST, *room])

    def bands(self) -> Iterator[tuple[int, float, float, float]]:
        """Give the row of each ribbon, where it starts and stops, and how
        wide it is. Those of a word lie side by side."""
        values = self.matrix.values.double()
        kept = values.masked_fill(values < THIN, 0) * self.unit
        sides = (self.starts, kept.sum(0)), (self.stops, kept.sum(1))
        starts, stops = (
            [x - wide / 2 for x, wide in zip(words, sums.tolist())]
            for words, sums in sides
        )
        for i, j in kept.nonzero().tolist():
            wide = kept[i, j].item()
            yield i, starts[j], stops[i], wide
            starts[j] += wide
            stops[i] += wide


def draw_weave(page: Page, weave: Weave, lit: int | None) -> None:
    """Draw ribbons and words; the row that is lit lies above the others."""
    for i, start, stop, wide in weave.bands():
        path = ribbon(weave, start, stop, wide)
        style: Style = {"fc": (RIM if i == lit else RIBBON)[0], "lw": 0.5}
        order = 3 if i == lit else 2
        page.add(PathPatch(path, ec=RIM[0], zorder=order, **style))
    (rows, columns), (first, last) = weave.matrix.labels, weave.ends
    for place, word in zip(weave.starts, columns):
        draw_word(page, (first, place), word, -1, weave.level)
    for i, (place, word) in enumerate(zip(weave.stops, rows)):
        bold = {"weight": "bold"} if i == lit else {}
        draw_word(page, (last, place), word, 1, weave.level, **bold)


def draw_word(
    page: Page,
    place: tuple[float, float],
    word: str,
    beyond: int,
    level: bool,
    **style: str,
) -> None:
    """Write a word beyond its end of the ribbons; a marker is grey."""
    line, along = place
    marker = word.startswith("[") and word.endswith("]")
    style["color"] = (MUTED if marker else INK)[0]
    if level:
        style["ha"] = "left" if beyond > 0 else "right"
        page.write(line + 6 * beyond, along, word, **style)
    else:
        page.write(along, line + 13 * beyond, word, **style)


def ribbon(weave: Weave, start: float, stop: float, wide: float) -> Path:
    """Shape a ribbon: two curves that leave and arrive straight."""
    first, last = weave.ends
    half = (first + last) / 2
    there = [(start, first), (start, half), (stop, half), (stop, last)]
    back = [(x + wide, y) for x, y in reversed(there)]
    places = [*there, *back, there[0]]
    turned = [(y, x) for x, y in places] if weave.level else places
    curve = [Path.CURVE4] * 3
    codes = [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY]
    return Path(turned, codes)


def draw(matrices: Sequence[Matrix], lit: int | None, width: float) -> Figure:
    """Draw one matrix from top to bottom, if its words have room; several
    from left to right, beside each other and then below."""
    first, *others = matrices
    if not others and fits(first, width):
        page = Page(width, HIGH + 2 * HEAD)
        rows, columns = (spread(words, width) for words in first.labels)
        weave = Weave(first, False, (HEAD, HEAD + HIGH), columns, rows)
        draw_weave(page, weave, lit)
        return page.figure
    n = max(1, min(len(matrices), int(width // LEAST)))
    wide = (width + GUTTER) / n - GUTTER
    high = HEAD + PITCH * max(max(m.values.shape) for m in matrices) + 6
    page = Page(width, high * -(-len(matrices) // n))
    for i, matrix in enumerate(matrices):
        left, top = i % n * (wide + GUTTER), i // n * high
        draw_beside(page, matrix, (left, top, wide, high), lit)
    return page.figure


def draw_beside(page: Page, matrix: Matrix, box: Box, lit: int | None) -> None:
    """Draw a matrix from left to right, with its title."""
    left, top, wide, high = box
    style: Style = {"weight": "bold", "size": NAME}
    page.write(left + wide / 2, top + HEAD / 2, matrix.title, **style)
    rows, columns = (
        [top + (HEAD + high) / 2 + PITCH * x for x in centred(words)]
        for words in matrix.labels
    )
    room = [max(map(text_width, words)) + 8 for words in matrix.labels]
    ends = left + room[1], left + wide - room[0]
    draw_weave(page, Weave(matrix, True, ends, columns, rows), lit)


def centred(words: Sequence[str]) -> list[float]:
    """Number places so that their mean is 0."""
    return [i - (len(words) - 1) / 2 for i in range(len(words))]


def spread(words: Sequence[str], width: float) -> list[float]:
    """Spread words over a line."""
    return [width * (i + 0.5) / len(words) for i in range(len(words))]


def fits(matrix: Matrix, width: float) -> bool:
    """Whether words have room beside each other."""
    return all(
        max(map(text_width, words)) + 4 < width / len(words)
        for words in matrix.labels
    )

"""How one query is drawn: a column for each word, the output at the end."""

from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from tformer_lite.drawing.surface.matrix import number
from tformer_lite.drawing.surface.page import (
    NAME,
    SMALL,
    Page,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    CENTRED,
    EDGE,
    INK,
    MUTED,
)

SMALLEST = 9  # letters
UP, DOWN = 34, 34  # the largest score's bar, and that of the lowest
MASK, WEIGHT, CELL, MOST = 26, 44, 19, 160  # rows, a cell, all the cells
COLOURS = {True: CENTRED.light[-1], False: CENTRED.light[0]}


@dataclass(frozen=True)
class Query:
    """What one query gets: a score and a weight of each word, and each
    word's share of the output, a column of channels. `said` is whose."""

    said: str
    words: list[str]
    scores: Tensor
    mask: Tensor
    weights: Tensor
    shares: Tensor

    @property
    def output(self) -> Tensor:
        """The sum of all shares."""
        return self.shares.sum(1)


class Columns:
    """A page with a column for each word: what stands where."""

    def __init__(self, query: Query, width: float):
        self.query, self.wide = query, width > 500
        self.left, self.right = (96, 78) if self.wide else (50, 56)
        n, d = len(query.words), len(query.output)
        self.step = (width - self.left - self.right) / n
        self.bar = min(30, 0.62 * self.step)
        self.digits = self.step >= 27
        self.high = min(CELL, MOST / d)
        widest = max(text_width(word, weight="bold") for word in query.words)
        self.turned = widest > 2 * self.step - 6
        self.levels = 1 + (widest > self.step - 4)
        self.head = widest * 0.87 + 14 if self.turned else 18 * self.levels
        self.zero = self.head + UP + 16
        self.masks = self.zero + DOWN + 26
        hides = MASK if not query.mask.all() else -MASK
        self.base = self.masks + hides + WEIGHT + 4
        self.values = self.base + 28
        self.page = Page(width, self.values + self.high * d + 8)

    def x(self, i: int) -> float:
        """Give the middle of a word's column."""
        return self.left + (i + 0.5) * self.step

    def write(self, x: float, y: float, value: float, **style: object) -> None:
        """Write a number, if there is room for it."""
        size: Style = {"size": SMALL if self.wide else SMALLEST}
        if self.digits:
            text = number(value).replace("-", "−")
            self.page.write(x, y, text, **size | style)

    def name(self, y: float, text: str, note: str) -> None:
        """Name a row at the left; aside there is room on a wide page only."""
        style: Style = {"weight": "bold", "ha": "right"}
        x = self.left - 8
        self.page.write(x, y - 7 * self.wide, text, size=SMALL, **style)
        if self.wide:
            self.page.note(x, y + 8, note, ha="right", size=SMALLEST)


def draw_query(query: Query, width: float) -> Figure:
    """Draw one query's way from scores to its output."""
    columns = Columns(query, width)
    draw_words(columns)
    draw_scores(columns)
    if not query.mask.all():
        draw_mask(columns)
    draw_weights(columns)
    draw_values(columns)
    return columns.page.figure


def draw_words(columns: Columns) -> None:
    """Write the words: bold, on two levels, or turned, as there is room."""
    query = columns.query
    best = int(query.weights.argmax())
    for i, word in enumerate(query.words):
        style: Style = {"color": (INK if query.mask[i] else MUTED)[0]}
        style["weight"] = "bold" if i == best else "normal"
        y = 9.0 + 18 * (i % columns.levels)
        if columns.turned:
            turn: Style = {"rotation": 60, "rotation_mode": "anchor"}
            style |= turn | {"ha": "left"}
            y = columns.head - 4
        columns.page.write(columns.x(i), y, word, **style)


def draw_scores(columns: Columns) -> None:
    """Draw each score as a bar, up or down."""
    page, query, zero = columns.page, columns.query, columns.zero
    columns.name(zero, "score", "q · k ÷ √D")
    finite = query.scores[query.scores.isfinite()].abs()
    most = max([1e-9, *finite.tolist()])
    page.add(line(columns.left, page.width - columns.right, zero))
    for i, score in enumerate(query.scores.tolist()):
        seen, x = bool(query.mask[i]), columns.x(i)
        high = UP * score / most if abs(score) < float("inf") else 0
        box = x - columns.bar / 2, zero - max(high, 0), columns.bar, abs(high)
        if seen:
            bar(page, box, COLOURS[score > 0])
        elif high:
            page.hatch([box])
        beyond = zero - high - 9 if high > 0 else zero - high + 9
        colour = (INK if seen else MUTED)[0]
        columns.write(x, beyond, score, color=colour)


def draw_mask(columns: Columns) -> None:
    """Write what the mask adds: 0, or −∞ on hatching."""
    page, query, y = columns.page, columns.query, columns.masks
    columns.name(y, "+ mask", "0 or −∞")
    for i, seen in enumerate(query.mask.tolist()):
        x = columns.x(i)
        if not seen:
            wide = columns.bar + 6
            page.hatch([(x - wide / 2, y - 9, wide, 18)])
        page.write(x, y, "0" if seen else "−∞", size=SMALL, color=MUTED[0])


def draw_weights(columns: Columns) -> None:
    """Draw each weight as a part of a box that stands for 1."""
    page, query, base = columns.page, columns.query, columns.base
    columns.name(base - WEIGHT / 2, "weight", "softmax")
    best = int(query.weights.argmax())
    for i, weight in enumerate(query.weights.tolist()):
        left = columns.x(i) - columns.bar / 2
        bar(page, (left, base - WEIGHT, columns.bar, WEIGHT), None)
        high = WEIGHT * weight
        bar(page, (left, base - high, columns.bar, high), COLOURS[True])
        bold: Style = {"weight": "bold" if i == best else "normal"}
        columns.write(columns.x(i), base + 10, weight, **bold)
    end = page.width - columns.right / 2
    page.note(end, base - WEIGHT / 2, "sum 1")


def draw_values(columns: Columns) -> None:
    """Draw each weighted value as a column of cells, and their sum."""
    page, query, top = columns.page, columns.query, columns.values
    high = columns.high * len(query.output)
    middle = top + high / 2
    columns.name(
        middle, "weight × v" if columns.wide else "w × v", "summed up"
    )
    most = max(query.output.abs().max(), query.shares.abs().max()).item()
    limits = -(most or 1), most or 1
    wide = min(columns.step - 14, 46) if columns.wide else columns.step - 7
    for i, values in enumerate(query.shares.T):
        box = columns.x(i) - wide / 2, top, wide, high
        page.cells(box, values[:, None], CENTRED, limits)
        if columns.wide:
            write_values(columns, columns.x(i), values)
        if i:
            page.note(columns.x(i) - columns.step / 2, middle, "+")
    out, last = page.width - columns.right / 2 + 6, columns.right - 22
    box = out - last / 2, top, last, high
    page.cells(box, query.output[:, None], CENTRED, limits)
    write_values(columns, out, query.output)
    page.frame((box[0] - 2, top - 2, last + 4, high + 4))
    page.write(out, top - 12, "output", weight="bold", size=SMALL)
    gap = (columns.x(len(query.words) - 1) + wide / 2 + box[0]) / 2
    page.write(gap, middle, "=", weight="bold", size=NAME + 2)


def write_values(columns: Columns, x: float, values: Tensor) -> None:
    """Write the numbers of a column of cells, where these are high enough."""
    for row, value in enumerate(values.tolist()):
        if columns.high > 14:
            columns.write(
                x, columns.values + (row + 0.5) * columns.high, value
            )


def bar(
    page: Page, box: tuple[float, float, float, float], colour: str | None
) -> None:
    """Draw a bar with an outline, or an empty one."""
    left, top, wide, high = box
    style: Style = {"fc": colour or "none", "ec": EDGE[0], "lw": 0.7}
    page.add(Rectangle((left, top), wide, high, **style))


def line(left: float, right: float, y: float) -> Rectangle:
    """Make a thin line."""
    style: Style = {"fc": "none", "ec": EDGE[0], "lw": 0.8}
    return Rectangle((left, y), right - left, 0, **style)

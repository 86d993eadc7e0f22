"""One word's vector goes through three matrices."""

import sys
from dataclasses import dataclass

from matplotlib.figure import Figure
from torch import Tensor, nn

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface import matrix
from tformer_lite.drawing.surface.page import (
    NAME,
    NARROW,
    SMALL,
    WIDE,
    Page,
    Style,
    shortened,
    text_width,
)
from tformer_lite.drawing.surface.palette import AXES, DARK, KINDS
from tformer_lite.drawing.surface.picture import Picture, styled

__all__ = ["projections"]

ROLES = {
    "query": "what it looks for",
    "key": "what it is found by",
    "value": "what it hands over",
}
MOST = 24  # channels that have room
ABOVE, LANE, HIGH = 62, 100, 20  # titles; a role; a row of channels
BAR = 20  # how wide the word's vector is
APART = 8  # between heads
CELLS = KINDS["scores"]
BOLD: Style = {"weight": "bold", "size": NAME}
HEADS: Style = {"weight": "bold", "size": SMALL, "color": AXES["H"][1][0]}


def projections(x: Tensor, layer: nn.Module, word: str = "") -> Picture:
    """Draw how a layer makes a word's query, key and value: (C) -> a picture.

    `layer` is a MultiHeadAttention, or another with linear layers `query`,
    `key` and `value`; `word` stands beside x. The vectors share one scale,
    and so do the weights. Raises ValueError for anything but one vector, for
    a layer without the three, and for more than 24 channels.

    >>> projections(torch.ones(12), MultiHeadAttention(12, 3), "not")
    not: x (12) becomes a query, a key and a value in 3, 3 and 3 heads ...
    """
    missing = [role for role in ROLES if not hasattr(layer, role)]
    if missing:
        raise ValueError(
            f"{type(layer).__name__} has no {missing[0]}: give a layer with a "
            "matrix for each role, such as MultiHeadAttention."
        )
    if x.ndim != 1 or not 0 < len(x) <= MOST:
        raise ValueError(
            f"x has shape {tuple(x.shape)}: give one word's vector of 1 to "
            f"{MOST} channels, such as x[0, 3]."
        )
    title = (argument_texts(sys._getframe(1)) or ["x"])[0]
    made = Made(title, word, x.detach().cpu(), list(roles(x, layer)))
    wide, narrow = (draw_roles(made, width) for width in (WIDE, NARROW))
    return Picture(wide, made.text, DARK | CELLS.counterparts(), narrow)


@dataclass
class Role:
    """A role's name, its weight, and what it makes, a row for each head."""

    name: str
    weight: Tensor
    heads: Tensor


def roles(x: Tensor, layer: nn.Module) -> list[Role]:
    """Project a word in each role: (C) -> (H, D), three times."""
    made = []
    width = len(x) // getattr(layer, "n_heads", 1)
    for name in ROLES:
        linear = layer.get_submodule(name)
        heads = linear(x).detach().cpu().view(-1, width)
        weight = linear.get_parameter("weight").detach().cpu()
        made.append(Role(name, weight, heads))
    return made


@dataclass
class Made:
    """A word, its vector with its title, and what its three roles are."""

    title: str
    word: str
    x: Tensor
    roles: list[Role]

    @property
    def limit(self) -> float:
        """The largest size among the numbers of the word."""
        every = [self.x, *(role.heads for role in self.roles)]
        return max(values.abs().max().item() for values in every) or 1.0

    @property
    def weight(self) -> float:
        """The largest size of a weight."""
        sizes = [role.weight.abs().max().item() for role in self.roles]
        return max(sizes) or 1.0

    @property
    def text(self) -> str:
        """Say it to someone who does not see it."""
        q, k, v = (len(role.heads) for role in self.roles)
        say = (
            f"{self.word or self.title}: x ({len(self.x)}) becomes a query, a "
            f"key and a value in {q}, {k} and {v} heads of "
            f"{self.roles[0].heads.shape[1]} channels, by a matrix each."
        )
        rows = [["", *map(str, range(len(self.x)))]]
        lines = {self.title: self.x} | {r.name: r.heads for r in self.roles}
        for name, values in lines.items():
            numbers = list(map(matrix.number, values.flatten()))
            blank = [""] * (len(self.x) - len(numbers))
            rows.append([name, *numbers, *blank])
        return f"{say}\n\n{matrix.table('channels', rows)}"


class Columns:
    """Where the word, the matrices and what they make stand."""

    def __init__(self, made: Made, width: float):
        longest = min(64, 0.12 * width)
        word = text_width(made.word, NAME, "bold")
        self.word = min(longest, 1.1 * word) + 8
        self.rows = width - min(300, 0.54 * width)
        self.wide = width - self.rows
        middle = (self.word + BAR + self.rows) / 2
        self.side = min(LANE - 30, (self.rows - self.word) / 2.6)
        self.matrix = middle - self.side / 2


@styled
def draw_roles(made: Made, width: float) -> Figure:
    """Draw the word at the left, the matrices, and at the right what they
    make of it."""
    page, columns = Page(width, ABOVE + 3 * LANE - 14), Columns(made, width)
    middle = ABOVE + LANE + columns.side / 2
    draw_word(page, columns, made, middle)
    for i, role in enumerate(made.roles):
        y = ABOVE + LANE * i + columns.side / 2
        high = columns.side * len(role.weight) / len(made.x)
        box = columns.matrix, y - high / 2, columns.side, high
        page.wire((columns.word + BAR + 2, middle), (box[0] - 3, y))
        page.cells(box, role.weight, CELLS, (-made.weight, made.weight))
        page.arrow((box[0] + box[2] + 3, y), (columns.rows - 4, y))
        draw_heads(page, columns, made, role, y)
    heads, c = made.roles[0].heads, len(made.x)
    for x, name, letters, sizes in (
        (columns.word + BAR / 2, made.title, "C", (c,)),
        (columns.matrix + columns.side / 2, "weights", "CC", (c, c)),
        (columns.rows + columns.wide / 2, "q, k, v", "HD", heads.shape),
    ):
        room = 1.8 * min(x, width - x, width / 12)
        page.write(x, 8, shortened(name, room, **BOLD), **BOLD)
        page.shape(x, 32, letters, sizes)
    return page.figure


def draw_word(page: Page, columns: Columns, made: Made, middle: float) -> None:
    """Draw the word's vector upright, and the word before it."""
    high = min(2.6 * LANE, 15.0 * len(made.x))
    box = columns.word, middle - high / 2, BAR, high
    page.cells(box, made.x[:, None], CELLS, (-made.limit, made.limit))
    word = shortened(made.word, 0.9 * columns.word, **BOLD)
    page.write(columns.word - 6, middle, word, ha="right", **BOLD)


def draw_heads(
    page: Page, columns: Columns, made: Made, role: Role, y: float
) -> None:
    """Draw what a role's matrix makes, cut into heads."""
    n = len(made.roles[0].heads)
    wide = (columns.wide - APART * (n - 1)) / n
    for head, channels in enumerate(role.heads):
        x = columns.rows + (wide + APART) * head
        box = x, y - HIGH / 2, wide, HIGH
        page.cells(box, channels[None], CELLS, (-made.limit, made.limit))
        name = "head " if wide > 46 else ""
        page.write(x + wide / 2, y - HIGH / 2 - 9, f"{name}{head}", **HEADS)
    page.write(columns.rows, y + 22, role.name[0], ha="left", **BOLD)
    page.note(columns.rows + 16, y + 22, ROLES[role.name], ha="left")

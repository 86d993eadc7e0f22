"""Which head of keys and values each head of queries attends with."""

import sys
from dataclasses import dataclass
from fractions import Fraction

import torch
from matplotlib.figure import Figure
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface.matrix import table
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
from tformer_lite.drawing.surface.palette import DARK, LINE, tint
from tformer_lite.drawing.surface.picture import Picture, styled

__all__ = ["head_wires"]

MOST = 32  # heads of queries that have room for their numbers
LEFT, GAP = 18, 26  # for the letters q, k, v; between two panels
PITCH = 23  # from head to head, at least, or panels go below each other
BOX, HIGH = 22, 190  # heights: of a box; of a panel and the gap below it
LETTERS = 150  # how wide what a cache costs is written
EDGED: Style = {"ec": LINE[0], "lw": 0.8}
LINES_OF = 22, 92, 118  # how far down queries, keys and values are


def head_wires(*served: Tensor, titles: list[str] | None = None) -> Picture:
    """Draw which head of keys each head of queries uses: (H) -> a picture.

    Number h of a tensor is the head of keys and values for head h of the
    queries. Measure it: let the code share heads that are filled with their
    own numbers. Each panel is headed by its argument as you wrote it;
    `titles` replaces what you wrote. Raises ValueError for anything but 1
    to 32 whole numbers from 0.

    >>> head_wires(torch.tensor([0, 0, 1, 1]), titles=["grouped"])
    grouped: 4 heads of queries share 2 heads of ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or ["heads"] * len(served)
    if not served or len(titles) != len(served):
        raise ValueError(f"{len(served)} tensors, {len(titles)} titles.")
    panels = [
        Sharing(title, whole_numbers(title, keys))
        for title, keys in zip(titles, served)
    ]
    words = " ".join(panel.sentence for panel in panels)
    text = "\n\n".join([words, *(panel.table for panel in panels)])
    wide, narrow = (draw_wires(panels, width) for width in (WIDE, NARROW))
    return Picture(wide, text, DARK, narrow)


def whole_numbers(title: str, keys: Tensor) -> list[int]:
    """Raise ValueError unless keys are numbers of heads."""
    keys = torch.as_tensor(keys)
    if keys.ndim != 1 or not 0 < len(keys) <= MOST:
        raise ValueError(
            f"{title} has shape {tuple(keys.shape)}: give 1 to {MOST} "
            "numbers, for each head of queries its head of keys."
        )
    if (keys < 0).any() or (keys != keys.long()).any():
        raise ValueError(f"{title} has numbers that are no heads: {keys}.")
    return keys.long().tolist()


@dataclass(frozen=True)
class Sharing:
    """For each head of queries, the head of keys and values it uses."""

    title: str
    keys: list[int]

    @property
    def n_kv_heads(self) -> int:
        """How many heads of keys and values there are."""
        return max(self.keys) + 1

    @property
    def sentence(self) -> str:
        """Say it to someone who does not see it."""
        n, some = len(self.keys), self.n_kv_heads
        heads, shared = plural(n, "head"), plural(some, "head")
        verb = "share" if some < n else "use"
        return f"{self.title}: {heads} of queries {verb} {shared} of keys."

    @property
    def cost(self) -> str:
        """Say how large the cache of keys and values is beside one without
        sharing."""
        share = Fraction(self.n_kv_heads, len(self.keys))
        size = "all" if share == 1 else f"{share}"
        return f"{plural(self.n_kv_heads, 'k, v head')}: {size} of the cache"

    @property
    def least(self) -> float:
        """How wide it is drawn, at least: as its boxes or its words."""
        boxes = max(len(self.keys), self.n_kv_heads) * PITCH
        return max(boxes, text_width(self.title, NAME, "bold"), LETTERS)

    @property
    def table(self) -> str:
        """List the heads."""
        rows = [["query head", *map(str, range(len(self.keys)))]]
        return table(self.title, [*rows, ["key head", *map(str, self.keys)]])


def plural(n: int, thing: str) -> str:
    """Count things."""
    return f"{n} {thing}{'s' * (n != 1)}"


@styled
def draw_wires(panels: list[Sharing], width: float) -> Figure:
    """Draw panels side by side, as many as have room."""
    room, least = width - LEFT, max(p.least for p in panels)
    beside = max(1, int((room + GAP) // (least + GAP)))
    beside = min(beside, len(panels))
    wide = min((room + GAP) / beside - GAP, 1.4 * least)
    page = Page(width, -(-len(panels) // beside) * HIGH - 16)
    for i, panel in enumerate(panels):
        row, column = divmod(i, beside)
        left, top = LEFT + column * (wide + GAP), row * HIGH
        draw_panel(page, panel, left, top, wide)
        if not column:
            for letter, line in zip("qkv", LINES_OF):
                style: Style = {"weight": "bold", "size": NAME}
                page.write(6, top + line + BOX / 2, letter, **style)
    return page.figure


def draw_panel(
    page: Page, panel: Sharing, left: float, top: float, wide: float
) -> None:
    """Draw queries above, keys and values below, and a wire for each query."""
    upper, key, value = (top + line for line in LINES_OF)
    asks = centres(left, wide, len(panel.keys))
    answers = centres(left, wide, panel.n_kv_heads)
    for x, head in zip(asks, panel.keys):
        end = answers[head], key
        page.wire((x, upper + BOX), end, upright=True)
    heads = [*zip(asks, panel.keys), *zip(answers, range(panel.n_kv_heads))]
    size = min(BOX, 0.85 * wide / max(map(len, (asks, answers))))
    for i, (x, head) in enumerate(heads):
        # A group has one colour, and its neighbours another.
        colour, n = tint(head % 2, head // 2), i % len(panel.keys)
        lines = [upper] if i < len(asks) else [key, value]
        for y in lines:
            page.box((x - size / 2, y, size, BOX), **EDGED | {"fc": colour})
            if size > 14 or i >= len(asks):
                page.write(x, y + BOX / 2, str(n), size=SMALL)
    middle, font = left + wide / 2, {"size": NAME, "weight": "bold"}
    title = shortened(panel.title, 0.96 * wide, **font)
    page.write(middle, top + 8, title, **font)
    page.note(middle, value + BOX + 16, panel.cost)


def centres(left: float, wide: float, n: int) -> list[float]:
    """Divide a width into n parts, and give their middles."""
    return [left + wide * (i + 0.5) / n for i in range(n)]

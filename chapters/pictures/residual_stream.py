"""The residual stream as a river, as high as its numbers are large."""

import sys
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from torch import nn

from pictures.gauge import Stream, Sum, measured
from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface.matrix import number, table
from tformer_lite.drawing.surface.page import (
    NAME,
    NARROW,
    SMALL,
    WIDE,
    Page,
    Place,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    DARK,
    INFLOW,
    INK,
    LINE,
    PAPER,
    STREAM,
)
from tformer_lite.drawing.surface.picture import Picture, styled

__all__ = ["residual_stream"]

STEP, LEAST = 150, 42  # how wide a sublayer's part of the river is
JOIN = 0.7  # how far along that part its inflow is
HIGH = 46  # how high the river is where it is highest
ABOVE, BELOW, LANE = 24, 30, 30  # of the river; from sublayer to sublayer
TINY = 9  # letters of a norm
BOX = 20  # how high a sublayer is
TAIL = 84  # how far the river goes on behind the last sublayer
BOLD: Style = {"weight": "bold"}
INFLOWS: Style = {"fc": INFLOW[0], "lw": 0, "zorder": 0.9}
BAR: Style = {"fc": INK[0], "lw": 0, "zorder": 3}


def residual_stream(model: nn.Module, *inputs: Any, **options: Any) -> Picture:
    """Run a model, and draw the river of its residual stream.

    `model` is an EncoderDecoder, a DecoderOnly or a Stack, and `inputs` are
    what it is called with. The river is as high as the root mean square of
    the stream, and each sublayer's inflow as wide as that of what it adds.
    Raises ValueError for a model without a stack of blocks.

    >>> residual_stream(running_model(), *running_example()[:2])
    encoder: the residual stream enters with a root mean square of ...
    """
    texts = argument_texts(sys._getframe(1)) or ["stack"]
    name = texts[0].rpartition(".")[2]
    streams = measured(model, *inputs, **options)
    if not streams[0].name:
        streams[0].name = name if name.isidentifier() else "stack"
    words = " ".join(map(sentence, streams))
    text = "\n\n".join([words, *map(listed, streams)])
    wide, narrow = (draw_rivers(streams, width) for width in (WIDE, NARROW))
    return Picture(wide, text, DARK, narrow)


def sentence(stream: Stream) -> str:
    """Describe a stream to someone who does not see it."""
    first, last = stream.sums[0], stream.sums[-1]
    end = "" if stream.final is None else number(stream.final)
    end = end and f", and its final norm makes that {end}"
    return (
        f"{stream.name}: the residual stream enters with a root mean square "
        f"of {number(first.before)}, {len(stream.sums)} sublayers add to it, "
        f"and it leaves with {number(last.after)}{end}."
    )


def listed(stream: Stream) -> str:
    """List the numbers of a stream."""
    rows = [["block", "sublayer", "stream", "added", "sum", "goes on"]]
    for one in stream.sums:
        flow = map(number, (one.before, one.added, one.total, one.after))
        rows.append([str(one.block), one.name, *flow])
    return table(stream.name, rows)


@dataclass
class Row:
    """A part of a stream that is drawn in one line, and its sublayers by
    name, which have a line each, unless names fit into their boxes."""

    stream: Stream
    sums: list[Sum]
    lanes: list[str]

    @property
    def ends(self) -> bool:
        """Tell whether the stream ends here."""
        return self.sums[-1] is self.stream.sums[-1]

    @property
    def high(self) -> float:
        """How high the row is, its sublayers included."""
        return ABOVE + HIGH + BELOW + LANE * (len(self.lanes) or 1.4)


class Bed:
    """Where rivers are drawn: their rows, how wide a sublayer's part of one
    is, and how many pixels high a number of 1."""

    def __init__(self, streams: list[Stream], width: float):
        every = [one for stream in streams for one in stream.sums]
        names = [text_width(one.name, SMALL) for one in every]
        titles = [text_width(s.name, NAME, "bold") for s in streams]
        self.left, most = max(titles) + 14, max(len(s.sums) for s in streams)
        lanes = (width - self.left - TAIL) / most < max(names) + 40
        if lanes:
            self.left = max(self.left, max(names) + 12)
        room = width - self.left - TAIL
        most = int(room // LEAST)
        self.rows = [row for s in streams for row in rows(s, most, lanes)]
        self.step = min(STEP, room / max(len(row.sums) for row in self.rows))
        high = max(max(one.before, one.total) for one in every)
        wide = max(one.added for one in every)
        self.scale = min(HIGH / (high or 1), self.step / 2 / (wide or 1))


def rows(stream: Stream, room: int, lanes: bool) -> list[Row]:
    """Break a stream into rows of equal length, between blocks if there is
    room for a whole one."""
    sums = stream.sums
    names = list(dict.fromkeys(one.name for one in sums)) if lanes else []
    whole = sum(one.block == sums[0].block for one in sums)
    whole = whole if whole <= room else 1
    lines = -(-len(sums) // (room // whole * whole))
    each = -(-len(sums) // (lines * whole)) * whole
    parts = [sums[i : i + each] for i in range(0, len(sums), each)]
    return [Row(stream, part, names) for part in parts]


@styled
def draw_rivers(streams: list[Stream], width: float) -> Figure:
    """Draw all rows, one below the other."""
    bed = Bed(streams, width)
    page = Page(width, sum(row.high for row in bed.rows) + 16)
    bottom: float = ABOVE + HIGH
    for row in bed.rows:
        draw_row(page, bed, row, bottom)
        bottom += row.high
    foot = "height: root mean square of the stream, and of what is added"
    page.note(0, page.height - 7, foot, ha="left")
    return page.figure


def draw_row(page: Page, bed: Bed, row: Row, bottom: float) -> None:
    """Draw a row of a river whose bed is at `bottom`."""
    middle = bottom - bed.scale * row.sums[0].before / 2
    page.write(0, middle, row.stream.name, ha="left", size=NAME, **BOLD)
    for i, name in enumerate(row.lanes):
        page.note(0, bottom + BELOW + LANE * i + BOX / 2, name, ha="left")
    for i, one in enumerate(row.sums):
        x = bed.left + bed.step * i
        if i == 0 or one.block != row.sums[i - 1].block:
            page.note(x, bottom - HIGH - 14, f"block {one.block}", ha="left")
        draw_water(page, bed, one, x, bottom)
        draw_sublayer(page, bed, one, row.lanes, (x, bottom))
    if row.ends:
        x = bed.left + bed.step * len(row.sums)
        draw_end(page, bed, row.stream, x, bottom)


def draw_water(
    page: Page, bed: Bed, one: Sum, x: float, bottom: float
) -> None:
    """Draw the river along a sublayer: it rises where something flows in."""
    joins, flow = x + JOIN * bed.step, bed.scale * one.added / 2
    levels = one.before, one.total, one.after
    low, high, out = (bottom - bed.scale * level for level in levels)
    end = x + bed.step
    top = [(x, low), (joins - flow, low), (joins + flow, high)]
    fill(page, (x, bottom), *top, (end, high), (end, out), (end, bottom))
    if one.norm == "post":
        draw_norm(page, end, bottom, high)
    middle = max(x + 17, (x + joins - flow) / 2)
    write_level(page, one.before, middle, bottom, low)


def draw_end(
    page: Page, bed: Bed, stream: Stream, x: float, bottom: float
) -> None:
    """Draw how the stream leaves, and what a last norm makes of it."""
    for level in (stream.sums[-1].after, stream.final):
        if level is not None:
            top, end = bottom - bed.scale * level, x + TAIL / 2 - 2
            fill(page, (x, bottom), (x, top), (end, top), (end, bottom))
            write_level(page, level, (x + end) / 2, bottom, top)
            x = end
    if stream.final is not None:
        top = bottom - bed.scale * stream.sums[-1].after
        draw_norm(page, x - TAIL / 2 + 2, bottom, top)


def fill(page: Page, *places: Place) -> None:
    """Fill an outline with the river's colour."""
    page.add(Polygon(places, fc=STREAM[0], ec=STREAM[0], lw=0.5))


def write_level(
    page: Page, level: float, x: float, bottom: float, top: float
) -> None:
    """Write how large the stream is: in it, or above where it is shallow."""
    y = (bottom + top) / 2 if bottom - top > 13 else top - 8
    page.write(x, y, number(level), size=SMALL, **BOLD)


def draw_norm(page: Page, x: float, bottom: float, top: float) -> None:
    """Draw a norm across the river."""
    page.add(Rectangle((x - 1.5, top - 3), 3, bottom - top + 6, **BAR))
    page.note(x, top - 9, "norm", size=TINY)


def draw_sublayer(
    page: Page, bed: Bed, one: Sum, lanes: list[str], at: Place
) -> None:
    """Draw the way down to a sublayer, and what comes up from it."""
    (x, bottom), size = at, number(one.added)
    top = bottom + BELOW + (LANE * lanes.index(one.name) if lanes else 0)
    down, wide, flow = x + 10, 0.9 * bed.step - 4, bed.scale * one.added
    joins = x + JOIN * bed.step - flow / 2
    page.add(Rectangle((joins, bottom - 1), flow, top - bottom + 1, **INFLOWS))
    page.arrow((down, bottom), (down, top))
    page.box((x + 4, top, wide, BOX), fc=PAPER[0], ec=LINE[0], lw=0.8)
    centre, name = x + 4 + wide / 2, size if lanes else one.name
    page.write(centre, top + BOX / 2, name, size=SMALL)
    if one.norm == "pre":
        page.add(Rectangle((down - 5, bottom + 7), 10, 3, **BAR))
    if not lanes:
        page.write(centre, top + BOX + 10, f"+ {size}", size=SMALL, **BOLD)
        norm = "norm" if one.norm == "pre" else ""
        page.note(down + 8, bottom + 9, norm, ha="left", size=TINY)

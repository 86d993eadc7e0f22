"""The residual stream as a river, as high as its numbers are large."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import torch
from matplotlib.patches import Polygon
from torch import Tensor, nn

from pictures.canvas import BESIDE, TINY, Canvas, arguments
from tformer_lite.drawing.surface.matrix import number, table
from tformer_lite.drawing.surface.page import (
    NAME,
    SMALL,
    Place,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    INFLOW,
    INK,
    LINE,
    PAPER,
    STREAM,
)
from tformer_lite.drawing.surface.picture import Picture, with_style
from tformer_lite.model.models import PostBlock, PostCrossBlock, Stack

__all__ = ["residual_stream"]

STEP, TAIL = 96, 76  # a sublayer's part of the river; its end
JOIN = 0.75  # how far along that part its inflow is
HIGH = 46  # how high the river is where it is highest
ABOVE, BELOW = 34, 30  # of the river; from sublayer to sublayer
BOX = 20  # how high a sublayer is
INFLOWS: Style = {"fc": INFLOW[0], "lw": 0, "zorder": 0.9}
BAR: Style = {"fc": INK[0], "lw": 0, "zorder": 3}


@dataclass
class Sum:
    """What a sublayer adds to the stream in a block: its name, whether a
    norm stands before it or after the sum, and the size of the stream
    before, of what is added, of the sum, and of what goes on."""

    block: int
    name: str
    norm: str
    before: float
    added: float
    total: float
    after: float


@dataclass
class Stream:
    """The sums of a stack in order, and its size behind the final norm."""

    name: str
    sums: list[Sum] = field(default_factory=list)
    final: float | None = None


def residual_stream(model: nn.Module, *inputs: Any, **options: Any) -> Picture:
    """Run a model, and draw the river of its residual stream.

    `model` is an EncoderDecoder, a DecoderOnly or a Stack, and `inputs` are
    what it is called with. The river is as high as the root mean square of
    the stream, and each sublayer's inflow as wide as that of what it adds.
    Raises ValueError for a model without a stack of blocks.

    >>> residual_stream(running_model(), *running_example()[:2])
    encoder: the residual stream enters with a root mean square of ...
    """
    name = [*arguments(), "stack"][0].rpartition(".")[2]
    streams = streams_of(model, *inputs, **options)
    if not streams[0].name:
        streams[0].name = name if name.isidentifier() else "stack"
    words, tables = map(stream_text, streams), map(stream_table, streams)
    every = [one for stream in streams for one in stream.sums]
    most = max(max(one.before, one.total, one.added) for one in every)
    most = max(most, *(stream.final or 0 for stream in streams))
    page, *others = (River(stream, HIGH / (most or 1)) for stream in streams)
    text = "\n\n".join([" ".join(words), *tables])
    return page.picture(text, *others)


def stream_text(stream: Stream) -> str:
    """Describe a stream to someone who does not see it."""
    first, last = stream.sums[0], stream.sums[-1]
    end = "" if stream.final is None else number(stream.final)
    end = end and f", and its final norm makes that {end}"
    return (
        f"{stream.name}: the residual stream enters with a root mean square "
        f"of {number(first.before)}, {len(stream.sums)} sublayers add to it, "
        f"and it leaves with {number(last.after)}{end}."
    )


def stream_table(stream: Stream) -> str:
    """List the numbers of a stream."""
    rows = [["block", "sublayer", "stream", "added", "sum", "goes on"]]
    for one in stream.sums:
        flow = map(number, (one.before, one.added, one.total, one.after))
        rows.append([str(one.block), one.name, *flow])
    return table(stream.name, rows)


def streams_of(model: nn.Module, *inputs: Any, **options: Any) -> list[Stream]:
    """Run a model, and measure the stream of each of its stacks.

    Raises ValueError when it has none, or when none of them ran.
    """
    parts = model.named_modules()
    stacks = {name: part for name, part in parts if isinstance(part, Stack)}
    streams = [Stream(name) for name in stacks]
    with ExitStack() as hung, torch.no_grad():
        for stream, stack in zip(streams, stacks.values()):
            for hook in stack_hooks(stream, stack):
                hung.callback(hook.remove)
        model(*inputs, **options)
    streams = [stream for stream in streams if stream.sums]
    if not streams:
        raise ValueError(
            f"{type(model).__name__} ran no Stack of blocks with residual "
            "connections: give an EncoderDecoder, a DecoderOnly or a Stack."
        )
    return streams


def stack_hooks(stream: Stream, stack: Stack) -> Iterator[Any]:
    """Hang on to a stack, so that its stream is noted while it runs; each
    hook can be taken off again."""
    for block in dict.fromkeys(stack.blocks):
        yield from Meter(stream, block).hooks()
    if not isinstance(stack.norm, nn.Identity):
        yield stack.norm.register_forward_hook(
            lambda *call: setattr(stream, "final", rms(call[-1]))
        )


class Meter:
    """What notes a block's part of a stream: `before` is the stream, and
    `added` what a sublayer has just added to it."""

    before: Tensor
    added: Tensor

    def __init__(self, stream: Stream, block: nn.Module):
        self.stream, self.block = stream, block
        self.norms = [*block.get_submodule("norms").children()]
        names = [name.replace("_", "-") for name, _ in block.named_children()]
        self.names = names[: len(self.norms)]
        self.post = isinstance(block, PostBlock | PostCrossBlock)
        self.kind = "post" if self.post else "pre"
        if isinstance(self.norms[0], nn.Identity):
            self.kind = ""

    def hooks(self) -> Iterator[Any]:
        """Hang on to the block."""
        yield self.block.register_forward_pre_hook(self.enter)
        dropout = self.block.get_submodule("dropout")
        yield dropout.register_forward_hook(self.add)
        for norm in self.norms if self.post else ():
            yield norm.register_forward_hook(lambda *call: self.go(call[-1]))

    def enter(self, block: nn.Module, given: tuple[Tensor, ...]) -> None:
        """The block begins."""
        self.before = given[0]

    def add(self, dropout: nn.Module, given: Any, added: Tensor) -> None:
        """What a sublayer adds is ready; without a norm, its sum goes on."""
        self.added = added
        if not self.post:
            self.go(self.before + added)

    def go(self, after: Tensor) -> None:
        """Note a sublayer, behind which the stream is this."""
        flow = self.before, self.added, self.before + self.added, after
        block, i = divmod(len(self.stream.sums), len(self.names))
        place = block + 1, self.names[i], self.kind
        self.stream.sums.append(Sum(*place, *map(rms, flow)))
        self.before = after


def rms(x: Tensor) -> float:
    """The root mean square of all numbers: (B, T, C) -> a number."""
    return x.detach().double().square().mean().sqrt().item()


class River(Canvas):
    """A page of a stream, with a row for each of its blocks: `step` is how
    wide a sublayer's part of it is, `scale` how high a number 1."""

    @with_style
    def __init__(self, stream: Stream, scale: float):
        super().__init__()
        self.scale, bottom = scale, 0.0
        blocks = groupby(stream.sums, lambda one: one.block)
        rows = [[*sums] for _, sums in blocks]
        names = [text_width(one.name, SMALL) for one in stream.sums]
        names.append(text_width(stream.name, NAME, "bold"))
        room = BESIDE - 12 - max(names) - TAIL
        self.step = min(STEP, room / max(map(len, rows)))
        for sums in rows:
            bottom = draw_block(self, stream, sums, bottom + ABOVE + HIGH)
        foot = "height: root mean square of the stream, and of what is added"
        self.note(-8 - max(names), bottom + 15, foot, ha="left")

    def fill(self, bottom: float, *places: Place) -> None:
        """Fill a part of a river, from its bed up to some levels."""
        (start, _), (end, _) = places[0], places[-1]
        heights = [(x, bottom - self.scale * level) for x, level in places]
        outline = [(start, bottom), *heights, (end, bottom)]
        self.add(Polygon(outline, fc=STREAM[0], ec=STREAM[0], lw=0.5))

    def level(self, level: float, x: float, bottom: float) -> None:
        """Write how large a stream is: in it, or above where it is shallow."""
        high = self.scale * level
        y = bottom - (high / 2 if high > 13 else high + 8)
        self.bold(x, y, number(level), size=SMALL)

    def norm(self, x: float, bottom: float, level: float) -> None:
        """Draw a norm across a river."""
        high = self.scale * level
        self.rectangle((x - 1.5, bottom - high - 3, 3, high + 6), **BAR)
        above = 9 if high > 13 else 20  # where no number stands
        self.note(x, bottom - high - above, "norm", size=TINY)


def draw_block(
    page: River, stream: Stream, sums: list[Sum], bottom: float
) -> float:
    """Draw a river along a block, its bed at `bottom`, and give where the
    lowest sublayer ends: each has a lane of its own."""
    title = f"block {sums[0].block}"
    page.note(0, bottom - HIGH - 14, title, ha="left")
    middle = bottom - page.scale * sums[0].before / 2
    page.bold(-8, middle, stream.name, ha="right")
    if sums[0].norm == "pre":
        page.note(17, bottom + 9, "norm", ha="left", size=TINY)
    for i, one in enumerate(sums):
        x, top = page.step * i, bottom + BELOW * (i + 1)
        page.note(-8, top + BOX / 2, one.name, ha="right")
        draw_water(page, one, x, bottom)
        draw_sublayer(page, one, top, (x, bottom))
    if sums[-1] is stream.sums[-1]:
        draw_outflow(page, stream, page.step * len(sums), bottom)
    return top + BOX


def draw_water(page: River, one: Sum, x: float, bottom: float) -> None:
    """Draw the river along a sublayer: it rises where something flows in."""
    joins, flow = x + JOIN * page.step, page.scale * one.added / 2
    end, begins = x + page.step, (joins - flow, one.before)
    rises = (joins + flow, one.total), (end, one.total)
    page.fill(bottom, (x, one.before), begins, *rises, (end, one.after))
    if one.norm == "post":
        page.norm(end, bottom, one.total)
    page.level(one.before, max(x + 17, (x + joins - flow) / 2), bottom)


def draw_sublayer(page: River, one: Sum, top: float, at: Place) -> None:
    """Draw the way down to a sublayer, and what comes up from it."""
    (x, bottom), flow = at, page.scale * one.added
    down, wide = x + 10, 0.9 * page.step - 4
    joins = x + JOIN * page.step - flow / 2
    page.rectangle((joins, bottom - 1, flow, top - bottom + 1), **INFLOWS)
    page.arrow((down, bottom), (down, top))
    page.box((x + 4, top, wide, BOX), fc=PAPER[0], ec=LINE[0], lw=0.8)
    page.word(x + 4 + wide / 2, top + BOX / 2, f"+ {number(one.added)}")
    if one.norm == "pre":
        page.rectangle((down - 5, bottom + 7, 10, 3), **BAR)


def draw_outflow(page: River, stream: Stream, x: float, bottom: float) -> None:
    """Draw how the stream leaves, and what a last norm makes of it."""
    last, half = stream.sums[-1].after, TAIL / 2
    page.fill(bottom, (x, last), (x + half, last))
    page.level(last, x + half / 2, bottom)
    if stream.final is not None:
        x += half
        page.fill(bottom, (x, stream.final), (x + half, stream.final))
        page.level(stream.final, x + half / 2, bottom)
        page.norm(x, bottom, max(last, stream.final))

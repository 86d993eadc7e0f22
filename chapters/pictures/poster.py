"""The poster: every tensor of a traced Transformer, drawn small, with its
shape, and with what is learned and computed to make it. A sheet of A3."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import matplotlib as mpl
import torch
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.text import Text

from pictures.canvas import Canvas
from pictures.thumbs import Thumb, costs_of, thumbs_of
from shapewatch.tracing import Trace
from tformer_lite.drawing.diagram.anatomy import sides_of
from tformer_lite.drawing.diagram.here import measured_shape, shape_labels
from tformer_lite.drawing.surface.page import NAME, SIZE, Box, Style
from tformer_lite.drawing.surface.palette import (
    AROUND_ZERO,
    AXES,
    DARK,
    EDGE,
    GREY,
    HATCH,
    INK,
    LINE,
    SHARE,
)
from tformer_lite.drawing.surface.picture import (
    SHAPES_COMPLEX,
    Picture,
    render,
    with_style,
)

__all__ = ["poster"]

SHEET = 1587.4, 1122.5  # A3 in CSS pixels
LEFT, TOP, FOOT = 24, 92, 1082
PITCH, BAND, MIDDLE = 100, 318, 168  # from thumb to thumb; a band, its middle
MOST_THUMBS = 15  # thumbs in a band
ROWS, WIDE, HIGH, GAP = 12, 72, 48, 12  # of a matrix that is drawn
SMALLER: Style = {"ha": "left", "size": NAME}
PLACES = {"src_embedding": "source table", "tgt_embedding": "target table"}
PLACES |= {"embedding": "table"}


class Poster(Picture):
    """A poster: a notebook shows a preview, `pdf()` gives it to print."""

    DPI, COLOURS = 84, 256

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        if not SHAPES_COMPLEX:
            return super()._repr_mimebundle_()
        png = base64.b64encode(self.png()).decode()
        return {"text/plain": self.text, "image/png": png}, {}  # SVG is heavy

    def pdf(self, **about: str) -> bytes:
        """Draw as PDF, with its fonts in it; `about` it, it says Title,
        Subject or Keywords."""
        with mpl.rc_context({"pdf.fonttype": 42}):
            same = {"CreationDate": None, "Creator": None, "Producer": None}
            return render(self.figures[0], "pdf", "", metadata=same | about)


@dataclass(eq=False)
class Spot:
    """Where a thumb is drawn: the middle of its matrices."""

    thumb: Thumb
    x: float
    y: float

    @property
    def half(self) -> float:
        """How far its matrices go up and down from their middle."""
        return (max(1, len(self.thumb.matrices)) * (HIGH + GAP) - GAP) / 2


def poster(seen: Trace, *words: Sequence[str]) -> Poster:
    """Draw every tensor of a traced Transformer on a sheet of A3: those of
    the first example, in the first block of each side, with all shapes,
    parameters and FLOPs.

    `words` are the words of the first example, a list for each side.
    `poster(seen).pdf()` is what to print. Raises ValueError for what is no
    Transformer, and for a trace that did not keep its values.

    >>> poster(running_trace())
    The whole model: 41,256 parameters, 540,672 FLOPs in ...
    """
    sides = sides_of(seen)
    texts = [*words, *[()] * len(sides)]
    thumbs = {
        f"{side.name} × {side.n_blocks}": [*thumbs_of(seen, side, text)]
        for side, text in zip(sides, texts)
    }
    page = draw_poster(seen, thumbs)
    shrink(page.figure)
    return Poster(page.figure, poster_text(seen, thumbs), DARK)


def poster_text(seen: Trace, thumbs: dict[str, list[Thumb]]) -> str:
    """List all tensors, with what the poster says of them."""
    lines = list[str]()
    for name, each in thumbs.items():
        lines.append(name)
        for thumb in each:
            costs = ", ".join(cost_texts(thumb))
            shape = measured_shape(thumb.shape)
            lines.append(f"  {thumb.label:14} {shape:30} {costs}".rstrip())
    return f"The whole model: {model_size_text(seen)}\n\n" + "\n".join(lines)


def model_size_text(seen: Trace) -> str:
    """Say how large the model is."""
    parameters, flops = costs_of(seen)[""].tolist()
    return f"{parameters:,} parameters, {flops:,} FLOPs in a run."


def cost_texts(thumb: Thumb) -> list[str]:
    """Say what is learned and computed to make a tensor."""
    numbers = zip(thumb.cost.tolist(), ("parameters", "FLOPs"))
    return [f"{number:,} {what}" for number, what in numbers if number]


@with_style
def draw_poster(seen: Trace, thumbs: dict[str, list[Thumb]]) -> Canvas:
    """Draw the sides below each other, what leads from one to the other, and
    what explains them."""
    page, bound, bands = (
        Canvas(*SHEET),
        colour_limit(thumbs),
        list[list[Spot]](),
    )
    for name, each in thumbs.items():
        first = len(bands)
        bands += bands_of(each, TOP + BAND * first)
        for i, band in enumerate(bands[first:]):
            draw_band(page, name + ", continued" * bool(i), band, bound)
        if first:
            draw_memory(page, bands[first - 1][-1], bands[first:])
    title = "The Transformer, shape by shape"
    page.bold(LEFT, 36, title, 999, ha="left", size=26)
    text = (
        f"{model_size_text(seen)} Every cell is a number of one run, in the "
    )
    text += "first example of the batch."
    page.note(LEFT, 68, text, ha="left", size=NAME + 1)
    draw_legend(page, seen, min(bands, key=len))
    draw_scales(page, bound)
    return page


def colour_limit(thumbs: dict[str, list[Thumb]]) -> float:
    """Find where colours end: beyond it are two in a hundred numbers."""
    every = [
        t for each in thumbs.values() for t in each if t.kind is AROUND_ZERO
    ]
    matrices = [m.float().abs() for t in every for m in t.matrices]
    found = torch.cat([m[m.isfinite()] for m in matrices])
    place = int(0.98 * len(found))
    return max(round(found.sort().values[place].item(), 1), 0.1)


def bands_of(thumbs: Sequence[Thumb], top: float) -> list[list[Spot]]:
    """Put thumbs in bands, from some height on. A sublayer is not parted; a
    further band begins with what the one before ended with."""
    bands: list[list[Thumb]] = [[]]
    for _, group in groupby(thumbs, key=lambda thumb: thumb.sublayer):
        layer = list(group)
        if len(bands[-1]) + len(layer) > MOST_THUMBS:
            bands.append(bands[-1][-1:])
        bands[-1] += layer
    return [
        [
            Spot(thumb, LEFT + PITCH * (i + 0.55), top + BAND * n + MIDDLE)
            for i, thumb in enumerate(band)
        ]
        for n, band in enumerate(bands)
    ]


def draw_band(
    page: Canvas, title: str, band: list[Spot], bound: float
) -> None:
    """Draw a band: its ground, its thumbs, the arrows between them, and the
    ways around sublayers."""
    top = band[0].y - MIDDLE
    ground: Style = {"fc": "#f6f8fa", "ec": EDGE[0], "lw": 0.8, "zorder": 0}
    box = LEFT - 2, top, PITCH * MOST_THUMBS + 12, BAND - 12
    page.box(box, 8, **ground)
    page.note(LEFT + 10, top + 16, title, ha="left", weight="bold")
    for spot in band:
        draw_thumb(page, spot, bound)
    for one, other in pairwise(band):
        room = 16 if other.thumb.label == "q, k, v" else 2
        end = other.x - WIDE / 2 - room, other.y
        page.arrow((one.x + WIDE / 2 + 2, one.y), end)
    start = band[0]
    for _, group in groupby(band[1:], key=lambda spot: spot.thumb.sublayer):
        layer = list(group)
        draw_ways(page, start, layer)
        start = layer[-1]


def draw_thumb(page: Canvas, spot: Spot, bound: float) -> None:
    """Draw a tensor: its name and shape, its matrices, and what it costs."""
    thumb, left = spot.thumb, spot.x - WIDE / 2
    high = 14 * min(len(thumb.words), ROWS) / 2
    top = spot.y - (high or spot.half)
    page.bold(spot.x, top - 42, thumb.label)
    page.shape(spot.x, top - 20, *shape_labels(thumb.shape))
    for i, (word, number) in enumerate(thumb.words[:ROWS]):
        y = top + 14 * i + 7
        page.word(left, y, word, WIDE - 24, ha="left", size=SIZE)
        page.note(left + WIDE, y, number, ha="right", size=SIZE)
    for i, matrix in enumerate(thumb.matrices):
        y = top + i * (HIGH + GAP)
        draw_matrix(page, thumb, matrix, (left, y, WIDE, HIGH), bound)
        if thumb.label == "q, k, v":
            page.bold(left - 9, y + HIGH / 2, "qkv"[i], size=SIZE)
    for i, text in enumerate(cost_texts(thumb)):
        page.note(spot.x, spot.y + spot.half + 11 + 12 * i, text, size=9)


def draw_matrix(
    page: Canvas, thumb: Thumb, matrix: torch.Tensor, box: Box, bound: float
) -> None:
    """Draw the cells of a matrix, its edges, and lines between heads; dots,
    where not all columns are drawn."""
    (left, top, wide, high), of = box, matrix.shape[1]
    columns = of if of <= wide / 2.7 else int(wide / 3)
    few = matrix[:ROWS, :columns].float()
    limits = (0.0, 1.0) if thumb.kind is SHARE else (-bound, bound)
    page.cells(box, few, thumb.kind, limits)
    page.rectangle(box, fill=False, ec=LINE[0], lw=0.8, zorder=3)
    for head in range(of // thumb.heads, columns, of // thumb.heads):
        x = left + wide * head / columns
        page.ax.vlines(x, top, top + high, color=INK[0], lw=1.4, zorder=3)
    if columns < of:
        page.note(left + wide + 1, top + 5, "…", ha="left")


def draw_ways(page: Canvas, start: Spot, layer: list[Spot]) -> None:
    """Draw the way around a sublayer, above all that is written there, and
    that of the values to where they are mixed, below it."""
    spots = {spot.thumb.label: spot for spot in layer}
    end = spots.get("sum", layer[0])
    if end is not layer[0]:
        y = min(spot.y - spot.half for spot in layer) - 62
        rise, fall = (spot.y - spot.half - 54 for spot in (start, end))
        way = (start.x, rise), (start.x, y), (end.x, y), (end.x, fall)
        page.arrow(*way, color=HATCH[0], lw=1.6)
    if {"q, k, v", "weights @ v"} <= spots.keys():
        heads, mixed = spots["q, k, v"], spots["weights @ v"]
        right, low = heads.x + WIDE / 2, heads.y + heads.half
        first = (right + 2, low - HIGH / 2), (right + 8, low - HIGH / 2)
        below = (right + 8, low + 36), (mixed.x, low + 36)
        page.arrow(*first, *below, (mixed.x, mixed.y + mixed.half + 28))


def draw_memory(page: Canvas, last: Spot, bands: list[list[Spot]]) -> None:
    """Draw the way from the encoder to keys and values of the decoder."""
    right = LEFT + PITCH * MOST_THUMBS + 22
    for spot in (spot for band in bands for spot in band):
        if spot.thumb.label == "q, k, v" and spot.thumb.sublayer == 1:
            low = spot.y + spot.half + 48
            way = (right, last.y), (right, low), (spot.x, low)
            start = last.x + WIDE / 2 + 2, last.y
            page.arrow(start, *way, (spot.x, low - 18), lw=2, color=INK[0])
            text = "memory: keys and values of the cross-attention"
            style: Style = {"rotation": 90, "va": "center", "size": NAME}
            page.write(right + 11, (last.y + low) / 2, text, **style)


def draw_legend(page: Canvas, seen: Trace, band: list[Spot]) -> None:
    """Explain the letters, and draw where parameters and FLOPs are, in the
    band that has most room."""
    x, y = band[-1].x + 84, band[0].y - MIDDLE + 30
    wide = LEFT + PITCH * MOST_THUMBS - 24 - x
    if wide < 300:
        return
    letters = [name for name in AXES if name in seen.sizes[0]]
    for i, name in enumerate(letters):
        left, low = x + (i % 2) * wide / 2, y + 20 * (i // 2)
        meaning, (colour, _) = AXES[name]
        page.bold(left, low, name, color=colour, ha="left")
        page.write(left + 20, low, f"{seen.sizes[0][name]}", **SMALLER)
        page.note(left + 58, low, meaning, **SMALLER)
    for i, what in enumerate(("parameters", "FLOPs")):
        shares = {
            PLACES.get(path, path): int(cost[i])
            for path, cost in costs_of(seen).items()
            if path and "." not in path and cost[i]
        }
        box = x + (wide / 2 + 20) * i + 80, y + 140, wide / 2 - 130, 110
        draw_shares(page, box, what, shares)


def draw_shares(
    page: Canvas, box: Box, what: str, shares: dict[str, int]
) -> None:
    """Draw how a number is shared out, as bars."""
    ax, total = page.chart(box), sum(shares.values())
    ax.set(xlim=(0, max(shares.values())), ylim=(5, -0.5), xticks=[])
    ax.set_yticks(range(len(shares)), shares, color=GREY[0])
    style: Style = {"fc": EDGE[0], "ec": LINE[0], "height": 0.6}
    bars = ax.barh(range(len(shares)), [*shares.values()], **style)
    labels = [f"{100 * number / total:.0f} %" for number in shares.values()]
    ax.bar_label(bars, labels, padding=4, size=SIZE, color=INK[0])
    page.bold(box[0] - 80, box[1] - 12, f"{total:,} {what}", ha="left")


def draw_scales(page: Canvas, bound: float) -> None:
    """Explain the colours and the numbers."""
    scales = (AROUND_ZERO, -bound, bound, ""), (SHARE, 0.0, 1.0, "weights ")
    for x, (kind, low, high, what) in zip((LEFT + 40, LEFT + 270), scales):
        start = f"{what}{low:g}".replace("-", "−")
        page.write(x - 8, FOOT, start, ha="right")
        shades = torch.linspace(low, high, 25)[None]
        page.cells((x, FOOT - 7, 125, 14), shades, kind, (low, high))
        page.write(x + 133, FOOT, f"{high:g}", ha="left")
    x = LEFT + 440
    page.hatch([(x, FOOT - 7, 24, 14)])
    page.rectangle((x, FOOT - 7, 24, 14), fill=False, ec=LINE[0], lw=0.8)
    page.write(x + 32, FOOT, "masked", ha="left")
    text = "FLOPs: a multiply-add is 2. Lines above: the residual stream."
    page.note(x + 110, FOOT, text, ha="left", size=SIZE)


def shrink(figure: Figure) -> None:
    """Bring a figure in CSS pixels to points, of which an inch has fewer."""
    small = 72 / 96
    figure.set_size_inches(*(small * x for x in figure.get_size_inches()))
    for text in figure.findobj(Text):
        text.set_fontsize(small * float(text.get_fontsize()))
    for patch in figure.findobj(Patch):
        patch.set_linewidth(small * patch.get_linewidth())
        if isinstance(patch, FancyArrowPatch):
            patch.set_mutation_scale(small * patch.get_mutation_scale())

"""The poster: every tensor of a traced Transformer, drawn small, with its
shape, and with what is learned and computed to make it. A sheet of A3."""

import base64
from collections.abc import Sequence

import matplotlib as mpl
import torch
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Patch, Rectangle
from matplotlib.text import Text

from pictures.bands import (
    BAND,
    DEEP,
    LEFT,
    MIDDLE,
    RIGHT,
    Band,
    counted,
    draw_band,
    placed,
)
from pictures.thumbs import Thumb, costs_of, thumbs_of
from shapewatch.tracing import Trace
from tformer_lite.drawing.diagram.anatomy import sides_of
from tformer_lite.drawing.diagram.here import measured_shape
from tformer_lite.drawing.surface.page import (
    NAME,
    SMALL,
    Page,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    AXES,
    CENTRED,
    DARK,
    EDGE,
    INK,
    LINE,
    PAPER,
    SHARE,
)
from tformer_lite.drawing.surface.picture import SHAPES_COMPLEX, Picture, render

__all__ = ["poster"]

SHEET = 1587.4, 1122.5  # A3 in CSS pixels
TOP, FOOT = 92, 1082
GROUND: Style = {"fc": "#f6f8fa", "ec": EDGE[0], "lw": 0.8, "zorder": 0}
PLACES = {"src_embedding": "source table", "tgt_embedding": "target table"}
PLACES |= {"embedding": "table"}


class Poster(Picture):
    """A poster: a notebook shows a preview, `pdf()` gives it to print."""

    DPI, COLOURS = 84, 256

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, str]:
        if not SHAPES_COMPLEX:
            return super()._repr_mimebundle_()
        png = base64.b64encode(self.png()).decode()
        return {"text/plain": self.text, "image/png": png}  # SVG is heavy

    def pdf(self, **about: str) -> bytes:
        """Draw as PDF, with its fonts in it; `about` it, it says Title,
        Subject or Keywords."""
        with mpl.rc_context({"pdf.fonttype": 42}):
            same = {"CreationDate": None, "Creator": None, "Producer": None}
            return render(self.figure, "pdf", "", metadata=same | about)


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
    thumbs = [[*thumbs_of(seen, s, t)] for s, t in zip(sides, texts)]
    page, top, bands = Page(*SHEET), TOP, list[list[Band]]()
    for each in thumbs:
        bands.append(placed(each, top))
        top += BAND * len(bands[-1])
    bound = largest([t for each in thumbs for t in each])
    for side, rows in zip(sides, bands):
        draw_side(page, f"{side.name} × {side.n_blocks}", rows, bound)
    if len(bands) == 2:
        draw_memory(page, bands)
    draw_head(page, seen)
    draw_legend(page, seen, [row for rows in bands for row in rows])
    draw_foot(page, bound)
    shrink(page.figure)
    return Poster(page.figure, text_of(seen, sides, thumbs), DARK)


def largest(thumbs: Sequence[Thumb]) -> float:
    """Find where colours end: beyond it are two in a hundred numbers."""
    centred = [thumb for thumb in thumbs if thumb.kind is CENTRED]
    matrices = [m.float().abs() for t in centred for m in t.matrices]
    found = torch.cat([m[m.isfinite()] for m in matrices])
    place = int(0.98 * len(found))
    return max(round(found.sort().values[place].item(), 1), 0.1)


def draw_side(page: Page, name: str, rows: list[Band], bound: float) -> None:
    """Draw the bands of a side, one below the other."""
    for i, band in enumerate(rows):
        top = band[0].middle - MIDDLE
        page.box((LEFT - 22, top, RIGHT - LEFT + 22, BAND - 12), 8, **GROUND)
        more = ", continued" * bool(i)
        page.note(LEFT - 10, top + 16, name + more, ha="left", weight="bold")
        draw_band(page, band, bound)


def draw_memory(page: Page, bands: list[list[Band]]) -> None:
    """Draw the way from the encoder to keys and values of the decoder."""
    last = bands[0][-1][-1]
    for band in bands[1]:
        for spot in band:
            if spot.thumb.label == "q, k, v" and spot.thumb.sublayer == 1:
                low, right = spot.bottom + DEEP + 12, RIGHT + 18
                places = (
                    (last.right + 2, last.middle),
                    (right, last.middle),
                    (right, low),
                    (spot.centre, low),
                    (spot.centre, spot.bottom + DEEP - 6),
                )
                page.arrow(*places, lw=2, color=INK[0])
                text = "memory: keys and values of the cross-attention"
                style: Style = {"rotation": 90, "va": "center", "size": NAME}
                page.write(right + 11, (last.middle + low) / 2, text, **style)


def draw_head(page: Page, seen: Trace) -> None:
    """Write the title, and how large the model is."""
    style: Style = {"ha": "left", "weight": "bold", "size": 26}
    page.write(LEFT - 22, 36, "The Transformer, shape by shape", **style)
    text = (
        f"{said(seen)} Every cell is a number of one run, in the first "
        "example of the batch."
    )
    page.note(LEFT - 22, 68, text, ha="left", size=NAME + 1)


def said(seen: Trace) -> str:
    """Say how large the model is."""
    parameters, flops = costs_of(seen)[""].tolist()
    return f"{parameters:,} parameters, {flops:,} FLOPs in a run."


def draw_legend(page: Page, seen: Trace, rows: list[Band]) -> None:
    """Explain the letters, and draw where parameters and FLOPs are, in the
    band that has most room."""
    band = min(rows, key=lambda row: row[-1].right)
    x, y = band[-1].right + 70, band[0].middle - MIDDLE + 30
    wide = min(RIGHT - 24 - x, 520)
    if wide < 300:
        return
    letters = [name for name in AXES if name in seen.run.sizes]
    for i, name in enumerate(letters):
        left = x + (i % 2) * wide / 2
        style: Style = {"ha": "left", "size": NAME}
        meaning, (colour, _) = AXES[name]
        bold: Style = {"weight": "bold", "color": colour}
        page.write(left, y, name, **style | bold)
        page.write(left + 20, y, f"{seen.run.sizes[name]}", **style)
        page.note(left + 58, y, meaning, **style)
        y += 20 * (i % 2)
    y += 20 * (len(letters) % 2) + 24
    for i, what in enumerate(("parameters", "FLOPs")):
        shares = {
            PLACES.get(path, path): cost[i].item()
            for path, cost in costs_of(seen).items()
            if path and "." not in path and cost[i]
        }
        draw_shares(page, (x, y + 92 * i, wide, 20), what, shares)


def draw_shares(page: Page, box: tuple, what: str, shares: dict) -> None:
    """Draw how a number is shared out, as a bar in parts."""
    left, top, wide, high = box
    total, end = sum(shares.values()), left
    style: Style = {"ha": "left", "weight": "bold", "size": NAME}
    page.write(left, top - 12, f"{total:,} {what}", **style)
    down = 0.0
    for i, (name, number) in enumerate(shares.items()):
        part = wide * number / total
        colour = (EDGE[0], PAPER[0])[i % 2]
        page.add(Rectangle((left, top), part, high, fc=colour, ec=LINE[0]))
        text = f"{name} {100 * number / total:.0f} %"
        half = text_width(text, SMALL) / 2
        x = max(left + part / 2, box[0] + half)
        x = min(x, box[0] + wide - half)
        down = down + 13 if x - half < end + 6 and i else 0
        page.note(x, top + high + 11 + down, text)
        end, left = x + half, left + part


def draw_foot(page: Page, bound: float) -> None:
    """Explain the colours and the numbers."""
    x, y = LEFT - 22.0, FOOT
    scales = (CENTRED, -bound, bound, ""), (SHARE, 0.0, 1.0, "weights")
    for kind, low, high, what in scales:
        start = f"{what} {low:g}".replace("-", "−").strip()
        page.write(x, y, start, ha="left")
        x += text_width(start) + 8
        shades = torch.linspace(low, high, 25)[None]
        page.cells((x, y - 7, 125, 14), shades, kind, (low, high))
        page.write(x + 133, y, f"{high:g}", ha="left")
        x += 190
    page.hatch([(x, y - 7, 24, 14)])
    page.add(Rectangle((x, y - 7), 24, 14, fill=False, ec=LINE[0], lw=0.8))
    page.write(x + 32, y, "masked", ha="left")
    text = "FLOPs: a multiply-add is 2. Lines above: the residual stream."
    page.note(x + 110, y, text, ha="left", size=11)


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


def text_of(seen: Trace, sides: Sequence, thumbs: list[list[Thumb]]) -> str:
    """List all tensors, with what the poster says of them."""
    lines = list[str]()
    for side, each in zip(sides, thumbs):
        lines.append(f"{side.name} × {side.n_blocks}")
        for thumb in each:
            costs = ", ".join(counted(thumb))
            line = f"  {thumb.label:14} {measured_shape(thumb.shape):30} {costs}"
            lines.append(line.rstrip())
    return "\n\n".join([f"The whole model: {said(seen)}", "\n".join(lines)])

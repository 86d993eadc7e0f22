"""Model diagram: the whole model, and where in it we are."""

from itertools import chain

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tformer_lite.drawing.diagram.closeup import (
    HIGH,
    MARGIN,
    arrows,
    closeup,
    lanes,
)
from tformer_lite.drawing.diagram.columns import BOX, WIDE, Column, draw_column
from tformer_lite.drawing.diagram.pen import (
    COLOURS,
    arrow,
    extent,
    sheet,
    words,
)
from tformer_lite.drawing.diagram.scene import INSIDE, Scene, describe, look
from tformer_lite.drawing.matrix import choice
from tformer_lite.drawing.palette import AXES
from tformer_lite.drawing.picture import STYLE, Picture
from tformer_lite.tracing.traced import Trace

PARTS = [
    "ids", "embedding", "positions", *INSIDE, "feed_forward", "residual",
    "norm", "encoder", "self_attention", "cross_attention", "decoder", "head",
]  # fmt: skip
# In points: what is between the columns, and at the edges; from line to line.
GUTTER, EDGE, ROW = 20, 2, 13


def where(seen: Trace, part: str) -> Picture:
    """Draw a traced EncoderDecoder, with `part` marked: where we are.

    The parts: ids, embedding, positions, projections, heads, scores, mask,
    softmax, output, feed_forward, residual, norm, encoder, self_attention,
    cross_attention, decoder, head. What is there twice is marked where it
    runs first; an attention is drawn again, larger, when the part is in it
    or is it. Every shape is the trace's, and one that it does not have is
    left out. Raises ValueError for another part, for one that this model
    lacks, and for another kind of model.

    >>> where(running_trace(), "scores")
    Where we are: scores, inside the encoder's self-attention. ...
    """
    scene = look(seen, choice("part", part, dict.fromkeys(PARTS)))
    with mpl.rc_context(STYLE):
        figure = draw(scene)
    return Picture(figure, describe(scene), COLOURS)


def draw(scene: Scene) -> Figure:
    """Draw the map, the letters, and the attention that is opened."""
    wide = frame_width(scene)
    lefts = EDGE, EDGE + wide + GUTTER
    encoder, decoder = (
        Column(side, parts, n, left, wide, scene.lit, scene.opened)
        for (side, parts), n, left in zip(
            scene.sides.items(), scene.counts.values(), lefts
        )
    )
    letters = legend(scene)
    ends = encoder.tops[-1] + 32 + ROW * len(letters), decoder.tops[-1] + 20
    top, right = max(ends), lefts[1] + wide
    ax = sheet(right + EDGE, top + (HIGH + EDGE) * bool(scene.opened))
    draw_column(ax, encoder)
    draw_column(ax, decoder)
    draw_ends(ax, encoder, decoder)
    draw_letters(ax, encoder.left + 12, encoder.tops[-1] + 36, letters)
    if scene.opened:
        inner = scene.insides[scene.opened.name]
        place = EDGE, top, right - EDGE, HIGH
        closeup(ax, place, scene.title, scene.arrows, inner, scene.part)
    return ax.figure


def frame_width(scene: Scene) -> float:
    """How wide a block's frame is: as the shapes need, whatever the part."""
    shapes = [p.shape for p in chain(*scene.sides.values())]
    wide = max(WIDE + 28, *(2 * extent(shape) + 28 for shape in shapes))
    for name, inner in scene.insides.items():
        lane, _ = lanes(arrows(inner, name == "cross_attention"))
        wide = max(wide, (3 * lane + 2 * MARGIN - GUTTER) / 2)
    return wide


def draw_ends(ax: Axes, encoder: Column, decoder: Column) -> None:
    """Say what each side gives, and take the memory across."""
    for each, name in (encoder, "memory"), (decoder, "logits"):
        words(ax, each.middle, each.tops[-1] + 8, name)
    low = encoder.tops[-1] + 8
    high = decoder.top_of("cross_attention") + BOX / 2
    lane = decoder.left - GUTTER / 2
    start, end = encoder.middle + 24, decoder.middle - WIDE / 2
    arrow(ax, (start, low), (lane, low), (lane, high), (end, high))


def legend(scene: Scene) -> list[str]:
    """List the letters that are drawn."""
    shapes = [part.shape for part in chain(*scene.sides.values())]
    if scene.opened:
        shapes += [each.shape for each in scene.arrows if each.shape]
    names = {axis.name for axis in chain(*shapes)}
    return [each for each in AXES if any(each in name for name in names)]


def draw_letters(ax: Axes, x: float, y: float, letters: list[str]) -> None:
    """Say what each letter means."""
    for i, letter in enumerate(letters):
        meaning, colours = AXES[letter]
        style = {"color": colours[0], "weight": "bold"}
        words(ax, x, y + i * ROW, letter, **style)
        words(ax, x + 10, y + i * ROW, meaning, ha="left")

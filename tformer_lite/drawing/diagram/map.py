"""Map of the model: the whole of it, and where in it we are."""

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tformer_lite.drawing.diagram.anatomy import SIDES, side_of
from tformer_lite.drawing.diagram.boxes import (
    BOX,
    INSET,
    WIDE,
    Column,
    closeup_height,
    draw_closeup,
    draw_column,
    lane_width,
)
from tformer_lite.drawing.diagram.description import description, title_of
from tformer_lite.drawing.diagram.parts import Part, Side, path_to
from tformer_lite.drawing.diagram.primitives import (
    COLOURS,
    draw_arrow,
    shape_width,
    write,
)
from tformer_lite.drawing.matrix import check_known
from tformer_lite.drawing.palette import AXES, PAPER
from tformer_lite.drawing.picture import STYLE, Picture
from tformer_lite.tracing.traced import Trace

PARTS = [
    "ids", "embedding", "positions", "projections", "heads", "scores", "mask",
    "softmax", "output", "feed_forward", "residual", "norm", "encoder",
    "self_attention", "cross_attention", "decoder", "head",
]  # fmt: skip
# In points: what is between the columns, and at the edges; from line to line.
GUTTER, BORDER, ROW = 20, 2, 13


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
    check_known("part", part, PARTS)
    sides = [side_of(seen, name) for name in SIDES]
    path = path_to(part, sides)
    if not path:
        raise ValueError(f"this model has no {part}.")
    with mpl.rc_context(STYLE):
        figure = draw_map(sides, path)
    return Picture(figure, description(sides, path), COLOURS)


def draw_map(sides: list[Side], path: list[Part]) -> Figure:
    """Draw both columns, the letters, and the attention on the path."""
    wide, letters = column_width(sides), letters_of([*sides, *path[1:2]])
    encoder, decoder = (
        Column(side, BORDER + i * (wide + GUTTER), wide)
        for i, side in enumerate(sides)
    )
    top = max(encoder.end + 32 + ROW * len(letters), decoder.end + 20)
    larger = closeup_height(path[1]) if path[1:] and path[1].parts else 0
    right = decoder.left + wide
    wide, high = right + BORDER, top + larger + BORDER * bool(larger)
    figure = Figure((wide / 72, high / 72), facecolor=PAPER[0])
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, wide), ylim=(high, 0))
    ax.set_axis_off()
    draw_column(ax, encoder, path)
    draw_column(ax, decoder, path)
    draw_ends(ax, encoder, decoder)
    draw_letters(ax, encoder.left + 12, encoder.end + 36, letters)
    if larger:
        place = BORDER, top, right - BORDER, larger
        draw_closeup(ax, place, title_of(path), path)
    return figure


def column_width(sides: list[Side]) -> float:
    """How wide a column is: as the shapes need, whatever the path."""
    parts = [part for side in sides for part in side.parts]
    widest = max(shape_width(part.gives[0][1]) for part in parts)
    lane = max(lane_width(part)[1] for part in parts if part.parts)
    closeup = 3 * lane + 2 * INSET
    return max(WIDE + 28, 2 * widest + 28, (closeup - GUTTER) / 2)


def draw_ends(ax: Axes, encoder: Column, decoder: Column) -> None:
    """Say what each side gives, and take the memory across."""
    write(ax, encoder.middle, encoder.end + 8, "memory")
    write(ax, decoder.middle, decoder.end + 8, "logits")
    names = [part.name for part in decoder.side.parts]
    low = encoder.end + 8
    high = decoder.top(names.index("cross_attention")) + BOX / 2
    lane = decoder.left - GUTTER / 2
    start, end = encoder.middle + 24, decoder.middle - WIDE / 2
    draw_arrow(ax, (start, low), (lane, low), (lane, high), (end, high))


def letters_of(drawn: list[Part]) -> list[str]:
    """List the letters in what the parts of some parts give."""
    given = [part.gives for each in drawn for part in each.parts]
    shapes = [shape for named in given for _, shape in named]
    names = {axis.name for shape in shapes for axis in shape}
    return [each for each in AXES if any(each in name for name in names)]


def draw_letters(ax: Axes, x: float, y: float, letters: list[str]) -> None:
    """Say what each letter means."""
    for i, letter in enumerate(letters):
        meaning, (colour, _) = AXES[letter]
        write(ax, x, y + i * ROW, letter, color=colour, weight="bold")
        write(ax, x + 10, y + i * ROW, meaning, ha="left")

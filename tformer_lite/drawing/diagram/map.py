"""Map of the model: the whole of it, and where in it we are."""

from collections.abc import Iterator

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tformer_lite.drawing.diagram import anatomy, boxes
from tformer_lite.drawing.diagram.anatomy import Part, Side
from tformer_lite.drawing.diagram.boxes import Column, draw_arrow, write
from tformer_lite.drawing.matrix import check_known
from tformer_lite.drawing.palette import AXES, PAPER
from tformer_lite.drawing.picture import STYLE, Picture
from tformer_lite.tracing import Trace
from tformer_lite.tracing.axes.names import shape_text

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
    sides = [anatomy.side_of(seen, name) for name in anatomy.SIDES]
    path = anatomy.path_to(part, sides)
    if not path:
        raise ValueError(f"this model has no {part}.")
    with mpl.rc_context(STYLE):
        figure = draw_map(sides, path)
    return Picture(figure, description(sides, path), boxes.COLOURS)


def draw_map(sides: list[Side], path: list[Part]) -> Figure:
    """Draw both columns, the letters, and the attention on the path."""
    wide, letters = column_width(sides), letters_of([*sides, *path[1:2]])
    encoder, decoder = (
        Column(side, BORDER + i * (wide + GUTTER), wide)
        for i, side in enumerate(sides)
    )
    top = max(encoder.end + 32 + ROW * len(letters), decoder.end + 20)
    larger = sum(map(boxes.closeup_height, enlarged(path)))
    right = decoder.left + wide
    wide, high = right + BORDER, top + larger + BORDER * bool(larger)
    figure = Figure((wide / 72, high / 72), facecolor=PAPER[0])
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, wide), ylim=(high, 0))
    ax.set_axis_off()
    for column in encoder, decoder:
        boxes.draw_column(ax, column, path)
    draw_ends(ax, encoder, decoder)
    for i, letter in enumerate(letters):
        x, y = encoder.left + 12, encoder.end + 36 + i * ROW
        meaning, (colour, _) = AXES[letter]
        write(ax, x, y, letter, color=colour, weight="bold")
        write(ax, x + 10, y, meaning, ha="left")
    if larger:
        place = BORDER, top, right - BORDER, larger
        boxes.draw_closeup(ax, place, title_of(path), path)
    return figure


def enlarged(path: list[Part]) -> list[Part]:
    """Give the attention on a path that is drawn again, if there is one."""
    return [part for part in path[1:2] if part.parts]


def column_width(sides: list[Side]) -> float:
    """How wide a column is: as the shapes need, whatever the path."""
    parts = [part for side in sides for part in side.parts]
    widest = max(boxes.shape_width(part.gives[0][1]) for part in parts)
    lane = max(boxes.lane_width(part)[1] for part in parts if part.parts)
    closeup = 3 * lane + 2 * boxes.INSET
    return max(boxes.WIDE + 28, 2 * widest + 28, (closeup - GUTTER) / 2)


def draw_ends(ax: Axes, encoder: Column, decoder: Column) -> None:
    """Say what each side gives, and take the memory across."""
    write(ax, encoder.middle, encoder.end + 8, "memory")
    write(ax, decoder.middle, decoder.end + 8, "logits")
    names = [part.name for part in decoder.side.parts]
    low = encoder.end + 8
    high = decoder.top(names.index("cross_attention")) + boxes.BOX / 2
    lane = decoder.left - GUTTER / 2
    start, end = encoder.middle + 24, decoder.middle - boxes.WIDE / 2
    draw_arrow(ax, (start, low), (lane, low), (lane, high), (end, high))


def letters_of(drawn: list[Part]) -> list[str]:
    """List the letters in what the parts of some parts give."""
    given = [part.gives for each in drawn for part in each.parts]
    shapes = [shape for named in given for _, shape in named]
    names = {axis.name for shape in shapes for axis in shape}
    return [each for each in AXES if any(each in name for name in names)]


def description(sides: list[Side], path: list[Part]) -> str:
    """Say where we are; then list the parts with their shapes."""
    part, shapes = path[-1], ", ".join(named_shapes(path[-1]))
    name = part.label if path[1:] else f"the {part.name}"
    blocks = [f"{s.n_blocks} block{'s' * (s.n_blocks > 1)}" for s in sides]
    words = [
        f"Where we are: {name}, {position(path)}.",
        *([f"It gives {shapes}."] if shapes else []),
        f"The map shows an encoder of {blocks[0]} and a decoder of "
        f"{blocks[1]}, and the shape of all that goes from part to part.",
    ]
    return "\n\n".join([" ".join(words), "\n".join(listing(sides, path))])


def position(path: list[Part]) -> str:
    """Say where the last part of a path is."""
    side, *found = path
    if not found:
        return "a stack of blocks that are built alike"
    if len(found) == 2:
        return title_of(path)
    if found[0].sublayer is not None:
        return f"in the {side.name}'s block"
    before = side.parts[: side.parts.index(found[0])]
    after = any(part.sublayer is not None for part in before)
    return f"{'after' if after else 'before'} the {side.name}'s blocks"


def title_of(path: list[Part]) -> str:
    """Name the attention on a path whose parts are shown too."""
    return f"inside the {path[0].name}'s {path[1].label}"


def listing(sides: list[Side], path: list[Part]) -> Iterator[str]:
    """List the parts in order, the last of the path with an arrow, and each
    shape on a line of its own. Parts without a name are only drawn."""
    wholes: list[Part] = [*sides, *enlarged(path)]
    for whole in wholes:
        title = whole.label if whole in sides else title_of(path)
        yield f"{'→' if path == [whole] else ' '} {title}"
        for part in filter(lambda part: part.name, whole.parts):
            first, *others = named_shapes(part) or [""]
            mark = "→" if part is path[-1] else " "
            yield f"{mark}   {part.label:16} {first}".rstrip()
            yield from (" " * 21 + each for each in others)


def named_shapes(part: Part) -> list[str]:
    """Write what a part gives, named and measured: q (B, S) = (2, 8)."""
    return [
        f"{name} {shape_text(shape)} = {tuple(a.size for a in shape)}".strip()
        for name, shape in part.gives
        if shape
    ]

"""Where we are in a model, as a strip small enough for every chapter; and
the whole of it, once."""

from collections.abc import Sequence

from shapewatch.tracing import Trace
from shapewatch.tracing.axes.names import Shape, shape_text
from tformer_lite.drawing.diagram.anatomy import (
    STOPS,
    Part,
    Side,
    sides_of,
    stops_of,
)
from tformer_lite.drawing.diagram.strips import draw_sides, draw_stops
from tformer_lite.drawing.surface.matrix import check_known
from tformer_lite.drawing.surface.page import Page
from tformer_lite.drawing.surface.palette import DARK
from tformer_lite.drawing.surface.picture import Picture

PARTS = [
    "ids", "embedding", "positions", "projections", "heads", "scores", "mask",
    "softmax", "output", "feed_forward", "residual", "norm", "encoder",
    "self_attention", "cross_attention", "decoder", "head", "model",
]  # fmt: skip
Sides = Sequence[Side]
Stops = Sequence[Part]


def where(seen: Trace, part: str) -> Picture:
    """Draw the parts of a traced Transformer in a strip, with one of them
    marked: where we are.

    The parts of the whole: ids, embedding, positions, self_attention,
    cross_attention, feed_forward, residual, norm, head; encoder, decoder and
    model are several of them. Inside an attention: projections, heads,
    scores, mask, softmax, output. What is there twice is marked where it
    runs first. Every shape is the trace's; inside an attention rows are T
    and columns S. Raises ValueError for another part, for one that this
    model lacks, and for what is no Transformer.

    >>> where(running_trace(), "scores")
    You are here: scores, inside the encoder's self-attention. ...
    """
    check_known("part", part, PARTS)
    sides = sides_of(seen)
    title, stops = first_attention(seen, sides)
    if part in STOPS:
        names = [stop.name for stop in stops]
        check_there(part, names)
        lit = names.index(part)
        text = stops_text(title, stops, lit)
        return picture_of(draw_stops(title, stops, lit), text)
    names = [p.name for side in sides for p in side.parts]
    check_there(part, [*names, *(side.name for side in sides), "model"])
    return picture_of([draw_sides(sides, part)], sides_text(sides, part))


def overview(seen: Trace) -> Picture:
    """Draw the whole of a traced Transformer: the parts of its sides, with a
    shape wherever it changes, and what is inside its first attention.

    Raises ValueError for what is no Transformer.

    >>> overview(running_trace())
    The whole model: encoder and decoder, and the stops inside the ...
    """
    sides = sides_of(seen)
    title, stops = first_attention(seen, sides)
    names = " and ".join(side.name for side in sides) or "an attention"
    text = f"The whole model: {names}, and the stops {title}."
    lines = [
        f"{side_title(side)}: {chain(side.parts, True)}" for side in sides
    ]
    lines.append(f"{title}: {chain(stops, True)}")
    text = "\n\n".join([text, "\n".join(lines)])
    pages = [draw_sides(sides)] if sides else []
    return picture_of(pages + draw_stops(title, stops, -1), text)


def picture_of(pages: Sequence[Page], text: str) -> Picture:
    """Make a picture of pages."""
    return Picture([page.figure for page in pages], text, DARK)


def first_attention(seen: Trace, sides: Sides) -> tuple[str, Stops]:
    """Give a title, and the stops, of the attention that ran first."""
    title, path = "inside the attention", ""
    for side in sides[:1]:
        first = next(p for p in side.parts if p.name.endswith("attention"))
        title = f"inside the {side.name}'s {first.label}"
        path = first.path
    if stops := stops_of(seen, path):
        return title, stops
    raise ValueError(
        "the trace has no attention: trace a Transformer, such as "
        "EncoderDecoder(tiny_translator)."
    )


def check_there(part: str, known: Sequence[str]) -> None:
    """Raise ValueError for a part that a model does not have."""
    if part not in known:
        there = ", ".join(name for name in PARTS if name in known)
        raise ValueError(f"this model has no {part}: it has {there}.")


def stops_text(title: str, stops: Stops, lit: int) -> str:
    """Say which stop we are at; then list them."""
    part = stops[lit]
    gives = f" It gives {measured_shape(part.shape)}." if part.shape else ""
    said = f"You are here: {part.label}, {title}.{gives}"
    return f"{said}\n\n{chain(stops, lit=[part])}"


def sides_text(sides: Sides, name: str) -> str:
    """Say where a part is, and what it gives; then list all."""
    found = [(s, p) for s in sides for p in s.parts if p.name == name][:1]
    said = f"the {'whole ' * (name == 'model')}{name}."
    for side, part in found:
        label = name.replace("_", "-") if name != "ids" else "ids"
        gives = measured_shape(part.shape)
        said = f"{label}, in the {side.name}. It gives {gives}."
    lit = [part for _, part in found]
    lines = [
        f"{side_title(side)}: {chain(side.parts, lit=lit)}" for side in sides
    ]
    return "\n\n".join([f"You are here: {said}", "\n".join(lines)])


def side_title(side: Side) -> str:
    """Name a side, and say how many blocks it has: encoder × 6."""
    return f"{side.name} × {side.n_blocks}"


def chain(parts: Stops, shapes: bool = False, lit: Stops = ()) -> str:
    """List parts in their order: those that are lit in brackets, and with a
    shape wherever it changes."""
    words, before = [], None
    for part in parts:
        word = f"[{part.label}]" if part in lit else part.label
        if shapes and part.shape and part.shape != before:
            word, before = f"{word} {measured_shape(part.shape)}", part.shape
        words.append(word)
    return " → ".join(words)


def measured_shape(shape: Shape) -> str:
    """Write a named and measured shape: (B, S) = (2, 8)."""
    return f"{shape_text(shape)} = {tuple(axis.size for axis in shape)}"

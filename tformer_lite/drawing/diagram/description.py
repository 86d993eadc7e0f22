"""The map in words: where a part is, and the shapes of all parts."""

from collections.abc import Iterator

from tformer_lite.drawing.diagram.parts import Part, Side
from tformer_lite.tracing.axes.names import shape_text


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
    side, *boxes = path
    if not boxes:
        return "a stack of blocks that are built alike"
    if len(boxes) == 2:
        return title_of(path)
    if boxes[0].sublayer is not None:
        return f"in the {side.name}'s block"
    before = side.parts[: side.parts.index(boxes[0])]
    after = any(part.sublayer is not None for part in before)
    return f"{'after' if after else 'before'} the {side.name}'s blocks"


def title_of(path: list[Part]) -> str:
    """Name the attention on a path whose parts are shown too."""
    return f"inside the {path[0].name}'s {path[1].label}"


def listing(sides: list[Side], path: list[Part]) -> Iterator[str]:
    """List the parts in order, the last of the path with an arrow."""
    for side in sides:
        yield entry(side.label, [], side is path[-1])
        yield from entries(side, path)
    if path[1:] and path[1].parts:
        yield entry(title_of(path), [], False)
        yield from entries(path[1], path)


def entries(whole: Part, path: list[Part]) -> Iterator[str]:
    """Write the parts of a whole; those without a name are only drawn."""
    for part in whole.parts:
        if part.name:
            label = f"  {part.label}"
            yield entry(label, named_shapes(part), part is path[-1])


def entry(label: str, shapes: list[str], current: bool) -> str:
    """Write a part, each of its shapes on a line of its own."""
    mark = "→ " if current else "  "
    first, *others = shapes or [""]
    line = f"{mark}{label:18} {first}".rstrip()
    return "\n".join([line, *(" " * 21 + each for each in others)])


def named_shapes(part: Part) -> list[str]:
    """Write what a part gives, named and measured: q (B, S) = (2, 8)."""
    return [
        f"{name} {shape_text(shape)} = {tuple(a.size for a in shape)}".strip()
        for name, shape in part.gives
        if shape
    ]

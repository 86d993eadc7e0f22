"""Diagram scene: what a map of the model shows, and how it is told."""

from collections.abc import Iterator
from typing import NamedTuple

from tformer_lite.drawing.diagram.anatomy import (
    SIDES,
    Inside,
    Part,
    Shape,
    column,
    inside,
    n_blocks,
)
from tformer_lite.drawing.diagram.closeup import STEPS, Arrow, arrows
from tformer_lite.tracing.axes.names import shape_text
from tformer_lite.tracing.traced import Trace

INSIDE = {name: label for name, label, _ in STEPS}
ATTENTIONS = "self_attention", "cross_attention"


class Scene(NamedTuple):
    """The parts of each side and its number of blocks; the current part as
    it was asked for, and the box that is lit or opened for it: a part, or
    a whole side; and what is inside each kind of attention."""

    sides: dict[str, list[Part]]
    counts: dict[str, int]
    part: str
    box: Part | str
    insides: dict[str, Inside]

    @property
    def lit(self) -> Part | str | None:
        """The box that is lit; None when a box of the close-up is."""
        return None if self.part in INSIDE else self.box

    @property
    def side(self) -> str:
        """The side on which the current part is."""
        if self.part in SIDES:
            return self.part
        return next(s for s, parts in self.sides.items() if self.box in parts)

    @property
    def opened(self) -> Part | None:
        """The attention that is drawn again, larger."""
        name = getattr(self.box, "name", None)
        return self.box if name in ATTENTIONS else None

    @property
    def title(self) -> str:
        """Say which attention is drawn again."""
        return f"inside the {self.side}'s {self.opened.label}"

    @property
    def arrows(self) -> list[Arrow]:
        """What goes along the arrows of the attention drawn again."""
        name = self.opened.name
        return arrows(self.insides[name], name == "cross_attention")


def look(seen: Trace, part: str) -> Scene:
    """Find the parts of a traced model, and the current one.

    Raises ValueError when the model lacks it, or is of another kind.
    """
    sides = {side: column(seen, side) for side in SIDES}
    counts = {side: n_blocks(seen, side) for side in SIDES}
    first = {}
    for each in (p for parts in sides.values() for p in parts):
        first.setdefault(each.name, each)
    box = part
    if part not in SIDES:
        box = first.get("self_attention" if part in INSIDE else part)
    if box is None:
        raise ValueError(f"this model has no {part}.")
    insides = {
        name: inside(seen, first[name].path)
        for name in ATTENTIONS
        if name in first
    }
    return Scene(sides, counts, part, box, insides)


def describe(scene: Scene) -> str:
    """Say where we are; then list the parts with their shapes."""
    many = [f"{n} block{'s' * (n > 1)}" for n in scene.counts.values()]
    words = (
        f"Where we are: {name(scene)}, {place(scene)}.{gives(scene)} The map "
        f"shows an encoder of {many[0]} and a decoder of {many[1]}, and the "
        "shape of all that goes from part to part."
    )
    return "\n\n".join([words, "\n".join(lines(scene))])


def name(scene: Scene) -> str:
    """Name the current part in words."""
    if scene.part in SIDES:
        return f"the {scene.part}"
    label = INSIDE.get(scene.part) or scene.box.label
    return label.split(":")[0]


def place(scene: Scene) -> str:
    """Say where the current part is."""
    side = scene.side
    if scene.part in SIDES:
        return "a stack of blocks that are built alike"
    if scene.part in INSIDE:
        return scene.title
    if scene.box.sublayer is not None:
        return f"in the {side}'s block"
    blocks = [p.step for p in scene.sides[side] if p.sublayer is not None]
    after = scene.box.step > blocks[0]
    return f"{'after' if after else 'before'} the {side}'s blocks"


def gives(scene: Scene) -> str:
    """Say which shapes the current part gives."""
    if scene.part in INSIDE:
        shapes = step_shapes(scene, scene.part)
    elif scene.part in SIDES:
        shapes = [shape(scene.sides[scene.part][-1].shape)]
    else:
        shapes = [shape(scene.box.shape)]
    return f" It gives {', '.join(shapes)}." if shapes else ""


def step_shapes(scene: Scene, part: str) -> list[str]:
    """Write the shapes that a step of the close-up gives, with names."""
    row = list(INSIDE).index(part) + 1
    given = [each for each in scene.arrows if each.row == row and each.shape]
    return [f"{each.name} {shape(each.shape)}" for each in given]


def shape(axes: Shape) -> str:
    """Write a shape, named and measured: (B, S) = (2, 8)."""
    return f"{shape_text(axes)} = {tuple(axis.size for axis in axes)}"


def lines(scene: Scene) -> Iterator[str]:
    """List the parts in order, the current one with an arrow."""
    for side, parts in scene.sides.items():
        yield entry(scene.lit == side, f"{side} × {scene.counts[side]}")
        for part in parts:
            shapes = [shape(part.shape)]
            yield entry(part is scene.lit, f"  {part.label}", shapes)
    if scene.opened:
        yield entry(False, scene.title)
        for part, label in INSIDE.items():
            label = f"  {label.split(':')[0]}"
            shapes = step_shapes(scene, part)
            yield entry(part == scene.part, label, shapes)


def entry(current: bool, label: str, shapes: list[str] = ()) -> str:
    """Write a part, each of its shapes on a line of its own."""
    mark = "→ " if current else "  "
    first, *others = shapes or [""]
    line = f"{mark}{label:18} {first}".rstrip()
    return "\n".join([line, *(" " * 21 + each for each in others)])

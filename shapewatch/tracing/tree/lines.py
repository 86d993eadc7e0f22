"""Lines: what is said of each module of a tree, and how many are shown."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from shapewatch.tracing.axes.names import Shape, Shapes, shape_text
from shapewatch.tracing.tables import typed_text
from shapewatch.tracing.tree.nodes import Node, TypedShapes, node_name
from shapewatch.tracing.tree.runs import Container

SCREEN_LINES = 36
# How many shapes to write, in and out: the first that fits.
SHAPE_COUNTS = (9, 9), (4, 4), (3, 3), (2, 2), (1, 2), (1, 1), (0, 1)
WriteShape = Callable[[Shape], str]


class TreeLine(NamedTuple):
    """A line of the tree: a module, or equal ones that are folded.

    `again` says that it stands further up as well.
    """

    level: int
    group: list[Node]
    again: bool

    @property
    def node(self) -> Node:
        """The module; of equal ones the first."""
        return self.group[0]

    @property
    def parameters(self) -> str:
        """How many parameters it has: 7,087,872 each."""
        if not self.node.parameters:
            return ""
        how = " each" if len(self.group) > 1 else " again" * self.again
        return f"{self.node.parameters:,}{how}"

    def cells(self) -> tuple[str, str, str]:
        """Write the name, the class and the parameters."""
        name = "  " * self.level + node_name(self.group)
        return name, self.node.kind, self.parameters


def fitting_depth(root: Node) -> int:
    """Find how many levels fit a screen; one at least."""
    deep = 1
    while (
        deep < root.depth and len(tree_lines(root, deep + 1)) <= SCREEN_LINES
    ):
        deep += 1
    return deep


def tree_lines(root: Node, depth: int) -> list[TreeLine]:
    """List the lines of a tree, down to a depth."""
    return list(lines_below(root, 0, depth, set()))


def lines_below(
    node: Node, level: int, depth: int, above: set[str]
) -> Iterator[TreeLine]:
    """List what is in a module; `above` are the paths so far."""
    for group in node.groups if level < depth else ():
        paths = {part.path for part in group}
        yield TreeLine(level, group, bool(above & paths))
        above |= paths
        yield from lines_below(group[0], level + 1, depth, above)


def shapes_fitting(node: Node, room: int) -> str:
    """Write what a module reads and makes, in so many letters if possible."""
    texts = [arrow(node, *many) for many in SHAPE_COUNTS]
    return next((text for text in texts if len(text) <= room), texts[-1])


def arrow(
    node: Node,
    most_in: int = 9,
    most_out: int = 9,
    write: WriteShape = shape_text,
) -> str:
    """Write what a module reads and makes: (B, T) -> (B, T, C); nothing of
    a function, of which it is not known, or of a container."""
    if not node.kind or isinstance(node.runs[0], Container):
        return ""
    reads = side_text([one.reads for one in node.given], most_in, write)
    makes = (
        side_text([one.makes for one in node.given], most_out, write) or "?"
    )
    return f"{reads} -> {makes}".strip()


def side_text(
    found: list[TypedShapes | None], most: int, write: WriteShape
) -> str:
    """Write the shapes of some runs; the first and last, where they differ."""
    first, last = (
        "failed" if one is None else few_shapes(*one, most, write)
        for one in (found[0], found[-1])
    )
    alike = found == found[:1] * len(found)
    return first if alike or not most else f"{first} … {last}"


def few_shapes(
    shapes: Shapes,
    types: tuple[str, ...],
    most: int,
    write: WriteShape = shape_text,
) -> str:
    """Write so many shapes, each with its data type if that is said."""
    text = typed_text(shapes[:most], types[:most], write)
    return ", ".join(filter(None, [text, "…" * (len(shapes) > most)]))

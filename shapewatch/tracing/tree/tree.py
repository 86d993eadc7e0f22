"""The tree of a run's modules: what it says, as text and as HTML."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from shapewatch.tracing.axes.names import sizes_text
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.tables import Printable, text_line
from shapewatch.tracing.tree.lines import (
    TreeLine,
    arrow,
    fitting_depth,
    shapes_fitting,
    tree_lines,
)
from shapewatch.tracing.tree.nodes import root_of
from shapewatch.tracing.tree.pages import page_of

TREE_WIDTH, CLASS_WIDTH = (
    100,
    12,
)  # in letters; a class's name may have that many
TREE_HEADERS = "module", "class", "parameters"


class Tree(Printable):
    """The modules of a run in the order in which they first ran, each with
    its named shapes and its parameters, and equal neighbours folded.

    `depth` says how many levels to show below the whole; without it, as many
    as fit a screen. Print it, or show it in a notebook. Raises ValueError
    for a depth below 0.
    """

    # What shows all modules, and all calls; "" where nothing does.
    more = "tree(depth={})", "calls()"

    def __init__(
        self, calls: Calls, model: Callable, depth: int | None = None
    ):
        if depth is not None and depth < 0:
            raise ValueError(f"{depth=} is below 0, where the whole model is")
        self.calls, self.notes = calls, calls.notes
        self.root = root_of(calls, model)
        self.label = self.root.kind or getattr(model, "__name__", "function")
        self.depth = fitting_depth(self.root) if depth is None else depth

    @cached_property
    def shown(self) -> list[TreeLine]:
        """The lines of the modules."""
        return tree_lines(self.root, self.depth)

    def lines(self) -> list[str]:
        """Write a heading, a line for each module, and what is not shown."""
        whole = shapes_fitting(self.root, TREE_WIDTH - len(self.label) - 2)
        head = [f"{self.label}  {whole}".rstrip(), about_text(self)]
        table = ["", *tree_columns(self.shown)] if self.shown else []
        return [*head, *table, "", *totals_text(self)]

    def _repr_html_(self) -> str:
        """Write lists in lists that open and close, with the calls of each
        module; they can be read without style and without script."""
        below = [*totals_text(self), *self.notes]
        return page_of(
            self.root, self.label, self.depth, about_text(self), below
        )


def tree_columns(lines: list[TreeLine]) -> list[str]:
    """Write lines one below the other, in columns."""
    names, kinds, numbers = zip(
        TREE_HEADERS, *(line.cells() for line in lines)
    )
    counts = align_counts(numbers)
    room = TREE_WIDTH - max(map(len, names)) - max(map(len, counts)) - 6
    least = max(len(arrow(line.node, 1, 1)) for line in lines)
    classes = truncate(kinds, max(room - least, CLASS_WIDTH))
    room -= max(map(len, classes))
    shapes = [
        "in -> out",
        *(shapes_fitting(line.node, room) for line in lines),
    ]
    widths = [max(map(len, column)) for column in (names, classes, shapes)]
    rows = zip(names, classes, shapes, counts)
    return [text_line(row, (*widths, 0)) for row in rows]


def truncate(texts: Iterable[str], width: int) -> list[str]:
    """Cut texts that are longer than a width."""
    return [
        text if len(text) <= width else f"{text[: width - 1]}…"
        for text in texts
    ]


def about_text(tree: Tree) -> str:
    """Tell the sizes of the axes that are named, and the usual data type."""
    nodes = [tree.root, *(line.node for line in tree.shown)]
    sizes = sizes_text(map(arrow, nodes), tree.calls.run.sizes)
    dtype, device = tree.root.facts.usual
    usual = f"{dtype} on {device}, unless marked" if dtype else ""
    return "; ".join(filter(None, (sizes, usual)))


def totals_text(tree: Tree) -> list[str]:
    """Tell how much there is in all, and how to see it."""
    many, deep = len(tree.calls.steps), tree.root.depth
    count = tree.root.facts.sizes.get("", 0)
    found = [f"{count:,} parameters in all"] if count else []
    deeper, calls = tree.more
    ways = [f"{calls} lists all {many:,} calls"] if calls else []
    if tree.depth >= deep:
        return [*found, *ways]
    if deeper:
        ways.insert(0, f"{deeper.format(deep)} shows all modules")
    shown = f"depth={tree.depth} of {deep}"
    return [*found, ": ".join(filter(None, [shown, ", ".join(ways)]))]


def align_counts(counts: Sequence[str]) -> list[str]:
    """Let numbers end in one column, whatever is said of them."""
    split = [count.partition(" ") for count in counts]
    width = max(len(number) for number, *_ in split)
    return ["".join([number.rjust(width), *rest]) for number, *rest in split]

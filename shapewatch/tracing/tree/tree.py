"""The tree of a run's modules: what it says, as text and as HTML."""

import html
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from torch import nn

from shapewatch.tracing.axes.names import Shape, Shapes, shape_text, sizes_text
from shapewatch.tracing.calls import Calls, kind_texts, shapes_at, usual_kind
from shapewatch.tracing.markup import STYLE, html_groups, shape_html
from shapewatch.tracing.questions.costs import Size, sizes_of
from shapewatch.tracing.record.tensors import Mark
from shapewatch.tracing.record.visits import Visit
from shapewatch.tracing.tables import (
    CALL_HEADERS,
    Printable,
    Row,
    row_cells,
    text_line,
    typed_text,
)

TREE_WIDTH, CLASS_WIDTH = 100, 12  # letters; a class has that many at least
SCREEN_LINES = 36
FEW_SHAPES, MOST_CALLS = 4, 300  # shapes in a line; calls in a page
TREE_HEADERS = "module", "class", "parameters"
# How many shapes to write, in and out: the first that fits.
SHAPE_COUNTS = (9, 9), (4, 4), (3, 3), (2, 2), (1, 2), (1, 1), (0, 1)
NUMBER = re.compile(r"\d+")
NUMBERED_PATH = re.compile(r"(?:\w+\.)*?\d+(?=\.)")
TypedShapes = tuple[Shapes, tuple[str, ...]]  # shapes, data types
WriteShape = Callable[[Shape], str]
VisitParts = dict[Visit, list[Visit]]


class Tree(Printable):
    """The modules of a run in the order in which they first ran, each with
    its named shapes and its parameters, and equal neighbours folded.

    `depth` says how many levels to show below the whole; without it, as many
    as fit a screen; `more` is what shows all modules, and all calls, "" where
    nothing does. Print it, or show it in a notebook. Raises ValueError for a
    depth below 0.
    """

    more = "tree(depth={})", "calls()"

    def __init__(
        self,
        calls: Calls,
        root: nn.Module,
        name: str,
        depth: int | None = None,
    ):
        if depth is not None and depth < 0:
            raise ValueError(f"{depth=} is below 0, where the whole model is")
        self._calls, self.notes = calls, calls.notes
        self._root = root_of(calls, sizes_of(root, name))
        self._label = self._root.kind or name
        self.depth = fitting_depth(self._root) if depth is None else depth

    @cached_property
    def _shown(self) -> list["TreeLine"]:
        """The lines of the modules."""
        return tree_lines(self._root, self.depth)

    @cached_property
    def _about(self) -> str:
        """The sizes of the axes that are named, and the usual data type."""
        nodes = [self._root, *(line.node for line in self._shown)]
        sizes = sizes_text(map(arrow, nodes), self._calls.run.sizes)
        dtype, device = self._root.facts.usual
        usual = f"{dtype} on {device}, unless marked" if dtype else ""
        return "; ".join(filter(None, (sizes, usual)))

    def _lines(self) -> list[str]:
        """Write a heading, a line for each module, and what is not shown."""
        shapes = shapes_fitting(self._root, TREE_WIDTH - len(self._label) - 2)
        head = [f"{self._label}  {shapes}".rstrip(), self._about]
        table = ["", *tree_columns(self._shown)] if self._shown else []
        return [*head, *table, "", *totals_text(self)]

    def _repr_html_(self) -> str:
        """Write lists in lists that open and close, with the calls of each
        module; they can be read without style and without script."""
        label = f"<b>{html.escape(self._label)}</b>"
        head = (
            f"{label} {arrow_html(self._root)}<br>{html.escape(self._about)}"
        )
        inside = content_html(self._root, 0, self.depth, rows_by_visit(self))
        below = [*totals_text(self), *self.notes]
        texts = "".join(f"<p>{html.escape(text)}</p>" for text in below)
        page = f"<p>{head}</p>{inside}{texts}"
        return f'{STYLE}<div class="trace-tree">{page}</div>'


def tree_columns(lines: list["TreeLine"]) -> list[str]:
    """Write lines one below the other, in columns. Numbers of parameters end
    in one column, whatever is said of them."""
    cells = [list(x) for x in zip(TREE_HEADERS, *(x.cells() for x in lines))]
    names, kinds, counts = cells
    digits = max(len(count.partition(" ")[0]) for count in counts)
    counts = [
        f"{number.rjust(digits)}{space}{words}"
        for number, space, words in (x.partition(" ") for x in counts)
    ]
    room = TREE_WIDTH - max(map(len, names)) - max(map(len, counts)) - 6
    least = max(len(arrow(line.node, 1, 1)) for line in lines)
    most = max(room - least, CLASS_WIDTH)
    kinds = [k if len(k) <= most else f"{k[: most - 1]}…" for k in kinds]
    room -= max(map(len, kinds))
    shapes = [shapes_fitting(line.node, room) for line in lines]
    columns = names, kinds, ["in -> out", *shapes]
    widths = [*(max(map(len, column)) for column in columns), 0]
    return [text_line(row, widths) for row in zip(*columns, counts)]


def totals_text(tree: Tree) -> list[str]:
    """Tell how much there is in all, and how to see it."""
    many, deep = len(tree._calls.steps), tree._root.depth
    count = tree._root.facts.sizes.get("", 0)
    totals = [f"{count:,} parameters in all"] if count else []
    deeper, calls = tree.more
    ways = [f"{calls} lists all {many:,} calls"] if calls else []
    if tree.depth >= deep:
        return [*totals, *ways]
    if deeper:
        ways.insert(0, f"{deeper.format(deep)} shows all modules")
    shown = f"depth={tree.depth} of {deep}"
    return [*totals, ": ".join(filter(None, [shown, ", ".join(ways)]))]


class TreeLine(NamedTuple):
    """A line of the tree: a module, or equal ones that are folded."""

    level: int
    group: list["Node"]

    @property
    def node(self) -> "Node":
        """The module; of equal ones the first."""
        return self.group[0]

    def cells(self) -> tuple[str, str, str]:
        """Write the name, the class and the number of parameters: 7,087,872
        each."""
        name, many = "  " * self.level + node_name(self.group), ""
        if self.node.parameters:
            each = " each" * (len(self.group) > 1)
            many = f"{self.node.parameters:,}{each}"
        return name, self.node.kind, many


def fitting_depth(root: "Node") -> int:
    """Find how many levels fit a screen; one at least."""
    deeper = range(2, root.depth + 1)
    lines = {n: len(tree_lines(root, n)) for n in deeper}
    return max((n for n in deeper if lines[n] <= SCREEN_LINES), default=1)


def tree_lines(node: "Node", depth: int, level: int = 0) -> list[TreeLine]:
    """List the lines of what is in a module, down to a depth."""
    lines = list[TreeLine]()
    for group in node.groups if level < depth else ():
        lines.append(TreeLine(level, group))
        lines += tree_lines(group[0], depth, level + 1)
    return lines


def shapes_fitting(node: "Node", room: int) -> str:
    """Write what a module reads and makes, in so many letters if possible."""
    texts = [arrow(node, *many) for many in SHAPE_COUNTS]
    return next((text for text in texts if len(text) <= room), texts[-1])


def arrow(
    node: "Node",
    most_in: int = 9,
    most_out: int = 9,
    write: WriteShape = shape_text,
) -> str:
    """Write what a module reads and makes: (B, T) -> (B, T, C); nothing of
    a function, of which it is not known, or of a container."""
    if not node.kind or isinstance(node.runs[0], Container):
        return ""
    reads, makes = zip(*node.given)
    outputs = side_text(makes, most_out, write) or "?"
    return f"{side_text(reads, most_in, write)} -> {outputs}".strip()


def side_text(
    runs: Sequence[TypedShapes | None], most: int, write: WriteShape
) -> str:
    """Write the shapes of some runs; the first and last, where they differ."""
    texts = [run_text(run, most, write) for run in (runs[0], runs[-1])]
    alike = all(run == runs[0] for run in runs)
    return texts[0] if alike or not most else " … ".join(texts)


def run_text(run: TypedShapes | None, most: int, write: WriteShape) -> str:
    """Write the first shapes of a run; there are none if it failed."""
    if run is None:
        return "failed"
    shapes, types = run
    text = typed_text(shapes[:most], types[:most], write)
    more = "…" * (len(shapes) > most)
    return ", ".join(filter(None, [text, more]))


def rows_by_visit(tree: Tree) -> dict[Visit, list[Row]]:
    """List the calls that each run of a module makes itself; none, if there
    are too many: of equal modules, and of several runs, the first counts."""
    rows_of: dict[Visit, list[Row]] = defaultdict(list)
    for step, row in zip(tree._calls.steps, tree._calls.table.rows):
        rows_of[step.visit].append(row)
    every = tree_lines(tree._root, tree._root.depth)
    nodes = [tree._root, *(line.node for line in every)]
    count = sum(len(rows_of[node.runs[0]]) for node in nodes)
    return rows_of if count <= MOST_CALLS else {}


def content_html(
    node: "Node", level: int, depth: int, calls: dict[Visit, list[Row]]
) -> str:
    """Write what is in a module: its own calls, and its parts."""
    rows = calls.get(node.runs[0], [])
    table = html_groups(CALL_HEADERS, [("", map(row_cells, rows))])
    if not node.groups:
        return table if rows else ""
    items = []
    if rows:
        title = f"own calls of {node.name}" if node.name else "own calls"
        text = f"{html.escape(title)}: {len(rows)}"
        items.append(details_html(text, table))
    for group in node.groups:
        items.append(item_html(TreeLine(level, group), depth, calls))
    return f"<ul>{''.join(f'<li>{text}</li>' for text in items)}</ul>"


def item_html(
    line: TreeLine, depth: int, calls: dict[Visit, list[Row]]
) -> str:
    """Write a module, and in it what it is made of."""
    name, kind, count = map(html.escape, line.cells())
    text = f"<code>{name.strip()}</code> {kind} {arrow_html(line.node)}"
    if count:
        number, *words = count.split(" ")
        text += f" <i>{' '.join([number, 'parameters', *words])}</i>"
    inside = content_html(line.node, line.level + 1, depth, calls)
    if not inside:
        return text
    is_open = bool(line.node.parts) and line.level + 1 < depth
    return details_html(text, inside, is_open)


def details_html(text: str, inside: str, is_open: bool = False) -> str:
    """Write what opens and closes, under a text."""
    state = " open" * is_open
    return f"<details{state}><summary>{text}</summary>{inside}</details>"


def arrow_html(node: "Node") -> str:
    """Write what a module reads and makes, for the style sheet."""
    text = arrow(node, FEW_SHAPES, FEW_SHAPES, shape_html)
    return text.replace(" -> ", " → ")


class Node:
    """A module of the tree: its `runs` in the module around it, and its
    `parts`, in the order in which they first ran.

    `name` is its path within what is around it, `parameters` how many it
    has, with those of its parts, and `times` how often it ran, if that was
    not once for each run of the module around it.
    """

    def __init__(
        self, runs: list[Visit], facts: "Facts", around: tuple[str, ...] = ()
    ):
        self.runs, self.facts = runs, facts
        self.path, self.times = runs[0].path, ""
        self.kind = runs[0].kind if runs[0].parent else ""  # outside of all
        self.name = path_within(self.path, around)
        self.parameters = facts.sizes.get(self.path, 0) if self.kind else 0
        runs_by_path: dict[str, list[Visit]] = {}
        for run in runs:
            for part in facts.parts.get(run, ()):
                runs_by_path.setdefault(part.path, []).append(part)
        around = *around, self.path
        self.parts = [
            Node(each, facts, around) for each in runs_by_path.values()
        ]
        for inner in self.parts:
            inner.times = times_text(len(inner.runs), len(runs))

    @cached_property
    def given(self) -> list[tuple[TypedShapes | None, ...]]:
        """What it read and made in each run; None if it gave nothing."""
        typed = self.facts.typed
        return [
            (typed(x.given, x.start), typed(x.makes, x.end)) for x in self.runs
        ]

    @cached_property
    def look(self) -> tuple:
        """All in which layers that are folded are alike."""
        parts = tuple((part.name, part.look) for part in self.parts)
        return self.kind, self.parameters, tuple(self.given), parts

    @cached_property
    def depth(self) -> int:
        """How many levels are within it."""
        return max((1 + part.depth for part in self.parts), default=0)

    @cached_property
    def groups(self) -> list[list["Node"]]:
        """The parts; neighbours that differ by a number in their paths alone
        are together."""
        grouped = groupby(
            self.parts,
            key=lambda part: (NUMBER.sub("#", part.path), part.look),
        )
        return [list(group) for _, group in grouped]


class Facts:
    """What a tree asks of a trace: which module ran in which, the named
    shapes and data types, and the number of parameters."""

    def __init__(self, calls: Calls, rows: list[Size]):
        self.calls = calls
        self.sizes = {row.module: row.parameters for row in rows}
        kinds = {row.module: row.kind for row in rows}
        self.parts = parts_of_visits(calls, kinds)
        read = (mark for run in calls.run.visits for mark in run.given)
        produced = [mark for step in calls.steps for mark in step.makes]
        self.usual = usual_kind(produced or read)

    def typed(self, marks: list[Mark] | None, end: int) -> TypedShapes | None:
        """Name the shapes of tensors after `end` steps, by their sizes if no
        dimension has a name; and the data types and devices that are not the
        usual ones."""
        if marks is None:
            return None
        shapes = shapes_at(self.calls, marks, end)
        if not self.calls.run.sizes:  # nothing was asked about their names
            shapes = tuple(
                tuple(axis._replace(proof="proved") for axis in shape)
                for shape in shapes
            )
        return shapes, kind_texts(marks, [self.usual])


def root_of(calls: Calls, rows: list[Size]) -> Node:
    """Give the model's node; where a function calls modules, the
    function's, which has no class."""
    facts = Facts(calls, rows)
    outside = [run for run in facts.parts if run.parent is None]
    runs = [part for run in outside for part in facts.parts[run]]
    if len(runs) == 1 and not any(s.visit in outside for s in calls.steps):
        return Node(runs, facts)
    return Node(outside or [Visit("", 0, "")], facts)


def path_within(path: str, around: tuple[str, ...]) -> str:
    """Write a path from the innermost of some modules that it lies in."""
    inside = (
        outer for outer in around if outer and path.startswith(f"{outer}.")
    )
    return path.removeprefix(max(inside, key=len, default="")).lstrip(".")


def times_text(runs: int, around: int) -> str:
    """Say how often a module ran, for each run of the module around it, if
    that is not once."""
    if runs % around:
        return f" × {runs} in all"
    return f" × {runs // around}" if runs > around else ""


def node_name(group: list[Node]) -> str:
    """Name a module, or equal ones: h.0 … h.11 × 12."""
    node, name = group[0], group[0].name or group[0].kind
    if len(group) > 1:
        comma = "," * bool(node.times)
        name += f" … {group[-1].name} × {len(group)}{comma}"
    return f"{name}{node.times}"


class Container(Visit):
    """What stands for a module that does not run itself: it holds some that
    are run one after the other, as each list in a list of layers."""


def parts_of_visits(calls: Calls, kinds: Mapping[str, str]) -> VisitParts:
    """List the module runs in each module run, in order; those that an error
    ended count as well. `kinds` are the classes of all modules, by path."""
    visits = dict.fromkeys(calls.run.visits)
    for step in calls.steps:
        visit: Visit | None = step.visit
        while visit and visit not in visits:
            visits[visit] = None
            visit = visit.parent
    parts: VisitParts = {}
    for visit in sorted(visits, key=lambda visit: visit.start):
        if visit.parent:
            parts.setdefault(visit.parent, []).append(visit)
    for outer, runs in [*parts.items()]:
        parts |= dict(nest_runs(outer, runs, kinds))
    return parts


def nest_runs(
    outer: Visit, runs: list[Visit], kinds: Mapping[str, str]
) -> Iterator[tuple[Visit, list[Visit]]]:
    """Put neighbours that lie in one container into it: give the runs in
    each container, and then those in the module around them."""
    parts: list[Visit] = []
    grouped = groupby(runs, lambda run: container_path(run.path, outer.path))
    for path, group in grouped:
        inner = list(group)
        if path in kinds and path and len({run.path for run in inner}) > 1:
            box = Container(path, 0, kinds[path], outer, makes=[])
            box.start = inner[0].start
            yield box, inner
            inner = [box]
        parts += inner
    yield outer, parts


def container_path(path: str, outer: str) -> str:
    """Give the path up to the first number in it, if it goes on: of
    layers.0.attention, layers.0."""
    around = f"{outer}." if outer else ""
    inside = NUMBERED_PATH.match(path.removeprefix(around))
    return f"{around}{inside[0]}" if inside and path.startswith(around) else ""

"""Nodes: the modules that ran, each with its parts and named shapes."""

import re
from collections.abc import Callable
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from shapewatch.tracing.axes.names import Shape, Shapes
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.dtypes import (
    DtypeDevice,
    kind_text,
    kinds_of,
    usual_kind,
)
from shapewatch.tracing.listing.events import (
    NamedShapes,
    given_to,
    known_shapes,
)
from shapewatch.tracing.questions.costs import sizes_of
from shapewatch.tracing.record.tensors import Mark
from shapewatch.tracing.record.visits import Visit
from shapewatch.tracing.tree.runs import parts_of_visits

NUMBER, LONG_NAME = re.compile(r"\d+"), 16
TypedShapes = tuple[Shapes, tuple[str, ...]]  # shapes, data types


class NodeShapes(NamedTuple):
    """What a module read and made in one run; None if it gave nothing."""

    reads: TypedShapes
    makes: TypedShapes | None


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
        found: dict[str, list[Visit]] = {}
        for run in runs:
            for part in facts.parts.get(run, ()):
                found.setdefault(part.path, []).append(part)
        around = *around, self.path
        self.parts = [Node(each, facts, around) for each in found.values()]
        for inner in self.parts:
            inner.times = times_text(len(inner.runs), len(runs))

    @cached_property
    def given(self) -> list[NodeShapes]:
        """What it read and made in each run."""
        return list(map(self.facts.given, self.runs))

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

    def __init__(self, calls: Calls, model: Callable):
        self.calls, self.known = calls, NamedShapes(calls)
        rows = sizes_of(model)
        self.sizes = {row.module: row.parameters for row in rows}
        kinds = {row.module: row.kind for row in rows}
        self.parts = parts_of_visits(calls, kinds)
        every = self.parts.items()
        self.outer = {part: run for run, parts in every for part in parts}
        given = (mark for run in calls.run.visits for mark in given_to(run))
        made = [mark for step in calls.steps for mark in step.makes]
        self.usual: DtypeDevice = usual_kind(kinds_of(made or given))

    def given(self, visit: Visit) -> NodeShapes:
        """Tell what a run of a module read and made."""
        makes = visit.makes
        return NodeShapes(
            self.typed(given_to(visit), visit.start),
            None if makes is None else self.typed(makes, visit.end),
        )

    def typed(self, marks: list[Mark], end: int) -> TypedShapes:
        """Name the shapes of tensors after `end` steps, by their sizes if no
        dimension has a name; and the data types and devices that are not the
        usual ones."""
        shapes = known_shapes(self.known, marks, end)
        if not self.calls.run.sizes:
            shapes = tuple(map(sizes_only, shapes))
        kinds = (kind_text(kind, [self.usual]) for kind in kinds_of(marks))
        return shapes, tuple(kinds)


def sizes_only(shape: Shape) -> Shape:
    """Write the sizes alone: nothing was asked about their names."""
    return tuple(axis._replace(proof="proved") for axis in shape)


def root_of(calls: Calls, model: Callable) -> Node:
    """Give the model's node; where a function calls modules, the
    function's, which has no class."""
    facts = Facts(calls, model)
    outside = [run for run in facts.parts if run.parent is None]
    runs = [part for run in outside for part in facts.parts[run]]
    if len(runs) == 1 and not any(s.visit in outside for s in calls.steps):
        return Node(runs, facts)
    return Node(outside or [Visit("", 0, "")], facts)


def path_within(path: str, around: tuple[str, ...]) -> str:
    """Write a path from the innermost of some modules that it lies in."""
    inside = (one for one in around if one and path.startswith(f"{one}."))
    return path.removeprefix(max(inside, key=len, default="")).lstrip(".")


def times_text(runs: int, around: int) -> str:
    """Say how often a module ran, for each run of the module around it, if
    that is not once."""
    if runs % around:
        return f" × {runs} in all"
    return f" × {runs // around}" if runs > around else ""


def node_name(group: list[Node]) -> str:
    """Name a module, or equal ones: h.0 … h.11 × 12; what a long name has
    before its number is not written twice."""
    node, last = group[0], group[-1].name
    name = node.name or node.kind
    if len(group) > 1:
        numbers = zip(*(NUMBER.finditer(text) for text in (name, last)))
        start = next((y.start() for x, y in numbers if x[0] != y[0]), 0)
        last = last[start:] if len(name) > LONG_NAME else last
        name += f" … {last} × {len(group)}{',' * bool(node.times)}"
    return f"{name}{node.times}"

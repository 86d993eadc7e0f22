"""Traced runs: the calls of one run, named by how others differ from it."""

from collections import Counter
from functools import cached_property

from tformer_lite.tracing.names import Axis, Dims
from tformer_lite.tracing.record import Step
from tformer_lite.tracing.source import expression, variable
from tformer_lite.tracing.table import Row, Table

Axes = list[tuple[Axis, ...]]


class Run:
    """One run: its sizes, its steps, and how to find a step again."""

    def __init__(self, sizes: dict[str, int], steps: list[Step]):
        self.sizes, self.steps, self.keys = sizes, steps, []
        seen: Counter = Counter()
        for step in steps:
            place = step.visit[:2], step.code, step.at, step.callers
            self.keys.append((place, seen[place]))
            seen[place] += 1
        self.places = {key: i for i, key in enumerate(self.keys)}

    def shapes(self, key, side: str) -> list:
        """The shapes that a call read or made; none if it is not here."""
        if key not in self.places:
            return []
        step = self.steps[self.places[key]]
        return [mark.shape for mark in getattr(step, side)]


class Trace:
    """The torch calls of a run, with named shapes.

    `steps` are the calls in order, `result` is what the model gave, and
    `notes` say what could not be found out. Print it, or show it in a
    notebook; `at` shows a part.
    """

    def __init__(self, runs: list[Run], result, notes: list[str]):
        self.runs, self.result, self.notes = runs, result, notes
        self.steps = runs[0].steps

    @cached_property
    def axes(self) -> list[tuple[Axes, Axes]]:
        """The named axes of what each step reads, and of what it makes."""
        dims = Dims([run.sizes for run in self.runs])
        return [
            tuple(named(self.runs, dims, key, side) for side in SIDES)
            for key in self.runs[0].keys
        ]

    @cached_property
    def table(self) -> Table:
        """One row a step."""
        return Table(list(map(row, self.steps, self.axes)), self.notes)

    def at(self, pattern: str) -> Table:
        """Show a module, and all within it; * stands for anything."""
        return self.table.at(pattern)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


SIDES = "reads", "makes"


def named(runs: list[Run], dims: Dims, key, side: str) -> Axes:
    """Name the axes of the tensors on one side of a step.

    What another run does not have is named by its value alone.
    """
    first, *others = (run.shapes(key, side) for run in runs)
    found = []
    for i, shape in enumerate(first):
        alike = [o[i] for o in others if len(o) == len(first)]
        alike = [other for other in alike if len(other) == len(shape)]
        if others and len(alike) == len(others):
            sizes = zip(shape, *alike)
            found.append(tuple(dims.axis(column) for column in sizes))
        else:
            found.append(tuple(dims.guess(size) for size in shape))
    return found


def row(step: Step, axes: tuple[Axes, Axes]) -> Row:
    """Write a step in words."""
    name = variable(step.code, step.at)
    call = expression(step.code, step.at) or step.name
    call = f"{name} = {call}" if name else call
    return Row(step.visit.path, call, *map(shown, axes))


def shown(tensors: Axes) -> str:
    """Write the named shapes of some tensors: (B, T, C), (C)."""
    return ", ".join(f"({', '.join(map(str, axes))})" for axes in tensors)

"""Traced runs: the calls of one run, named by how others differ from it."""

from collections import Counter, defaultdict
from functools import cached_property

import torch
from torch import Tensor

from tformer_lite.tracing.axes.names import Axis, Dims, shape_text
from tformer_lite.tracing.questions.lookup import looked_up
from tformer_lite.tracing.record.places import in_library
from tformer_lite.tracing.record.recorder import (
    Recorder,
    Step,
    named_steps,
    shapes_in,
)
from tformer_lite.tracing.record.values import Values
from tformer_lite.tracing.record.visits import Visit
from tformer_lite.tracing.tables import Row, Table

Axes = list[tuple[Axis, ...]]
Sides = tuple[list[torch.Size], list[torch.Size]]
NONE: Sides = [], []


class Run:
    """One run: its sizes, its steps, and how to find a step again.

    `result` is what the model gave, `error` what stopped it; a torch call
    that failed is the last step, and `failed` is then true.
    """

    def __init__(self, sizes: dict[str, int], error: Exception | None = None):
        self.sizes, self.error = sizes, error
        self.result = None
        self.failed = False
        self.raw: list[tuple] = []
        self.first: dict[int, torch.Size] = {}
        self.visits: list[Visit] = []
        self.values = Values()

    def fill(self, recorder: Recorder) -> None:
        """Take over what was recorded."""
        self.raw, self.values = recorder.raw, recorder.values
        self.first = recorder.marks.shapes
        self.visits = recorder.visits.done
        self.failed = recorder.failed[0] is self.error is not None
        if self.failed:
            self.raw.append(recorder.failed[1])

    @cached_property
    def steps(self) -> list[Step]:
        """The calls, in order."""
        return list(named_steps(self.raw, self.first))

    @cached_property
    def places(self) -> list[tuple]:
        """Where each step is: in which visit, and called from which lines."""
        return [(visit[:2], *lines) for _, *lines, visit, _, _ in self.raw]

    @cached_property
    def keys(self) -> list[tuple]:
        """Where each step is, and how many were there before it."""
        seen, keys = Counter(), []
        for place in self.places:
            keys.append((place, seen[place]))
            seen[place] += 1
        return keys

    @cached_property
    def shapes(self) -> list[Sides]:
        """The shapes that each step read, and those that it made."""
        return list(shapes_in(self.raw, self.first))


def shapes_at(run: Run, other: Run) -> list[Sides]:
    """Give the shapes that a run has where another's steps are: the nth at
    a place is the nth there. NONE are those of a step that it lacks."""
    if run.places == other.places:
        return run.shapes
    known = dict(zip(run.keys, run.shapes))
    return [known.get(key, NONE) for key in other.keys]


class Calls:
    """The torch calls of a run, named by the runs at other sizes."""

    def __init__(self, runs: list[Run], notes: list[str], given: dict):
        self.runs, self.notes, self.given = runs, notes, given
        self.result = runs[0].result

    @property
    def steps(self) -> list[Step]:
        """The torch calls, in order."""
        return self.runs[0].steps

    @cached_property
    def axes(self) -> list[tuple[Axes, Axes]]:
        """The named axes of what each step reads, and of what it makes."""
        dims = Dims([run.sizes for run in self.runs])
        first, *others = self.runs
        steps = zip(first.shapes, *(shapes_at(run, first) for run in others))
        return [
            tuple(named(dims, *side) for side in zip(*step)) for step in steps
        ]

    @cached_property
    def table(self) -> Table:
        """One row a step."""
        rows = map(row, self.steps, self.axes, hidden(self.runs[0]))
        return Table(list(rows), self.notes)

    def at(self, pattern: str) -> Table:
        """Show a module, and all within it; * stands for anything."""
        return self.table.at(pattern)

    def __getitem__(self, name: str | tuple[str, int]) -> Tensor:
        """Give a kept value by "path:variable"; with a number after it, one
        of several of that name."""
        name, nth = name if isinstance(name, tuple) else (name, None)
        return looked_up(self.steps, self.runs[0].values.kept, name, nth)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return str(self.table)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def hidden(run: Run) -> list[bool]:
    """Whether each step happens inside a library's function: at a place
    where nobody wrote it, or that makes calls of several kinds."""
    kinds = defaultdict(set)
    for place, step in zip(run.places, run.steps):
        kinds[place].add(step.name)
    return [
        len(kinds[place]) > 1 or in_library[step.code.co_filename]
        for place, step in zip(run.places, run.steps)
    ]


def named(dims: Dims, shapes: list, *others: list) -> Axes:
    """Name the axes of the tensors on one side of a step, by their shapes
    in every run.

    What another run does not have is named by its value alone.
    """
    found = []
    for i, shape in enumerate(shapes):
        alike = [o[i] for o in others if i < len(o)]
        alike = [other for other in alike if len(other) == len(shape)]
        if others and len(alike) == len(others):
            found.append(dims.shape(shape, *alike))
        else:
            found.append(tuple(map(dims.guess, shape)))
    return found


def row(step: Step, axes: tuple[Axes, Axes], hidden: bool) -> Row:
    """Write a step in words: its line; or what was called, if it is hidden
    inside a library's function."""
    call = step.name if hidden else step.line
    reads, makes = (", ".join(map(shape_text, side)) for side in axes)
    return Row(where(step), call, reads, makes or "failed")


def where(step: Step) -> str:
    """Name the module of a step; the whole model by its class."""
    return step.visit.path or f"({step.visit.kind or 'outside every module'})"

"""The calls of a run: their axes, named by other runs, their data types, and
their values."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain, zip_longest
from operator import itemgetter
from typing import Any

from torch import Size

from shapewatch.tracing.axes.names import (
    Axis,
    Shape,
    ShapeNamer,
    Shapes,
    shape_namer,
)
from shapewatch.tracing.axes.sizes import Dims
from shapewatch.tracing.lines import StepNames, names_by_step, single_steps
from shapewatch.tracing.record.recorder import (
    CallShapes,
    RecordedRun,
    ShapeRun,
    Step,
    line_parts,
    step_shapes,
)
from shapewatch.tracing.record.state import gc_paused
from shapewatch.tracing.record.tensors import Mark
from shapewatch.tracing.tables import Row, Table, module_label

DtypeDevice = tuple[str, str]  # a data type and a device: "float32", "cpu"
Axes = tuple[Shapes, Shapes]


class Calls:
    """The torch calls of a run, and the axes of its tensors, named by runs at
    other sizes.

    `runs` are the traced one and then the others, `given` the dimensions as
    they were given.
    """

    def __init__(
        self,
        run: RecordedRun,
        others: list[ShapeRun | RecordedRun],
        notes: list[str],
        given: Dims,
    ):
        self.run, self.runs = run, [run, *others]
        self.notes, self.given = notes, given
        self.steps = run.steps

    @cached_property
    @gc_paused()
    def axes(self) -> list[Axes]:
        """The named axes of what each step reads, and of what it makes."""
        runs = tuple(tuple(run.sizes.items()) for run in self.runs)
        namer = shape_namer(runs, tuple(self.given.items()))
        others = (run.shapes_of(self.run) for run in self.runs[1:])
        same = zip(map(step_shapes, self.steps), *others)
        return [axes_of(namer, *steps) for steps in same]

    @cached_property
    def uses(self) -> dict[int, list[tuple[int, Shape]]]:
        """The steps that read or make each tensor, by its number, with its
        named shape there."""
        uses = defaultdict[int, list[tuple[int, Shape]]](list)
        for i, (step, axes) in enumerate(zip(self.steps, self.axes)):
            marks = chain(step.reads, step.makes)
            for mark, shape in zip(marks, chain(*axes)):
                uses[mark.number].append((i, shape))
        return uses

    @cached_property
    @gc_paused()
    def table(self) -> Table:
        """One row a step."""
        alone = single_steps(self.steps)
        about = self.axes, alone, new_kinds(self.steps)
        rows = map(row_of, self.steps, *about)
        return Table(list(rows), self.notes)

    @cached_property
    def names(self) -> list[StepNames]:
        """What each step gives a name: see `names_by_step`."""
        return names_by_step(self.steps, self.run.visits)


def kinds_of(tensors: Iterable[Any]) -> list[DtypeDevice]:
    """Name the data types and devices of tensors, or of their marks."""
    return [dtype_device(tensor.dtype, tensor.device) for tensor in tensors]


@cache
def dtype_device(dtype: object, device: object) -> DtypeDevice:
    """Name a data type and a device."""
    return str(dtype).removeprefix("torch."), str(device)


def usual_kind(marks: Iterable[Mark]) -> DtypeDevice:
    """Give the kind that most tensors are of; ("", "") where none is."""
    most = Counter(kinds_of(marks)).most_common(1)
    return most[0][0] if most else ("", "")


def new_kinds(steps: Sequence[Any]) -> list[tuple[str, ...]]:
    """Say of what each step makes how it differs from all that it reads; of
    one that reads nothing, from what is usual in the run."""
    usual = usual_kind(mark for step in steps for mark in step.makes)
    return [
        kind_texts(step.makes, kinds_of(step.reads) or [usual])
        for step in steps
    ]


def kind_texts(
    marks: Iterable[Mark], read_kinds: Iterable[DtypeDevice]
) -> tuple[str, ...]:
    """Say what is new in each tensor: "bool", "on cuda:0", both, or ""."""
    dtypes, devices = map(set, zip(*read_kinds))
    return tuple(
        " ".join(
            [dtype] * (dtype not in dtypes)
            + [f"on {device}"] * (device not in devices)
        )
        for dtype, device in kinds_of(marks)
    )


def shapes_at(calls: Calls, marks: list[Mark] | None, end: int) -> Shapes:
    """Name the shapes of tensors after `end` steps; by its sizes, that of a
    tensor which no call has read or made."""
    shapes = []
    for mark in marks or ():
        use = calls.uses.get(mark.number)
        if use:
            n = bisect_left(use, end, key=itemgetter(0))
            shapes.append(use[max(n - 1, 0)][1])
        else:
            sizes = tuple(Axis(n, str(n), "unknown") for n in mark.shape)
            shapes.append(sizes)
    return tuple(shapes)


def known_shapes(
    calls: Calls, marks: list[Mark] | None, end: int
) -> Shapes | None:
    """Name the shapes of tensors after `end` steps; None where there are
    none, or no call has read or made one of them."""
    are_known = marks and all(mark.number in calls.uses for mark in marks)
    return shapes_at(calls, marks, end) if are_known else None


def module_shapes(calls: Calls) -> Iterator[tuple[str, Shapes, Shapes]]:
    """Name what each module reads and makes, as they finish."""
    for visit in calls.run.visits:
        reads = shapes_at(calls, visit.given, visit.start)
        yield visit.path, reads, shapes_at(calls, visit.makes, visit.end)


def axes_of(namer: ShapeNamer, *runs: CallShapes | None) -> Axes:
    """Name the axes of what a step reads and of what it makes, by what it
    does in every run."""
    reads, makes = zip(*(run or ([], []) for run in runs))
    return named_shapes(namer, *reads), named_shapes(namer, *makes)


def named_shapes(namer: ShapeNamer, *runs: list[Size]) -> Shapes:
    """Name the axes of the tensors of one run by those of all."""
    columns = zip_longest(*runs)
    return tuple(namer.shape(*column) for column, _ in zip(columns, runs[0]))


def row_of(
    step: Step, axes: Axes, is_single: bool, types: tuple[str, ...]
) -> Row:
    """Give a step's line and its axes; of one that is hidden inside a
    library's function, what was called."""
    written = line_parts(step) if is_single else ("", step.name)
    where = module_label(step.visit.path, step.visit.kind)
    return Row(where, *written, *axes, types)

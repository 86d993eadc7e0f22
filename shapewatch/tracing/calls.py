"""The calls of a run: their axes, named by other runs, their data types, and
their values."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import chain, product, starmap, zip_longest
from operator import itemgetter
from typing import Any

from torch import Size, Tensor

from shapewatch.tracing.axes.names import (
    Axis,
    Shape,
    ShapeNamer,
    Shapes,
    shape_namer,
)
from shapewatch.tracing.axes.sizes import Dims
from shapewatch.tracing.record.recorder import (
    CallShapes,
    Keep,
    RecordedRun,
    ShapeRun,
    Step,
    step_shapes,
)
from shapewatch.tracing.record.state import gc_paused
from shapewatch.tracing.record.tensors import Mark
from shapewatch.tracing.record.visits import Place, Visit, owner
from shapewatch.tracing.source.expressions import RETURN, target, variable
from shapewatch.tracing.tables import Printable, Row, Table, module_label

DtypeDevice = tuple[str, str]  # a data type and a device: "float32", "cpu"
Axes = tuple[Shapes, Shapes]


class NamedRun(Printable):
    """A run, and the axes of its tensors, named by runs at other sizes.

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
        self.steps, self.result = run.steps, run.result

    @cached_property
    @gc_paused()
    def axes(self) -> list[Axes]:
        """The named axes of what each step reads, and of what it makes."""
        namer = shape_namer((run.sizes for run in self.runs), self.given)
        others = (run.shapes_of(self.run) for run in self.runs[1:])
        same = zip(map(step_shapes, self.steps), *others)
        return [axes_of(namer, *steps) for steps in same]

    @cached_property
    def uses(self) -> dict[int, list[tuple[int, Shape]]]:
        """The steps that read or make each tensor, by its number, with its
        named shape there."""
        found = defaultdict[int, list[tuple[int, Shape]]](list)
        for i, (step, axes) in enumerate(zip(self.steps, self.axes)):
            marks = chain(step.reads, step.makes)
            for mark, shape in zip(marks, chain(*axes)):
                found[mark.number].append((i, shape))
        return found


class Calls(NamedRun):
    """The torch calls of a run, one by one."""

    @cached_property
    @gc_paused()
    def table(self) -> Table:
        """One row a step."""
        about = self.axes, hidden_steps(self.run), new_kinds(self.steps)
        rows = map(row_of, self.steps, *about)
        return Table(list(rows), self.notes)

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """The "path:variable" of each step, twice: see `names_of`."""
        return list(map(names_of, self.steps))

    def at(self, pattern: str) -> Table:
        """Show a module, and all within it; * stands for anything."""
        return self.table.at(pattern)

    def __getitem__(self, name: str | tuple[str, int]) -> Tensor:
        """Give a kept value by "path:variable"; with a number after it, one
        of several of that name."""
        text, nth = name if isinstance(name, tuple) else (name, None)
        return kept_value(self, text, nth)

    def __len__(self) -> int:
        return len(self.steps)


def kinds_of(found: Iterable[Any]) -> list[DtypeDevice]:
    """Name the data types and devices of tensors, or of their marks."""
    return [dtype_device(one.dtype, one.device) for one in found]


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
    marks: Iterable[Mark], known: Iterable[DtypeDevice]
) -> tuple[str, ...]:
    """Say what is new in each tensor: "bool", "on cuda:0", both, or ""."""
    dtypes, devices = map(set, zip(*known))
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
    found = []
    for mark in marks or ():
        use = calls.uses.get(mark.number)
        if use:
            n = bisect_left(use, end, key=itemgetter(0))
            found.append(use[max(n - 1, 0)][1])
        else:
            sizes = tuple(Axis(n, str(n), "unknown") for n in mark.shape)
            found.append(sizes)
    return tuple(found)


def known_shapes(
    calls: Calls, marks: list[Mark] | None, end: int
) -> Shapes | None:
    """Name the shapes of tensors after `end` steps; None where there are
    none, or no call has read or made one of them."""
    known = marks and all(mark.number in calls.uses for mark in marks)
    return shapes_at(calls, marks, end) if known else None


def module_shapes(calls: Calls) -> Iterator[tuple[str, Shapes, Shapes]]:
    """Name what each module reads and makes, as they finish."""
    for visit in calls.run.visits:
        reads = shapes_at(calls, visit.given, visit.start)
        yield visit.path, reads, shapes_at(calls, visit.makes, visit.end)


def hidden_steps(run: RecordedRun) -> list[bool]:
    """Whether each step happens inside a library's function: where nobody
    wrote it, or where calls of several kinds are made."""
    kinds: dict[tuple, set[str]] = defaultdict(set)
    for position, step in zip(run.positions, run.steps):
        kinds[position] |= set() if step.asked else {step.name}
    return [
        len(kinds[position]) > 1 or owner(step.code.co_filename) != "reader"
        for position, step in zip(run.positions, run.steps)
    ]


def axes_of(namer: ShapeNamer, *runs: CallShapes | None) -> Axes:
    """Name the axes of what a step reads and of what it makes, by what it
    does in every run."""
    reads, makes = zip(*(run or ([], []) for run in runs))
    return named_shapes(namer, *reads), named_shapes(namer, *makes)


def named_shapes(namer: ShapeNamer, *runs: list[Size]) -> Shapes:
    """Name the axes of the tensors of one run by those of all."""
    columns = zip(zip_longest(*runs), runs[0])
    return tuple(namer.shape(*column) for column, _ in columns)


def row_of(
    step: Step, axes: Axes, is_hidden: bool, types: tuple[str, ...]
) -> Row:
    """Give a step's line and its axes; of one that is hidden inside a
    library's function, what was called."""
    binding = ("", step.name) if is_hidden else step.binding
    where = module_label(step.visit.path, step.visit.kind)
    return Row(where, *binding, *axes, types)


def names_of(step: Step) -> tuple[str, str]:
    """Write "path:variable" twice: of the line of a call, in the module in
    whose code it stands; and of the line that receives what it makes, where
    functions of the reader's return it. A variable may be ""."""
    own, received = (
        f"{visit.path}:{variable(*place[0])}"
        for visit, place in (own_line(step), receiver(step))
    )
    return own, received


def own_line(step: Step) -> tuple[Visit, Place]:
    """Leave the layers of a library: find the module that calls them."""
    visit = step.visit
    while visit.parent and visit.place == step.place:
        visit = visit.parent
    return visit, step.place


def receiver(step: Step) -> tuple[Visit, Place]:
    """Go outwards from a line as long as what it makes is returned."""
    visit, place = own_line(step)
    while target(*place[0]) == RETURN:
        if place[1:]:
            place = place[1:]
        elif visit.parent:
            visit, place = visit.parent, visit.place
        else:
            break
    return visit, place


def keeper(keep: bool | str | list[str]) -> Keep:
    """Say of each call whether to keep what it made."""
    if isinstance(keep, bool):
        return (lambda step: True) if keep else None
    patterns = [keep] if isinstance(keep, str) else keep
    return lambda step: any(
        starmap(fnmatchcase, product(names_of(step), patterns))
    )


def kept_value(calls: Calls, text: str, nth: int | None) -> Tensor:
    """Find the value of "path:variable"; `nth` when it was bound often.

    Raises KeyError for a name that no line binds, or whose value was not
    kept, ValueError when it is not clear which value is meant.
    """
    own, received = zip(*calls.names) if calls.names else ((), ())
    names = own if text in own else received
    found = [i for i, name in enumerate(names) if name == text]
    if not found:
        known = similar_names(text, names)
        raise KeyError(f"no line binds {text!r}: there are {known}")
    times, kept = len(found), calls.run.values.kept
    if nth is None and times > 1:
        raise ValueError(
            f"{text!r} was bound {times} times: write [{text!r}, 0] to "
            f"[{text!r}, {times - 1}]."
        )
    nth = nth or 0
    if not 0 <= nth < times:
        raise ValueError(f"{text!r} was bound {times} times, not {nth + 1}")
    if found[nth] not in kept:
        raise KeyError(f"{text!r} was not kept: trace with keep={text!r}.")
    return kept[found[nth]][0]


def similar_names(text: str, names: Sequence[str]) -> str:
    """List the names in the same module, or all if there are none."""
    known = [name for name in dict.fromkeys(names) if name[-1] != ":"]
    path = text.rpartition(":")[0]
    inside = [name for name in known if name.rpartition(":")[0] == path]
    return ", ".join(inside or known) or "none"

"""The calls of a run: their axes, named by other runs, their data types, and
their values."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import product, starmap, zip_longest
from typing import Any

from torch import Size, Tensor

from shapewatch.tracing.axes.names import ShapeNamer, Shapes, shape_namer
from shapewatch.tracing.axes.sizes import GivenDims
from shapewatch.tracing.record.recorder import (
    CallShapes,
    Keep,
    RecordedRun,
    ShapeRun,
    Step,
    step_shapes,
)
from shapewatch.tracing.record.state import gc_paused
from shapewatch.tracing.record.visits import Place, Visit, owner
from shapewatch.tracing.source.expressions import RETURN, target, variable
from shapewatch.tracing.tables import Printable, Row, Table, module_label

DtypeDevice = tuple[str, str]  # a data type and a device: "float32", "cpu"
CallKinds = tuple[
    list[DtypeDevice], list[DtypeDevice]
]  # those that a call reads, and makes


def kinds_of(found: Iterable[Any]) -> list[DtypeDevice]:
    """Name the data types and devices of tensors, or of their marks."""
    return [dtype_device(one.dtype, one.device) for one in found]


@cache
def dtype_device(dtype: object, device: object) -> DtypeDevice:
    """Name a data type and a device."""
    return str(dtype).removeprefix("torch."), str(device)


def usual_kind(kinds: Iterable[DtypeDevice]) -> DtypeDevice:
    """Give the kind that most tensors are of; ("", "") where none is."""
    most = Counter(kinds).most_common(1)
    return most[0][0] if most else ("", "")


def new_kinds(calls: Sequence[CallKinds]) -> list[tuple[str, ...]]:
    """Say of what each call makes how it differs from all that it reads; of
    a call that reads nothing, from what is usual in the run."""
    usual = usual_kind(kind for _, makes in calls for kind in makes)
    return [
        tuple(kind_text(kind, reads or [usual]) for kind in makes)
        for reads, makes in calls
    ]


def kind_text(kind: DtypeDevice, known: Iterable[DtypeDevice]) -> str:
    """Say what is new in a kind: "bool", "on cuda:0", both, or ""."""
    dtypes, devices = map(set, zip(*known))
    dtype, device = kind
    found = [] if dtype in dtypes else [dtype]
    return " ".join(found if device in devices else [*found, f"on {device}"])


Axes = tuple[Shapes, Shapes]
Others = list[ShapeRun | RecordedRun]
Notes = list[str]


class Calls(Printable):
    """The torch calls of a run, named by the runs at other sizes.

    `runs` are the traced one and then the others, `given` the dimensions as
    they were given.
    """

    def __init__(
        self, run: RecordedRun, others: Others, notes: Notes, given: GivenDims
    ):
        self.run, self.runs = run, [run, *others]
        self.notes, self.given = notes, given
        self.steps, self.result = run.steps, run.result

    @cached_property
    @gc_paused()
    def axes(self) -> list[Axes]:
        """The named axes of what each step reads, and of what it makes."""
        dims = shape_namer((run.sizes for run in self.runs), self.given)
        others = (run.shapes_of(self.run) for run in self.runs[1:])
        same = zip(map(step_shapes, self.steps), *others)
        return [axes_of(dims, *steps) for steps in same]

    @cached_property
    @gc_paused()
    def table(self) -> Table:
        """One row a step."""
        kinds = [(kinds_of(s.reads), kinds_of(s.makes)) for s in self.steps]
        about = self.axes, hidden_steps(self.run), new_kinds(kinds)
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


def axes_of(dims: ShapeNamer, *runs: CallShapes | None) -> Axes:
    """Name the axes of what a step reads and of what it makes, by what it
    does in every run."""
    reads, makes = zip(*(run or ([], []) for run in runs))
    return named_shapes(dims, *reads), named_shapes(dims, *makes)


def named_shapes(dims: ShapeNamer, *runs: list[Size]) -> Shapes:
    """Name the axes of the tensors of one run by those of all."""
    columns = zip(zip_longest(*runs), runs[0])
    return tuple(dims.shape(*column) for column, _ in columns)


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

    def wanted(step: Step) -> bool:
        return any(starmap(fnmatchcase, product(names_of(step), patterns)))

    return wanted


def kept_value(calls: Calls, text: str, nth: int | None) -> Tensor:
    """Find the value of "path:variable"; `nth` when it was bound often.

    Raises KeyError for a name that no line binds, or whose value was not
    kept, ValueError when it is not clear which value is meant.
    """
    names: tuple[str, ...] = ()
    for names in zip(*calls.names):
        found = [i for i, name in enumerate(names) if name == text]
        if found:
            break
    else:
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


def similar_names(text: str, names: tuple[str, ...]) -> str:
    """List the names in the same module, or all if there are none."""
    known = [name for name in dict.fromkeys(names) if name[-1] != ":"]
    path = text.rpartition(":")[0]
    inside = [name for name in known if name.rpartition(":")[0] == path]
    return ", ".join(inside or known) or "none"

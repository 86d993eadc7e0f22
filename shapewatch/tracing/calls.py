"""The calls of a run: their axes, named by other runs, their data types, and
their values."""

import ast
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain, zip_longest
from operator import itemgetter
from typing import Any, NamedTuple

from torch import Size, Tensor

from shapewatch.tracing.axes.names import (
    Axis,
    Shape,
    ShapeNamer,
    Shapes,
    shape_namer,
)
from shapewatch.tracing.axes.sizes import Dims
from shapewatch.tracing.record.owners import owner
from shapewatch.tracing.record.recorder import (
    CallShapes,
    RecordedRun,
    ShapeRun,
    Step,
    line_parts,
    step_shapes,
)
from shapewatch.tracing.record.state import gc_paused
from shapewatch.tracing.record.tensors import Mark, Parts, part_at
from shapewatch.tracing.record.visits import Place, Visit
from shapewatch.tracing.source.expressions import (
    RETURN,
    Targets,
    line_targets,
    passage,
    variable,
)
from shapewatch.tracing.tables import Row, Table, module_label

DtypeDevice = tuple[str, str]  # a data type and a device: "float32", "cpu"
Axes = tuple[Shapes, Shapes]
FOLDS = {"sum", "prod", "reduce"}  # Python's own
WHOLE_PREFIX = re.compile(r"^\(.+\):")  # the whole model, by its class: (LM):
# "path:variable" of what a line of a step binds, with which of the tensors
# that it makes; and of what receives it, where functions return it.
StepNames = tuple[dict[str, int], dict[str, int]]
Spot = tuple[int, int]  # a step, and which of the tensors that it makes


class LineValue(NamedTuple):
    """What a line gives, after `end` steps; `parts` has how it is laid out."""

    end: int
    visit: Visit
    place: Place
    makes: list[Mark] | None
    parts: Parts


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


def turns_of(steps: Sequence[Step]) -> list[int]:
    """Number what the lines do: the steps that a library makes each time on
    behalf of one have one number; so have those of Python's own sum."""
    turns = list[int]()
    for i, step in enumerate(steps):
        goes_on = i and sums_on(steps[i - 1], step)
        turns.append(turns[-1] if goes_on else step.turn or -1 - i)
    return turns


def sums_on(before: Step, step: Step) -> bool:
    """Whether sum(...), or another that goes through a list, adds a tensor
    to what it made before."""
    lines = [(x.visit, x.place, x.turn) for x in (before, step)]
    if step.turn or lines[0] != lines[1]:
        return False
    match passage(*step.place[0]):
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name)):
            reads = {mark.number for mark in step.reads}
            again = any(mark.number in reads for mark in before.makes)
            return again and name in FOLDS and name != step.name
    return False


def single_steps(steps: Sequence[Step]) -> list[bool]:
    """Whether each step is all that a line does that somebody wrote."""
    turns = turns_of(steps)
    times = Counter(turns)
    return [
        times[turn] == 1 and owner(step.code.co_filename) == "reader"
        for turn, step in zip(turns, steps)
    ]


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


def own_line(visit: Visit, place: Place) -> tuple[Visit, Place]:
    """Leave the layers of a library: find the module that calls them."""
    while visit.parent and visit.place == place:
        visit = visit.parent
    return visit, place


def receiver(visit: Visit, place: Place) -> tuple[Visit, Place]:
    """Go outwards from a line as long as what it makes is returned."""
    visit, place = own_line(visit, place)
    while RETURN in (bound := line_targets(*place[0])) and not bound[RETURN]:
        if place[1:]:
            place = place[1:]
        elif visit.parent:
            visit, place = own_line(visit.parent, visit.place)
        else:
            break
    return visit, place


def names_of(step: Step) -> tuple[str, str]:
    """Write "path:variable" twice: of the line of a call, in the module in
    whose code it stands; and of the line that receives what it makes, where
    functions of the reader's return it. A variable may be ""."""
    lines = own_line(step.visit, step.place), receiver(step.visit, step.place)
    written, received = (
        f"{x.path}:{variable(*place[0])}" for x, place in lines
    )
    return written, received


def bound_names(visit: Visit, place: Place) -> Targets:
    """Write "path:variable" of all that a line binds, and, if that is a part
    of what it makes, which."""
    bound = line_targets(*place[0]).items()
    return {f"{visit.path}:{x}": path for x, path in bound if x != RETURN}


def names_by_step(
    steps: Sequence[Step], visits: Sequence[Visit]
) -> list[StepNames]:
    """List what each step's tensors are bound to. First comes the line of the
    step, or, within a library, the module alone."""
    first = (
        names_of(step)[0] if alone else f"{step.visit.path}:"
        for step, alone in zip(steps, single_steps(steps))
    )
    names: list[StepNames] = [({name: 0}, {}) for name in first]
    spots, n = dict[int, Spot](), 0
    for end, visit, place, _, parts in line_values(steps, visits):
        for i in range(n, end):
            spots |= {x.number: (i, k) for k, x in enumerate(steps[i].makes)}
        line, n = receiver(visit, place), end
        for name, path in bound_names(*line).items():
            mark = part_at(parts, path)
            if mark and mark.number in spots:
                i, output = spots[mark.number]
                far = own_line(steps[i].visit, steps[i].place) != line
                names[i][far].setdefault(name, output)
    return names


def line_values(
    steps: Sequence[Step], visits: Sequence[Visit]
) -> list[LineValue]:
    """List what lines give: a module that they call, or else the last step
    that they, or a library for them, make there."""
    values, last = [], {turn: i for i, turn in enumerate(turns_of(steps))}
    for i in last.values():
        step, visit = steps[i], steps[i].visit
        while visit.parent and visit.turn == step.turn and not visit.direct:
            visit = visit.parent
        if visit.turn != step.turn or not step.turn:
            line, outputs = own_line(step.visit, step.place), step.makes
            parts: Parts = outputs[0] if len(outputs) == 1 else [*outputs]
            values.append(LineValue(i + 1, *line, outputs, parts))
    for visit in visits:
        if visit.direct and visit.parent:
            line = visit.parent, visit.place
            values.append(
                LineValue(visit.end, *line, visit.makes, visit.parts)
            )
    return sorted(values, key=itemgetter(0))


def kept_value(calls: Calls, text: str, nth: int | None) -> Tensor:
    """Find the value of "path:variable"; `nth` when it was bound often.

    Raises KeyError for a name that no line binds, or whose value was not
    kept, ValueError when it is not clear which value is meant.
    """
    names, kept = calls.names, calls.run.values.kept
    name = known_name(chain(*chain(*names)), text)
    every = (
        [(i, x[name]) for i, x in enumerate(side) if name in x]
        for side in zip(*names)
    )
    spots = next(filter(None, every))
    times = len(spots)
    if nth is None and times > 1:
        raise ValueError(
            f"{text!r} was bound {times} times: write [{text!r}, 0] to "
            f"[{text!r}, {times - 1}]."
        )
    nth = nth or 0
    if not 0 <= nth < times:
        raise ValueError(f"{text!r} was bound {times} times, not {nth + 1}")
    i, output = spots[nth]
    if i not in kept:
        raise KeyError(f"{text!r} was not kept: trace with keep=True.")
    return kept[i][output]


def known_name(names: Iterable[str], text: str) -> str:
    """Find the one "path:variable" that a text says, with its path or not;
    else list those in the same module, or all if there are none."""
    bound = [x for x in dict.fromkeys(names) if x[-1] != ":"]
    forms = text, WHOLE_PREFIX.sub(":", text)
    matches = [x for x in bound if x in forms or x.rpartition(":")[2] == text]
    if text in matches or len(matches) == 1:
        return text if text in matches else matches[0]
    if matches:
        raise ValueError(
            f"{text!r} is bound in several modules: write one of "
            f"{', '.join(map(repr, matches))}."
        )
    path = text.rpartition(":")[0]
    inside = [name for name in bound if name.rpartition(":")[0] == path]
    listed = ", ".join(inside or bound) or "none"
    raise KeyError(f"no line binds {text!r}: there are {listed}")

"""Events: what was called in a run, from where, and what it made."""

from collections import defaultdict
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from tformer_lite.tracing.axes.names import Shape, Shapes
from tformer_lite.tracing.calls import Calls
from tformer_lite.tracing.record.places import Place
from tformer_lite.tracing.record.visits import Visit

FunctionRun = tuple[Visit, Place]  # in which visit, and from which lines


class Event(NamedTuple):
    """A torch call or a module's run: in which visit, from which lines, what
    it made, and a torch function's name."""

    visit: Visit
    place: Place
    shapes: Shapes | None
    name: str

    def runs(self, code: CodeType) -> Iterator[FunctionRun]:
        """Go outwards from here, through the modules: give each run of a
        function that led here."""
        # A cell that is run again has the same code; so may another cell.
        wanted = code, code.co_filename
        visit: Visit | None = self.visit
        place = self.place
        while visit:
            found = [(one, one.co_filename) for one, _ in place]
            if wanted in found:
                yield visit, place[found.index(wanted) + 1 :]
            place, visit = visit.place, visit.parent


class Known:
    """The named shapes of tensors, by their number."""

    def __init__(self, calls: Calls):
        self.uses: dict[int, list[tuple[int, Shape]]] = defaultdict(list)
        for i, (step, axes) in enumerate(zip(calls.steps, calls.axes)):
            for marks, names in zip((step.reads, step.makes), axes):
                for mark, name in zip(marks, names):
                    self.uses[mark.number].append((i, name))

    def shapes(self, numbers: list[int] | None, end: int) -> Shapes | None:
        """Name the shapes of tensors after `end` steps; None if unknown."""
        found = []
        for number in numbers or []:
            if number not in self.uses:
                return None
            uses = self.uses[number]
            before = [name for i, name in uses if i < end]
            found.append(before[-1] if before else uses[0][1])
        return tuple(found) or None


def events(calls: Calls, known: Known) -> list[Event]:
    """List what was called, in order; calls inside a library are left out,
    for what they make is inside the call that led to them."""
    found: list[tuple[float, int, Event]] = []
    for i, (step, axes) in enumerate(zip(calls.steps, calls.axes)):
        if step.visit.place != step.place:
            event = Event(step.visit, step.place, axes[1], step.name)
            found.append((i, 0, event))
    for visit in calls.runs[0].visits:
        if visit.direct and visit.parent:
            made = known.shapes(visit.makes, visit.end)
            event = Event(visit.parent, visit.place, made, "")
            found.append((visit.end - 0.5, -len(visit.path), event))
    found.sort(key=lambda item: item[:2])
    return [event for *_, event in found]


def runs_of(code: CodeType, every: list[Event]) -> list[FunctionRun]:
    """List the runs of a function, in order."""
    found = {}
    for event in every:
        for visit, callers in event.runs(code):
            found[visit.path, visit.nth, callers] = visit, callers
    return sorted(found.values(), key=lambda run: run[0].start)


def runs_in(
    path: str | None, runs: list[FunctionRun], name: str
) -> list[FunctionRun]:
    """Choose the runs in one module; ValueError where it is not clear which,
    or where the function `name` did not run there."""
    paths = list(dict.fromkeys(visit.path for visit, _ in runs))
    if not paths:
        raise ValueError(f"{name} made no tensor in this run")
    if path is None and len(paths) == 1:
        path = paths[0]
    if path not in paths:
        listed = ", ".join(map(repr, paths))
        asked = "in several modules" if path is None else f"not in {path!r}"
        raise ValueError(f"{name} ran {asked}: choose a path of {listed}")
    return [run for run in runs if run[0].path == path]


def module_shapes(calls: Calls) -> Iterator[tuple[str, Shapes, Shapes]]:
    """Name what each module reads and makes, as they finish."""
    known = Known(calls)
    for visit in calls.runs[0].visits:
        numbers = [n for given in visit.reads.values() for n in given]
        reads = known.shapes(numbers, visit.start)
        makes = known.shapes(visit.makes, visit.end)
        yield visit.path, reads or (), makes or ()

"""Calls: what was called in a run, from where, and what it made."""

from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from tformer_lite.tracing.axes.names import Axis
from tformer_lite.tracing.record.places import Place
from tformer_lite.tracing.record.visits import Visit

Shapes = tuple[tuple[Axis, ...], ...]
Chain = tuple[Place, ...]


class Event(NamedTuple):
    """A torch call or a module's call: in which visit, from which places,
    the innermost first; what it made, and a torch function's name."""

    visit: Visit
    chain: Chain
    shapes: Shapes | None
    name: str

    def runs(self, code: CodeType) -> Iterator[tuple[Visit, Chain]]:
        """Go outwards from here, through the modules: give each run of a
        function that led here, by its visit and who called it."""
        # A cell that is run again has the same code; so may another cell.
        wanted, visit, chain = (code, code.co_filename), *self[:2]
        while visit:
            found = [(one, one.co_filename) for one, _ in chain]
            if wanted in found:
                yield visit, chain[found.index(wanted) + 1 :]
            call = visit.call
            visit, chain = (call.parent, call.place) if call else (None, ())


class Known:
    """The named shapes of tensors, by their number."""

    def __init__(self, trace):
        self.uses = {}
        for i, (step, axes) in enumerate(zip(trace.steps, trace.axes)):
            for marks, names in zip((step.reads, step.makes), axes):
                for mark, name in zip(marks, names):
                    uses = self.uses.setdefault(mark.number, [])
                    uses.append((i, name))

    def shapes(self, numbers: list[int] | None, end: int) -> Shapes | None:
        """Name the shapes of tensors after `end` steps; None if unknown."""
        found = []
        for number in numbers or []:
            uses = self.uses.get(number)
            if not uses:
                return None
            before = [name for i, name in uses if i < end]
            found.append(before[-1] if before else uses[0][1])
        return tuple(found) or None


def events(trace, known: Known) -> list[Event]:
    """List what was called, in order; calls inside a library are left out,
    for what they make is inside the call that led to them."""
    found = []
    for i, step in enumerate(trace.steps):
        chain, call = ((step.code, step.at), *step.callers), step.visit.call
        if call is None or call.place != chain:
            shapes = tuple(trace.axes[i][1])
            found.append((i, 0, Event(step.visit, chain, shapes, step.name)))
    for visit in trace.runs[0].visits:
        call = visit.call
        if call.direct:
            made = known.shapes(call.makes, call.end)
            event = Event(call.parent, call.place, made, "")
            found.append((call.end - 0.5, len(visit.path), event))
    found.sort(key=lambda item: (item[0], -item[1]))
    return [event for *_, event in found]

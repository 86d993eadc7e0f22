"""Calls: which values the expressions of a function had in a run."""

import ast
from types import CodeType
from typing import NamedTuple

from tformer_lite.tracing.names import Axis
from tformer_lite.tracing.places import Place
from tformer_lite.tracing.source import (
    FUNCTIONS,
    codes,
    definition,
    run_place,
    span,
)
from tformer_lite.tracing.visits import Visit

Shapes = tuple[tuple[Axis, ...], ...]
LOOPS = ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.DictComp
RESUMED = 0x20 | 0x80 | 0x200  # generators and coroutines


class Event(NamedTuple):
    """A torch call or a module's call: in which visit, from which places,
    the innermost first; what it made, and a torch function's name."""

    visit: Visit
    chain: tuple[Place, ...]
    shapes: Shapes | None
    name: str


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


class Frame:
    """One run of a function: its visit, who called it, and its events."""

    def __init__(self, code: CodeType, visit, callers, all_events):
        self.node, self.visit, self.callers = definition(code), visit, callers
        own, depth = set(codes(code)), len(callers)
        self.events, self.values = all_events, {}
        self.inner: dict = {}
        for event in all_events:
            where = own_place(event, own, visit, code, callers)
            if where is None:
                continue
            j, (at_code, at) = where
            key = span(at_code, at)
            if j == 0:
                self.values.setdefault(key, []).append(event)
            elif event.visit is visit and len(event.chain) > depth:
                called = event.chain[j - 1][0], event.chain[j:]
                self.inner.setdefault(key, set()).add(called)

    def value(self, node: ast.AST) -> list[Shapes]:
        """Give the shapes that an expression had, each time it was made.

        Gives [] unless it is certain.
        """
        found = self.values.get(run_place(node), [])
        if found:
            call = isinstance(node, ast.Call)
            several = {event.name for event in found}
            if call and len(several) > 1:
                return []
            if not all(event.shapes for event in found):
                return []
            return [event.shapes for event in found]
        if isinstance(node, ast.Call):
            return returned(self, node)
        return []


def returned(outer: Frame, node: ast.Call) -> list[Shapes]:
    """Give what a function of the reader's returned."""
    called = outer.inner.get(run_place(node), set())
    name = ast.unparse(node.func).split(".")[-1]
    if len(called) != 1:
        return []
    code, callers = called.copy().pop()
    if code.co_name != name or code.co_flags & RESUMED:
        return []
    frame = Frame(code, outer.visit, callers, outer.events)
    if frame.node is None or isinstance(frame.node, ast.Lambda):
        return []
    found = [n for n in walk(frame.node) if isinstance(n, ast.Return)]
    if any(isinstance(n, ast.Try) for n in walk(frame.node)):
        return []
    given = [frame.value(n.value) for n in found if n.value]
    given = [values for values in given if values]
    if len(given) != 1 or (len(found) > 1 and len(given[0]) > 1):
        return []
    return given[0]


def own_place(event, own: set, visit: Visit, code, callers):
    """Find where in a function an event comes from: how deep, and where."""
    at_visit, chain = event.visit, event.chain
    first = next((i for i, p in enumerate(chain) if p[0] in own), None)
    where = None if first is None else (first, chain[first])
    while True:
        for i, (one, _) in enumerate(chain):
            if one is code:
                here = at_visit is visit and chain[i + 1 :] == callers
                return where if here else None
        call = at_visit.call
        if call is None or call.parent is None:
            return None
        at_visit, chain = call.parent, call.place


def walk(node: ast.AST):
    """Give all that a function consists of, but what it defines itself."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield child
            yield from walk(child)

"""Frames: what the expressions of a function made in one of its runs."""

import ast
from collections import defaultdict
from functools import cache
from itertools import chain, pairwise
from types import CodeType
from typing import NamedTuple

from tformer_lite.tracing.axes.names import Shapes
from tformer_lite.tracing.listing.events import Event, FunctionRun
from tformer_lite.tracing.record.places import Place
from tformer_lite.tracing.source.bindings import (
    last_name,
    stands_for,
    value_at_end,
)
from tformer_lite.tracing.source.expressions import (
    Function,
    Span,
    definition,
    run_span,
    span,
    walk,
)
from tformer_lite.tracing.source.lines import codes

LAMBDA = "<lambda>"
RESUMED = 0x20 | 0x80 | 0x200  # generators and coroutines
LOOPS: tuple[type, ...] = ast.For, ast.AsyncFor, ast.While
LOOPS += ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp


class Made(NamedTuple):
    """What an expression made: its shapes, each time. There are none where
    nothing was called, or where they are not `certain`."""

    times: tuple[Shapes, ...] = ()
    certain: bool = True


NOTHING, UNCERTAIN = Made(), Made(certain=False)


class Frame:
    """One run of a function: in which visit, and who called it.

    `made` has the events of each span in it, `called` the functions of the
    reader's that ran from there, each with the lines that led there.
    """

    def __init__(
        self, code: CodeType, node: Function, run: FunctionRun, every: list
    ):
        self.code, self.node, self.every = code, node, every
        self.visit, self.callers = run
        self.made: dict[Span | None, list[Event]] = defaultdict(list)
        self.called: dict[Span | None, set] = defaultdict(set)
        own = set(codes(code))
        for event in every:
            if next(event.runs(code), None) != run:
                continue
            if event.place[0][0] in own:
                self.made[span(*event.place[0])].append(event)
            if event.visit is self.visit:
                self.note_functions(event.place, own)

    def note_functions(self, place: Place, own: set[CodeType]) -> None:
        """Note which functions ran on the way to an event."""
        for i, ((code, _), caller) in enumerate(pairwise(place), 1):
            named = code.co_name.isidentifier() or code.co_name == LAMBDA
            if caller[0] in own and named:  # a comprehension is no function
                self.called[span(*caller)].add((code, place[i:]))

    def value(self, node: ast.expr | ast.stmt) -> Made:
        """Tell what an expression made: NOTHING if nothing was called there,
        UNCERTAIN where it cannot be told."""
        at = run_span(node)
        if at in self.made:
            return made_by(self.made[at], node, node in looped(self.node))
        if at in self.called:
            return made_by_function(self, node, self.called[at])
        return NOTHING

    def times(self) -> int:
        """How often the function ran, at least: all its runs from the same
        lines are one. What stands outside of loops tells."""
        found = [
            self.value(node)
            for node in set(walk(self.node)) - looped(self.node)
            if isinstance(node, ast.expr)
        ]
        return max((len(made.times) for made in found), default=0)


@cache
def looped(function: Function) -> set[ast.AST]:
    """Find what stands in the loops of a function."""
    loops = [node for node in ast.walk(function) if isinstance(node, LOOPS)]
    return {node for loop in loops for node in ast.walk(loop)}


def made_by(events: list[Event], node: ast.AST, in_loop: bool) -> Made:
    """Tell what an expression made from the events there. Several may be
    one call, of a library's function that made them all."""
    shapes = [event.shapes for event in events if event.shapes]
    names = {event.name for event in events}
    if len(shapes) < len(events):
        return UNCERTAIN
    if len(events) == 1 or not isinstance(node, ast.Call):
        return Made(tuple(shapes))
    if names <= {"", last_name(node.func)}:
        return Made(tuple(shapes))
    alike = len(names) == 1 and len(set(shapes)) == 1
    return Made((shapes[0],)) if alike and in_loop else UNCERTAIN


def made_by_function(outer: Frame, node: ast.AST, called: set) -> Made:
    """Tell what a function of the reader's gave, if it is certain that it
    was this one."""
    if len(called) != 1:
        return UNCERTAIN
    ((code, callers),) = called
    function = node.func if isinstance(node, ast.Call) else node
    inner = definition(code)
    if code.co_flags & RESUMED or inner is None:
        return UNCERTAIN
    if not stands_for(function, code, outer.code):
        return UNCERTAIN
    return result(Frame(code, inner, (outer.visit, callers), outer.every))


def result(frame: Frame) -> Made:
    """Tell what a function gave, if one place in it gave everything."""
    if isinstance(frame.node, ast.Lambda):
        return certain(last_value(frame, frame.node.body))
    returns = [n for n in walk(frame.node) if isinstance(n, ast.Return)]
    values = [node.value for node in returns if node.value]
    if not values:
        return NOTHING
    if returns == frame.node.body[-1:]:
        return certain(last_value(frame, values[0]))
    found = [frame.value(value) for value in values]
    found = [made for made in found if made != NOTHING]
    if len(found) != 1:
        return UNCERTAIN
    once = 1 in (len(returns), len(found[0].times))
    return found[0] if once else UNCERTAIN


def certain(made: Made) -> Made:
    """Take nothing for uncertain, where something must have been made."""
    return made if made.times else UNCERTAIN


def last_value(frame: Frame, node: ast.expr) -> Made:
    """Tell what the last line of a function gave: an expression, or what a
    variable is then, or several."""
    if isinstance(node, ast.Tuple):
        parts = [last_value(frame, part).times for part in node.elts]
        if not all(parts) or len(set(map(len, parts))) != 1:
            return UNCERTAIN
        return Made(tuple(tuple(chain(*each)) for each in zip(*parts)))
    if not isinstance(node, ast.Name):
        return frame.value(node)
    value = value_at_end(frame.node, node.id)
    return frame.value(value) if value else UNCERTAIN

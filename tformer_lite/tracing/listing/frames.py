"""Frames: what the expressions of a function made in one of its runs."""

import ast
from collections import defaultdict
from functools import cache
from itertools import pairwise
from types import CodeType

from tformer_lite.tracing.listing.events import Chain, Event, Shapes
from tformer_lite.tracing.record.visits import Visit
from tformer_lite.tracing.source.bindings import (
    last_name,
    stands_for,
    value_at_end,
)
from tformer_lite.tracing.source.expressions import (
    definition,
    run_place,
    span,
    walk,
)
from tformer_lite.tracing.source.lines import codes

Values = list[Shapes] | None
LAMBDA = "<lambda>"
RESUMED = 0x20 | 0x80 | 0x200  # generators and coroutines
LOOPS = ast.For, ast.AsyncFor, ast.While
LOOPS += ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp


class Frame:
    """One run of a function: in which visit, and who called it.

    `made` has the events of each place in it, `called` the functions of the
    reader's that ran from there, each with the places that led there.
    """

    def __init__(self, code: CodeType, visit: Visit, callers: Chain, every):
        self.code, self.node, self.every = code, definition(code), every
        self.visit, self.callers = visit, callers
        self.made, self.called = defaultdict(list), defaultdict(set)
        own = set(codes(code))
        for event in every:
            if next(event.runs(code), None) != (visit, callers):
                continue
            if event.chain[0][0] in own:
                self.made[span(*event.chain[0])].append(event)
            if event.visit is visit:
                self.note_calls(event.chain, own)

    def note_calls(self, chain: Chain, own: set[CodeType]) -> None:
        """Note what was called on the way to an event."""
        for i, ((called, _), place) in enumerate(pairwise(chain), 1):
            named = called.co_name.isidentifier() or called.co_name == LAMBDA
            if place[0] in own and named:  # a comprehension is no call
                self.called[span(*place)].add((called, chain[i:]))

    def value(self, node: ast.AST) -> Values:
        """Give the shapes that an expression had, each time it was made: []
        if nothing was called there, None where it is not certain."""
        place = run_place(node)
        if place in self.made:
            return agreed(node, self.made[place], node in looped(self.node))
        if place in self.called:
            return returned(self, node, self.called[place])
        return []

    def times(self) -> int:
        """How often the function ran, at least: all its runs from the same
        places are one. What stands outside of loops tells."""
        found = [
            self.value(node)
            for node in set(walk(self.node)) - looped(self.node)
            if isinstance(node, ast.expr)
        ]
        return max((len(values or []) for values in found), default=0)


@cache
def looped(function: ast.AST) -> set[ast.AST]:
    """Find what stands in the loops of a function."""
    loops = [node for node in ast.walk(function) if isinstance(node, LOOPS)]
    return {node for loop in loops for node in ast.walk(loop)}


def agreed(node: ast.AST, made: list[Event], in_loop: bool) -> Values:
    """Tell an expression's shapes from the events at its place. Several may
    be one call, of a library's function that made them all."""
    shapes, names = [e.shapes for e in made], {e.name for e in made}
    if not all(shapes):
        return None
    several = isinstance(node, ast.Call) and len(made) > 1
    if not several or names <= {"", last_name(node.func)}:
        return shapes
    alike = len(names) == 1 and len(set(shapes)) == 1
    return shapes[:1] if alike and in_loop else None


def returned(outer: Frame, node: ast.AST, called: set) -> Values:
    """Tell what a function of the reader's gave, if it is certain that it
    was this one."""
    if len(called) != 1:
        return None
    ((code, callers),) = called
    function = node.func if isinstance(node, ast.Call) else node
    if code.co_flags & RESUMED or definition(code) is None:
        return None
    if not stands_for(function, code, outer.code):
        return None
    return result(Frame(code, outer.visit, callers, outer.every))


def result(frame: Frame) -> Values:
    """Tell what a function gave, if one place in it gave everything."""
    if isinstance(frame.node, ast.Lambda):
        return given(frame, frame.node.body) or None
    returns = [n for n in walk(frame.node) if isinstance(n, ast.Return)]
    if not any(node.value for node in returns):
        return []
    if returns == frame.node.body[-1:]:
        return given(frame, returns[0].value) or None
    found = [frame.value(node.value) for node in returns if node.value]
    found = [values for values in found if values != []]
    if len(found) != 1 or not found[0]:
        return None
    return found[0] if 1 in (len(returns), len(found[0])) else None


def given(frame: Frame, node: ast.expr) -> Values:
    """Tell what the last line of a function gave: an expression, or what a
    variable is then, or several."""
    if isinstance(node, ast.Tuple):
        parts = [given(frame, part) for part in node.elts]
        if not all(parts) or len(set(map(len, parts))) != 1:
            return None
        return [sum(each, ()) for each in zip(*parts)]
    if isinstance(node, ast.Name):
        node = value_at_end(frame.node, node.id)
    return frame.value(node) if node else None

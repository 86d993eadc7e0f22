"""What each expression of a function made, in one of its runs."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, pairwise
from types import CodeType
from typing import Any

from shapewatch.tracing.axes.names import Shapes
from shapewatch.tracing.calls import Calls, known_shapes
from shapewatch.tracing.lines import LineValue, line_values
from shapewatch.tracing.record.visits import Place, Visit
from shapewatch.tracing.source import expressions as source
from shapewatch.tracing.source.expressions import Function

# A function, the visit that it ran in, and the lines that led there.
FunctionRun = tuple[CodeType, Visit, Place]
# What an expression made each time: () where nothing was called, None where
# that cannot be told.
ShapesEachTime = tuple[Shapes, ...] | None
GENERATOR_FLAGS = 0x20 | 0x80 | 0x200  # generators and coroutines


def runs_around(event: LineValue, code: CodeType) -> Iterator[FunctionRun]:
    """Give the runs of a function that led somewhere, the innermost first."""
    # A cell that is run again has the same code; so may another cell.
    wanted = code, code.co_filename
    visit: Visit | None = event.visit
    place = event.place
    while visit:
        led_here = [(function, function.co_filename) for function, _ in place]
        if wanted in led_here:
            yield code, visit, place[led_here.index(wanted) + 1 :]
        place, visit = visit.place, visit.parent


class CallEvents:
    """What was called in a run, and which runs of functions led there."""

    def __init__(self, calls: Calls):
        self.calls = calls
        # Calls inside a library are inside the call that led to them.
        self.all = line_values(calls.steps, calls.run.visits)
        self.led_to: dict[tuple, dict[Any, list[LineValue]]] = {}

    def within(self, run: FunctionRun) -> list[LineValue]:
        """List the events that a run of a function led to, and no run of the
        same function within it."""
        code = run[0]
        wanted = code, code.co_filename
        if wanted not in self.led_to:
            led_to = self.led_to[wanted] = defaultdict(list)
            for event in self.all:
                led_to[next(runs_around(event, code), None)].append(event)
        return self.led_to[wanted][run]


def runs_of(
    events: CallEvents, code: CodeType, path: str | None
) -> list[FunctionRun]:
    """List the runs of a function in one module, in order; ValueError
    where it did not run there, or where it is not clear in which."""
    every_run = (run for x in events.all for run in runs_around(x, code))
    runs = sorted(dict.fromkeys(every_run), key=lambda run: run[1].start)
    paths = list(dict.fromkeys(visit.path for _, visit, _ in runs))
    if not paths:
        raise ValueError(f"{code.co_qualname} made no tensor in this run")
    if path is None and len(paths) == 1:
        path = paths[0]
    if path not in paths:
        listed = ", ".join(map(repr, paths))
        ran = "in several modules" if path is None else f"not in {path!r}"
        ran = f"{code.co_qualname} ran {ran}"
        raise ValueError(f"{ran}: choose a path of {listed}")
    return [run for run in runs if run[1].path == path]


class Frame:
    """One run of a function: in which visit, and who called it.

    `events_at` has the events of each span in it, `called` the runs of the
    reader's functions from there.
    """

    def __init__(self, events: CallEvents, node: Function, run: FunctionRun):
        self.events, self.node = events, node
        self.code, self.visit, self.callers = run
        self.events_at = defaultdict[source.Span | None, list[LineValue]](list)
        self.called = defaultdict[source.Span | None, set[FunctionRun]](set)
        codes = set(source.codes(self.code))
        for event in events.within(run):
            if event.place[0][0] in codes:
                self.events_at[source.span(*event.place[0])].append(event)
            if event.visit is self.visit:
                self.note_functions(event.place, codes)

    def note_functions(self, place: Place, codes: set[CodeType]) -> None:
        """Note which functions ran on the way to an event."""
        for i, ((code, _), caller) in enumerate(pairwise(place), 1):
            named = code.co_name.isidentifier() or code.co_name == "<lambda>"
            if caller[0] in codes and named:  # a comprehension is no function
                run = code, self.visit, place[i:]
                self.called[source.span(*caller)].add(run)

    def value(self, node: ast.expr | ast.stmt) -> ShapesEachTime:
        """Tell what an expression made."""
        at = source.run_span(node)
        if events := self.events_at.get(at):
            calls = self.events.calls
            shapes = (known_shapes(calls, x.makes, x.end) for x in events)
            times = tuple(filter(None, shapes))
            return times if len(times) == len(events) else None
        if at in self.called:
            return shapes_of_function(self, node, self.called[at])
        return ()


def returned_shapes(frame: Frame) -> ShapesEachTime:
    """Tell what the function gave, if one place gave everything."""
    nodes = source.walk(frame.node)
    returns = [x for x in nodes if isinstance(x, ast.Return)]
    values = [x.value for x in returns if x.value]
    if not values:
        return ()
    if returns == frame.node.body[-1:]:
        return last_value(frame, values[0])
    known_values = [x for x in map(frame.value, values) if x != ()]
    if len(known_values) == 1 and 1 in (
        len(returns),
        len(known_values[0] or ()),
    ):
        return known_values[0]
    return None


def last_value(frame: Frame, node: ast.expr) -> ShapesEachTime:
    """Tell what the last line gave: an expression, or what a variable is
    then, or several. It is uncertain if it is nothing."""
    if isinstance(node, ast.Tuple):
        parts = [last_value(frame, part) or () for part in node.elts]
        if not all(parts) or len(set(map(len, parts))) != 1:
            return None
        return tuple(tuple(chain(*each)) for each in zip(*parts))
    value: ast.expr | ast.stmt | None = node
    if isinstance(node, ast.Name):
        value = value_at_end(frame.node, node.id)
    return (frame.value(value) if value else None) or None


def shapes_of_function(
    outer: Frame, node: ast.AST, called: set[FunctionRun]
) -> ShapesEachTime:
    """Tell what a function of the reader's gave, if it was surely this: one
    that is called by its own name."""
    run, *others = called
    code, inner = run[0], source.definition(run[0])
    function = node.func if isinstance(node, ast.Call) else node
    name = getattr(function, "attr", getattr(function, "id", ""))
    is_generator = code.co_flags & GENERATOR_FLAGS
    if others or name != code.co_name or is_generator or not inner:
        return None
    return returned_shapes(Frame(outer.events, inner, run))


def value_at_end(function: Function, name: str) -> ast.expr | ast.stmt | None:
    """Find what a variable is at the end of a function: the value of the
    last statement that binds it, unless that is inside another."""
    for statement in reversed(function.body):
        if any(binds(node, name) for node in ast.walk(statement)):
            match statement:
                case ast.AugAssign():
                    return statement
                case ast.Assign([ast.Name(bound), *_], value) if bound == name:
                    return value
            return None
    return None


def binds(node: ast.AST, name: str) -> bool:
    """Whether a variable is bound here, or a method such as x.t_() called
    that may give it another shape."""
    if isinstance(node, ast.Attribute) and node.attr.endswith("_"):
        node = node.value
    elif isinstance(getattr(node, "ctx", None), ast.Load):
        return False
    return isinstance(node, ast.Name) and node.id == name

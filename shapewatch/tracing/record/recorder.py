"""Recording: every torch call of a run, and the module it happens in."""

import gc
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cached_property
from itertools import count
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapewatch.tracing.record.models import ModelCall
from shapewatch.tracing.record.shared import (
    eagerly,
    noting,
    seen_calls,
)
from shapewatch.tracing.record.state import gc_paused
from shapewatch.tracing.record.tensors import (
    Mark,
    Values,
    name_of,
    shapes_of,
    targets,
    tensors,
)
from shapewatch.tracing.record.visits import Place, Visit, Visits, place_of
from shapewatch.tracing.source import expressions

Call = tuple[Callable, CodeType, int]
CallShapes = tuple[list[torch.Size], list[torch.Size]]  # read, and made
OFTEN = 5000  # after so many calls a run's own garbage is looked for


class Step(NamedTuple):
    """One torch call: what was called, from which lines, in which module.

    `place` has the line in the reader's code, and those within the same
    module that led there, the innermost first. `call` tells it from other
    calls: the function, and the very instruction that called it. What a
    library calls each time on behalf of one line has one `turn`; it is 0
    where the line itself calls. `reads` and `makes` are the tensors.
    """

    call: Call
    place: Place
    visit: Visit
    reads: list[Mark]
    makes: list[Mark]
    turn: int = 0

    @property
    def function(self) -> Callable:
        """The function that was called."""
        return self.call[0]

    @property
    def code(self) -> CodeType:
        """The code that the call's line is in."""
        return self.place[0][0]

    @property
    def name(self) -> str:
        """The function's name; an attribute's, when it was one."""
        function = self.function
        if name_of(function) == "__get__":
            function = function.__self__  # type: ignore[attr-defined]
        return name_of(function)

    @property
    def line(self) -> str:
        """The line, as it is written: q = self.query(x)."""
        return expressions.line_text(*line_parts(self))


def branch_condition(step: Step) -> str:
    """Write what an `if` asks, as it is written, if that is the call."""
    asks = step.function is Tensor.__bool__
    return expressions.condition(*step.place[0]) if asks else ""


def line_parts(step: Step) -> tuple[str, str]:
    """Give the variable that a step's line binds, or "", and the expression,
    as written; the function's name, where that cannot be read."""
    if asked := branch_condition(step):
        return "", f"bool({asked})"
    written = expressions.expression(*step.place[0])
    if not written:
        return "", step.name
    return expressions.variable(*step.place[0]), written


def step_shapes(step: Step) -> CallShapes:
    """Give the shapes of what a step reads and makes."""
    return [x.shape for x in step.reads], [x.shape for x in step.makes]


def sources_of(steps: list[Step]) -> list[list[int | None]]:
    """List the steps that made, or last changed, what each step reads: None
    for an input."""
    sources, last = [], dict[int, int]()
    for i, step in enumerate(steps):
        sources.append([last.get(mark.number) for mark in step.reads])
        last |= {mark.number: i for mark in step.makes}
    return sources


def call_of(function: Callable, frame: FrameType) -> Call:
    """Tell a call from others."""
    return function, frame.f_code, frame.f_lasti


class ShapeRun(TorchFunctionMode):
    """A run at other sizes, of which no more is written down than its calls
    and the shapes of what they read and make: that is quick. `error` is what
    stopped it."""

    def __init__(self, sizes: dict[str, int]):
        super().__init__()
        self.sizes = sizes
        self.error: Exception | None = None
        self.calls, self.shapes = list[Call](), list[CallShapes]()

    def record(self, call: ModelCall) -> None:
        """Run a model once; what goes wrong is the run's `error`."""
        try:
            with eagerly(), seen_calls(), self:
                call.run()
        except Exception as error:
            self.error = error

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        reads = shapes_of((*args, *kwargs.values()) if kwargs else args)
        result = function(*args, **kwargs) if kwargs else function(*args)
        if makes := shapes_of((result,)):
            self.calls.append(call_of(function, sys._getframe(1)))
            self.shapes.append((reads, makes))
        return result

    def shapes_of(self, other: object) -> list[CallShapes | None]:
        """Give the shapes of each step of a run that has the same calls."""
        return [*self.shapes]


class Recorder(TorchFunctionMode):
    """Write down each torch call that makes a tensor, in a run of `model`.

    `keep` says whether to keep what the calls make.
    """

    def __init__(self, model: nn.Module, keep: bool = False):
        super().__init__()
        self.steps: list[Step] = []
        self.visits, self.values = Visits(model, self.steps), Values()
        self.marks, self.keep = self.visits.marks, keep
        self.failed: tuple[Exception, Step] | None = None

    def __enter__(self):
        self.visits.base = ModelCall.run.__code__
        self.stack = ExitStack()
        self.stack.enter_context(self.visits)
        self.stack.enter_context(seen_calls())
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.stack.close()

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if self.keep:
            self.values.save(targets(function, args, kwargs or {}))
        # Read first: a call may change shapes.
        reads = self.marks.read((*args, *kwargs.values()) if kwargs else args)
        try:
            result = function(*args, **kwargs) if kwargs else function(*args)
        except Exception as error:
            step = self.note(function, sys._getframe(1), reads, [])
            self.failed = error, step
            raise
        if makes := self.marks.mark_all(result):
            step = self.note(function, sys._getframe(1), reads, makes)
            n = add_step(self.steps, step)
            if self.keep:
                self.values.keep(n, tensors(result), args, kwargs or {})
        return result

    def note(
        self, function: Any, frame: FrameType, reads: list, makes: list
    ) -> Step:
        """Write a call down that was made in a frame."""
        place, turn = place_of(self.visits, frame, function)
        now = self.visits.now
        step = call_of(function, frame), place, now, reads, makes, turn
        return tuple.__new__(Step, step)  # as Step(*step), in half the time


def add_step(steps: list[Step], step: Step) -> int:
    """Add a step, and give its number; now and then, let Python look for
    the garbage that the run itself has made."""
    steps.append(step)
    if len(steps) % OFTEN == 0:
        gc.collect(1)
    return len(steps) - 1


class RecordedRun:
    """One run: its sizes, its steps, and how to find a step again.

    `result` is what the model gave, with the tensors `gives`, and `error`
    what stopped it; a torch call that failed is the last step, and made
    nothing. `notes` say what of it cannot be seen.
    """

    def __init__(self, sizes: dict[str, int]):
        self.sizes, self.result = sizes, None
        self.error: Exception | None = None
        self.steps: list[Step] = []
        self.visits: list[Visit] = []
        self.notes: list[str] = []
        self.values, self.gives = Values(), list[Mark]()

    def record(self, call: ModelCall, keep: bool = False) -> None:
        """Run a model once; what goes wrong is the run's `error`."""
        recorder = Recorder(call.root, keep)
        recorder.visits.now.kind = call.kind
        recorder.values = self.values
        self.steps, self.visits = recorder.steps, recorder.visits.done
        with noting() as notes:
            try:
                with gc_paused(), eagerly(), recorder:
                    self.result = call.run()
            except Exception as error:
                self.error = error
                if recorder.failed and recorder.failed[0] is error:
                    self.steps.append(recorder.failed[1])
        self.notes = [*notes]
        self.gives = recorder.marks.read((self.result,))

    @cached_property
    def calls(self) -> list[Call]:
        """What was called, and where."""
        return [step.call for step in self.steps]

    @cached_property
    def positions(self) -> list[tuple]:
        """Where each step is: in which visit, called from which lines, and
        how many were there before it."""
        before: dict[tuple, Iterator[int]] = defaultdict(count)
        places = ((s.visit.path, s.visit.nth, s.place) for s in self.steps)
        return [(*place, next(before[place])) for place in places]

    def shapes_of(self, other: "RecordedRun") -> list[CallShapes | None]:
        """Give the shapes of this run's steps where another's are: the nth at
        a position is the nth there; None for one that is lacking here."""
        shapes = dict(zip(self.positions, map(step_shapes, self.steps)))
        return [shapes.get(position) for position in other.positions]

"""Recording: every torch call of a run, and the module it happens in."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import CodeType
from typing import Any, NamedTuple

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from tformer_lite.tracing.record.places import Place, place_of
from tformer_lite.tracing.record.tensors import Mark, Marks, tensors
from tformer_lite.tracing.record.values import Values, targets
from tformer_lite.tracing.record.visits import NotedVisits, Visit, Visits
from tformer_lite.tracing.source.expressions import (
    expression,
    line_text,
    variable,
)

Keep = Callable[[Place, Visit], bool] | None
# A call as it is written down: the tensors it reads have no shapes yet.
RawStep = tuple[
    Callable, Place, Visit, list[int], list[tuple[int, torch.Size]]
]


class Step(NamedTuple):
    """One torch call: what was called, from which lines, in which module.

    `place` has the line in the reader's code, and those within the same
    module that led there, the innermost first.
    """

    function: Callable
    place: Place
    visit: Visit
    reads: list[Mark]
    makes: list[Mark]

    @property
    def code(self) -> CodeType:
        """The code that the call's line is in."""
        return self.place[0][0]

    @property
    def at(self) -> int:
        """Where the call's instruction is in that code."""
        return self.place[0][1]

    @property
    def name(self) -> str:
        """The function's name; an attribute's, when it was one."""
        function = self.function
        if function.__name__ == "__get__":
            function = function.__self__  # type: ignore[attr-defined]
        return function.__name__

    @property
    def binding(self) -> tuple[str, str]:
        """The variable that is bound, or "", and the expression, as they are
        written; the function's name, where that cannot be read."""
        written = expression(self.code, self.at)
        bound = variable(self.code, self.at) if written else ""
        return bound, written or self.name

    @property
    def line(self) -> str:
        """The line, as it is written: q = self.query(x)."""
        return line_text(*self.binding)


class Recorder(TorchFunctionMode):
    """Write down each torch call of this thread that makes a tensor.

    Use it in a `with` statement around the run of `model`. Afterwards
    everything is as it was, whatever happened. `keep` says of each call
    whether to keep what it makes.
    """

    def __init__(self, model: Callable, keep: Keep = None):
        super().__init__()
        self.marks = Marks()
        self.raw: list[RawStep] = []
        self.visits: Visits = NotedVisits(model, self.marks, self.raw)
        self.values = Values()
        self.keep = keep
        self.failed: tuple[Exception, RawStep] | None = None

    def __enter__(self):
        self.base = self.visits.base = sys._getframe(1).f_code
        self.open = ExitStack()
        self.open.enter_context(openly())
        self.open.enter_context(self.visits)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        self.open.close()
        super().__exit__(*error)

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if self.keep:
            self.values.save(targets(function, args, kwargs or {}))
        try:
            result = function(*args, **kwargs) if kwargs else function(*args)
        except Exception as error:
            self.failed = error, raw_step(self, function, args, kwargs, [])
            raise
        makes = self.marks(result)
        if makes:
            step = raw_step(self, function, args, kwargs, makes)
            self.raw.append(step)
            if self.keep and self.keep(*step[1:3]):
                made = tensors(result)
                self.values.keep(len(self.raw) - 1, made, args, kwargs)
        elif function.__name__ == "__set__":
            self.marks.forget(args[0])
        return result


def raw_step(
    recorder: Recorder,
    function: Callable,
    args: tuple,
    kwargs: Any,
    made: list,
) -> RawStep:
    """Write a call down, from within what PyTorch calls instead of it."""
    given = (*args, *kwargs.values()) if kwargs else args
    reads = recorder.marks.numbers(given)
    place = place_of(sys._getframe(2), recorder.base)
    return function, place, recorder.visits.now, reads, made


class ProbeRecorder(Recorder):
    """Write down no more of a module's run than its path."""

    def __init__(self, model: Callable):
        super().__init__(model)
        self.visits = Visits(model)


@contextmanager
def openly() -> Iterator[None]:
    """Let the lines of nn.MultiheadAttention be seen: as long as a function
    is overridden, it would be one call."""
    names = vars(functional)
    before = names["has_torch_function"]
    names["has_torch_function"] = lambda tensors: False
    try:
        yield
    finally:
        names["has_torch_function"] = before


def shapes_in(
    raw: list[RawStep], first: dict[int, torch.Size]
) -> Iterator[tuple[list[torch.Size], list[torch.Size]]]:
    """Give the shapes that each call read, and those that it made; `first`
    are those that the tensors had at first. Both may grow meanwhile."""
    now: dict[int, torch.Size] = {}
    for *_, reads, makes in raw:
        before = [now.get(n, first[n]) for n in reads]
        now.update(makes)
        yield before, [shape for _, shape in makes]


def named_steps(
    raw: list[RawStep], first: dict[int, torch.Size]
) -> Iterator[Step]:
    """Give the parts of the calls their names, as they are made."""
    shapes = shapes_in(raw, first)
    for (function, place, visit, reads, makes), (before, _) in zip(
        raw, shapes
    ):
        read = list(map(Mark, reads, before))
        made = [Mark(*mark) for mark in makes]
        yield Step(function, place, visit, read, made)

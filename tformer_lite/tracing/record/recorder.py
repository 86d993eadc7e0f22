"""Recording: every torch call of a run, and the module it happens in."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import CodeType
from typing import NamedTuple

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from tformer_lite.tracing.record.places import Place, place
from tformer_lite.tracing.record.tensors import Mark, Marks, tensors
from tformer_lite.tracing.record.values import Values, written
from tformer_lite.tracing.record.visits import Visit, Visits
from tformer_lite.tracing.source.expressions import expression, variable

Keep = Callable[..., bool] | None


class Step(NamedTuple):
    """One torch call: what was called, from where, in which module.

    `code` and `at` are the place in the reader's code, `callers` the places
    within the same module that led there, the innermost first.
    """

    function: Callable
    code: CodeType
    at: int
    callers: tuple[Place, ...]
    visit: Visit
    reads: list[Mark]
    makes: list[Mark]

    @property
    def name(self) -> str:
        """The function's name; an attribute's, when it was one."""
        if self.function.__name__ == "__get__":
            return self.function.__self__.__name__
        return self.function.__name__

    @property
    def line(self) -> str:
        """The line, as it is written: q = self.query(x); the function's
        name, where it cannot be read."""
        call = expression(self.code, self.at)
        name = call and variable(self.code, self.at)
        return f"{name} = {call}" if name else call or self.name


class Recorder(TorchFunctionMode):
    """Write down each torch call of this thread that makes a tensor.

    Use it in a `with` statement around the run of `model`. Afterwards
    everything is as it was, whatever happened.
    """

    def __init__(self, model: Callable, keep: Keep = None):
        super().__init__()
        self.marks = Marks()
        self.raw: list[tuple] = []
        self.visits = Visits(model, self.marks.numbers, self.raw)
        self.values = Values()
        self.keep = keep
        self.failed: tuple[Exception | None, tuple | None] = None, None

    def __enter__(self):
        self.base = self.visits.base = sys._getframe(1).f_code
        self.open = ExitStack()
        self.open.enter_context(opened())
        self.open.enter_context(self.visits)
        return super().__enter__()

    def __exit__(self, *error):
        self.open.close()
        return super().__exit__(*error)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if self.keep:
            self.values.save(written(function, args, kwargs or {}))
        try:
            result = function(*args, **kwargs) if kwargs else function(*args)
        except Exception as error:
            self.failed = error, self.call(function, args, kwargs, [])
            raise
        makes = self.marks(result)
        if makes:
            self.raw.append(self.call(function, args, kwargs, makes))
            if self.keep and self.keep(*self.raw[-1][1:5]):
                made = tensors(result)
                self.values.keep(len(self.raw) - 1, made, args, kwargs)
        elif function.__name__ == "__set__":
            self.marks.forget(args[0])
        return result

    def call(self, function, args, kwargs, makes: list) -> tuple:
        """Write a call down."""
        given = (*args, *kwargs.values()) if kwargs else args
        reads = self.marks.numbers(given)
        code, at, callers = place(sys._getframe(2), self.base)
        return function, code, at, callers, self.visits.now, reads, makes


class Glance(Recorder):
    """Write down no more of a module's call than its path."""

    def __init__(self, model: Callable):
        super().__init__(model)
        self.visits = Visits(model)


@contextmanager
def opened() -> Iterator[None]:
    """Let the lines of nn.MultiheadAttention be seen: as long as a function
    is overridden, it would be one call."""
    before = functional.has_torch_function
    functional.has_torch_function = lambda tensors: False
    try:
        yield
    finally:
        functional.has_torch_function = before


def shapes_in(raw: list[tuple], first: dict) -> Iterator[tuple[list, list]]:
    """Give the shapes that each call read, and those that it made; `first`
    are those that the tensors had at first. Both may grow meanwhile."""
    now: dict[int, torch.Size] = {}
    for *_, reads, makes in raw:
        before = [now.get(n, first[n]) for n in reads]
        now.update(makes)
        yield before, [shape for _, shape in makes]


def named_steps(raw: list[tuple], first: dict) -> Iterator[Step]:
    """Give the parts of the calls their names, as they are made."""
    for (*what, reads, makes), (before, _) in zip(raw, shapes_in(raw, first)):
        made = [Mark(*mark) for mark in makes]
        yield Step(*what, list(map(Mark, reads, before)), made)

"""Sketches: runs of which no more is written down than calls and shapes."""

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from shapewatch.tracing.record.shared import (
    OVERRIDE_CHECKS,
    THREAD,
    eagerly,
    leave_mode,
)
from shapewatch.tracing.record.tensors import shapes_of

Call = tuple[Callable, CodeType, int]
CallShapes = tuple[list[torch.Size], list[torch.Size]]  # read, and made


class Watch(TorchFunctionMode):
    """See each torch call of this thread, and those of attention layers too.

    Use it in a `with` statement around a run. Afterwards everything is as it
    was, whatever happened.
    """

    def __enter__(self):
        OVERRIDE_CHECKS.__enter__()
        THREAD.recorders += 1
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        THREAD.recorders -= 1
        OVERRIDE_CHECKS.__exit__()
        leave_mode(self)


class ShapeRecorder(Watch):
    """Write down of each torch call that makes a tensor what it is, and the
    shapes of what it reads and makes: no more of a run, and quickly."""

    def __init__(self):
        super().__init__()
        self.calls: list[Call] = []
        self.shapes: list[CallShapes] = []

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        reads = shapes_of((*args, *kwargs.values()) if kwargs else args)
        result = function(*args, **kwargs) if kwargs else function(*args)
        if makes := shapes_of((result,)):
            self.calls.append(call_of(function, sys._getframe(1)))
            self.shapes.append((reads, makes))
        return result


def call_of(function: Callable, frame: FrameType) -> Call:
    """Tell a call from others."""
    return function, frame.f_code, frame.f_lasti


class ShapeRun:
    """A run at other sizes, of which the shapes are known; `error` is what
    stopped it."""

    def __init__(self, sizes: dict[str, int]):
        self.sizes = sizes
        self.error: Exception | None = None
        self.sketch = ShapeRecorder()

    def record(self, model: Callable, inputs: tuple, options: dict) -> None:
        """Run a model once; what goes wrong is the run's `error`."""
        try:
            with eagerly(), self.sketch:
                model(*inputs, **options)
        except Exception as error:
            self.error = error

    @property
    def calls(self) -> list[Call]:
        """What was called, and where."""
        return self.sketch.calls

    def shapes_of(self, other: object) -> list[CallShapes | None]:
        """Give the shapes of each step of a run that has the same calls."""
        return [*self.sketch.shapes]

"""Recording: every torch call of a run, and the module it happens in."""

import itertools
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple
from weakref import ref

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tformer_lite.tracing.visits import Visit, Visits

LIBRARIES = tuple(
    str(Path(file).parent) for file in (torch.__file__, __file__)
)
HOLDERS = Tensor, tuple, list, dict
Place = tuple[CodeType, int]


class Mark(NamedTuple):
    """A tensor, as it was when a call read or made it."""

    number: int
    shape: torch.Size


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


class Recorder(TorchFunctionMode):
    """Write down each torch call of this thread that makes a tensor.

    Use it in a `with` statement around the run of `model`. Afterwards
    everything is as it was, whatever happened.
    """

    def __init__(self, model: Callable):
        super().__init__()
        self.visits = Visits(model)
        self.marks = Marks()
        self.raw: list[tuple] = []

    def __enter__(self):
        self.visits.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        self.visits.__exit__(*error)
        return super().__exit__(*error)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **kwargs) if kwargs else function(*args)
        if isinstance(result, HOLDERS) and type(result) is not torch.Size:
            makes = self.marks(result)
            if makes:
                reads = self.marks((args, kwargs) if kwargs else args)
                where = place(sys._getframe(1))
                visit = self.visits.now
                self.raw.append((function, *where, visit, reads, makes))
        return result

    @property
    def steps(self) -> list[Step]:
        """The calls so far."""
        steps = []
        for *what, reads, makes in self.raw:
            both = [Mark(*m) for m in reads], [Mark(*m) for m in makes]
            steps.append(Step(*what, *both))
        return steps


class Marks:
    """Give each tensor a number, the same one as long as it lives."""

    def __init__(self):
        self.known: dict[int, tuple[ref, int]] = {}
        self.count = itertools.count()

    def __call__(self, value) -> list[tuple[int, torch.Size]]:
        """Give the number and shape of each tensor in a value."""
        found = []
        for tensor in tensors(value):
            known = self.known.get(id(tensor))
            if known is None or known[0]() is not tensor:
                known = ref(tensor), next(self.count)
                self.known[id(tensor)] = known
            found.append((known[1], tensor.shape))
        return found


def tensors(value) -> list[Tensor]:
    """Find the tensors in a value, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    found = []
    for part in value:
        if isinstance(part, Tensor):
            found.append(part)
        elif isinstance(part, HOLDERS):
            found += tensors(part)
    return found


@cache
def in_library(code: CodeType) -> bool:
    """Whether code is PyTorch's or ours, and not the reader's."""
    return code.co_filename.startswith(LIBRARIES)


def place(frame: FrameType) -> tuple[CodeType, int, tuple[Place, ...]]:
    """Find the reader's own line that led here, and those that led there
    within the same module."""
    while in_library(frame.f_code) and frame.f_back:
        frame = frame.f_back
    first, found, outer = frame, [], frame.f_back
    while outer and not in_library(outer.f_code):
        found.append((outer.f_code, outer.f_lasti))
        outer = outer.f_back
    return first.f_code, first.f_lasti, tuple(found)

"""Module visits: which module is running, and the lines that led there."""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass, field
from itertools import count
from types import CodeType, FrameType
from typing import Any

from torch import nn

from shapewatch.tracing.record.owners import exact_owner
from shapewatch.tracing.record.shared import following
from shapewatch.tracing.record.tensors import (
    Mark,
    Marks,
    Parts,
    parts_of,
)

Instruction = tuple[CodeType, int]  # its code, and where it is there
Place = tuple[
    Instruction, ...
]  # the lines that led somewhere, innermost first
Reads = dict[str | int, list[Mark]]  # what each argument had


@dataclass(eq=False, repr=False, slots=True)
class Visit:
    """One run of a module: its path, how many runs went before, its class.

    It was called from the visit `parent`, by the lines `place`, after
    `start` steps, and ended after `end`; `reads` are the tensors that each
    argument had, and `makes` those that it gave, None if that is not known,
    laid out as they were in `parts`. `direct` says that the line itself called
    it, and `turn` is that of the calls in it, as in a `Step`.
    """

    path: str
    nth: int
    kind: str
    parent: "Visit | None" = None
    place: Place = ()
    direct: bool = False
    reads: Reads = field(default_factory=dict)
    start: int = 0
    end: int = 0
    makes: list[Mark] | None = None
    parts: Parts = None
    turn: int = 0

    @property
    def given(self) -> list[Mark]:
        """The tensors that it was given."""
        return [mark for marks in self.reads.values() for mark in marks]


class Visits:
    """Follow the modules of a model while they run, in this thread, and note
    how each was called and what it gave, while `steps` grow.

    `now` is the visit under way; outside every module its path is "". Use it
    in a `with` statement: nn.Module is as it was afterwards. (What its
    __call__ calls is swapped, and not __call__ itself: Python would have to
    tell every class of modules.)
    """

    def __init__(self, model: nn.Module, steps: Sized = ()):
        self.paths = {part: path for path, part in model.named_modules()}
        self.counts: dict[str, Iterator[int]] = defaultdict(count)
        self.base: CodeType | None = None  # what started the recording
        self.frame: FrameType | None = None  # in which `now` runs
        # The library's function that a line called last, and its turn.
        self.called: tuple[FrameType | None, int] = None, 0
        self.turns = count(1)
        self.now, self.done = Visit("", 0, ""), list[Visit]()
        self.marks, self.steps = Marks(), steps
        self.following = following(self)

    def __enter__(self) -> "Visits":
        self.following.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.following.__exit__(None, None, None)
        self.called = None, 0

    def run(
        self, call: Callable, module: nn.Module, *args: Any, **kwargs: Any
    ) -> object:
        """Call a module, and be there meanwhile."""
        before = self.now, self.frame
        self.now = visit_of(self, module, args, kwargs)
        called = self.called
        self.frame = sys._getframe()  # a variable of its own would hold it
        try:
            result = call(module, *args, **kwargs)
            self.now.makes = self.marks.read((result,))
            self.now.parts = parts_of(result, self.marks)
            self.now.end = len(self.steps)
            self.done.append(self.now)
            return result
        finally:
            (self.now, self.frame), self.called = before, called

    def turn_of(self, called: FrameType) -> int:
        """Number the calls that a function makes, by its frame: all in one
        run of it have the same number. It is held until the next: a frame
        that is gone may leave its place to another."""
        if called is not self.called[0]:
            self.called = called, next(self.turns)
        return self.called[1]


def visit_of(
    visits: Visits, module: nn.Module, args: tuple, kwargs: dict
) -> Visit:
    """Note how a module is called."""
    kind, path = type(module).__name__, visits.paths.get(module)
    if path is None:
        path = f"({kind})"
    frame = sys._getframe(4)  # past run, enter and nn.Module's __call__
    (place, turn), parent = place_of(visits, frame), visits.now
    direct = place[0][0] is frame.f_code
    named = dict(enumerate(args)) | kwargs
    reads = {name: visits.marks.read((x,)) for name, x in named.items()}
    nth, start = next(visits.counts[path]), len(visits.steps)
    visit = Visit(path, nth, kind, parent, place, direct, reads, start)
    visit.turn = turn or next(visits.turns)
    return visit


def place_of(
    visits: Visits, frame: FrameType | None, function: Any = None
) -> tuple[Place, int]:
    """Find the reader's own line that led here, and those that led there
    within the same module, past PyTorch's, and past another package's unless
    there are no others: if there is none in it, those that led to the module.
    Outside of all it is `base`, the code that started the recording. And give
    the turn: 0 where the line itself calls a `function`."""
    lines: Place = ()
    packages: Place = ()
    called = callee = None
    last = visits.frame
    while frame and frame is not last:
        code, line = frame.f_code, (frame.f_code, frame.f_lasti)
        owner = exact_owner(code.co_filename)
        if owner == "reader":
            called = called if lines else callee
            lines += (line,)
        elif owner == "package":
            called = called if lines or packages else callee
            packages += (line,)
        elif owner == "tracer" and (lines or packages or code is visits.base):
            packages = packages or (line,)
            break
        callee, frame = frame, frame.f_back
    if not (lines or packages):
        return visits.now.place, visits.now.turn
    if called is None or called.f_code is getattr(function, "__code__", None):
        return lines or packages, 0
    return lines or packages, visits.turn_of(called)

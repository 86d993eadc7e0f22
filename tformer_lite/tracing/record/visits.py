"""Module visits: which module is running, told by its path."""

import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sized
from itertools import count
from types import CodeType
from typing import Any

from torch import nn

from tformer_lite.tracing.record.places import Place, place_of
from tformer_lite.tracing.record.tensors import Marks


class Visit:
    """One run of a module: its path, how many runs went before, its class.

    Where calls are noted, it was called from the visit `parent`, by the
    lines `place`, after `start` steps, and ended after `end`; `reads` are
    the tensors that each argument had, and `makes` those that it gave, None
    if that is not known, all told by their numbers. `direct` says that the
    reader's own code called it.
    """

    parent: "Visit | None" = None
    place: Place = ()
    makes: list[int] | None = None
    start = end = 0
    direct = False

    def __init__(self, path: str, nth: int, kind: str):
        self.path, self.nth, self.kind = path, nth, kind
        self.reads: dict[str | int, list[int]] = {}


class Visits:
    """Follow the modules of a model while they run, in this thread.

    `now` is the visit under way; outside every module its path is "". Use
    it in a `with` statement: nn.Module is as it was afterwards. (What its
    __call__ calls is swapped, and not __call__ itself: Python would have to
    tell every class of modules.)
    """

    def __init__(self, model: Callable):
        modules = getattr(model, "named_modules", dict)
        self.paths = {id(part): path for path, part in modules()}
        self.counts: dict[str, Iterator[int]] = defaultdict(count)
        self.done: list[Visit] = []
        self.thread = threading.get_ident()
        self.now = Visit("", 0, "")
        self.base: CodeType | None = None

    def __enter__(self) -> "Visits":
        visits, self.call = self, nn.Module._call_impl

        def enter(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return visits.run(module, args, kwargs)

        nn.Module._call_impl = enter  # type: ignore[assignment,method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        nn.Module._call_impl = self.call  # type: ignore[method-assign]

    def run(self, module: nn.Module, args: tuple, kwargs: dict) -> object:
        """Run a module, and be there meanwhile."""
        if threading.get_ident() != self.thread:
            return self.call(module, *args, **kwargs)
        before, kind = self.now, type(module).__name__
        path = self.paths.get(id(module), f"({kind})")
        visit = Visit(path, next(self.counts[path]), kind)
        self.note_call(visit, args, kwargs)
        self.now = visit
        try:
            result = self.call(module, *args, **kwargs)
            self.note_result(visit, result)
            return result
        finally:
            self.now = before

    def note_call(self, visit: Visit, args: tuple, kwargs: dict) -> None:
        """Note how a module is called."""

    def note_result(self, visit: Visit, result: object) -> None:
        """Note what a module gave."""


class NotedVisits(Visits):
    """Follow the modules, and note how each was called and what it gave.

    `marks` number the tensors, and `steps` grow meanwhile; `base` is the
    code that started the recording.
    """

    def __init__(self, model: Callable, marks: Marks, steps: Sized):
        super().__init__(model)
        self.marks, self.steps = marks, steps

    def note_call(self, visit: Visit, args: tuple, kwargs: dict) -> None:
        frame = sys._getframe(4)  # past run, enter and nn.Module's __call__
        visit.parent, visit.place = self.now, place_of(frame, self.base)
        visit.direct = visit.place[0][0] is frame.f_code
        given: dict = {**dict(enumerate(args)), **kwargs}
        visit.reads = {name: self.numbers(x) for name, x in given.items()}
        visit.start = visit.end = len(self.steps)

    def note_result(self, visit: Visit, result: object) -> None:
        self.done.append(visit)
        visit.makes = self.numbers(result)
        visit.end = len(self.steps)

    def numbers(self, value: object) -> list[int]:
        """The numbers of the tensors in a value."""
        return [mark.number for mark in self.marks.read((value,))]

"""Module visits: which module is running, told by its path."""

import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from tformer_lite.tracing.places import place


class Call:
    """How a module was called: from which visit, from which place, with
    what and when (after how many steps); and what it gave, None if that is
    not known. Tensors are told by their numbers."""

    def __init__(self, parent: "Visit", place: tuple, reads, start: int):
        self.parent, self.place, self.reads = parent, place, reads
        self.start = self.end = start
        self.makes: list | None = None
        self.inner: list[Visit] = []
        self.direct = False


class Visit(NamedTuple):
    """One run of a module: its path, and how many runs went before."""

    path: str
    nth: int
    kind: str
    call: Call | None = None


class Visits:
    """Follow the modules of a model while they run, in this thread.

    `now` is the visit under way; outside every module its path is "". Use
    it in a `with` statement: nn.Module is as it was afterwards. To note how
    each was called, give what `mark`s a value with the numbers of its
    tensors, and the list of `steps` so far; `base` is the code that started
    the recording.
    """

    def __init__(
        self,
        model: Callable,
        mark: Callable | None = None,
        steps: list | None = None,
    ):
        modules = getattr(model, "named_modules", dict)
        self.paths = {id(part): path for path, part in dict(modules()).items()}
        self.counts: Counter[str] = Counter()
        self.thread = threading.get_ident()
        self.mark, self.steps, self.base = mark, steps, None
        self.now = Visit("", 0, "", mark and Call(None, (), {}, 0))

    def __enter__(self) -> "Visits":
        visits, self.call = self, nn.Module.__call__

        def enter(module: nn.Module, *args, **kwargs):
            return visits.visit(module, args, kwargs)

        nn.Module.__call__ = enter
        return self

    def __exit__(self, *error) -> None:
        nn.Module.__call__ = self.call

    def visit(self, module: nn.Module, args: tuple, kwargs: dict):
        """Run a module, and be there meanwhile."""
        if threading.get_ident() != self.thread:
            return self.call(module, *args, **kwargs)
        kind, before = type(module).__name__, self.now
        path = self.paths.get(id(module), f"({kind})")
        call = self.mark and noted(self, sys._getframe(2), args, kwargs)
        self.now = Visit(path, self.counts[path], kind, call)
        self.counts[path] += 1
        try:
            result = self.call(module, *args, **kwargs)
            if call:
                before.call.inner.append(self.now)
                call.makes, call.end = self.mark(result), len(self.steps)
            return result
        finally:
            self.now = before


def noted(visits: Visits, frame, args: tuple, kwargs: dict) -> Call:
    """Note how a module is called from a frame."""
    code, at, callers = place(frame, visits.base)
    reads = {i: visits.mark(value) for i, value in enumerate(args)}
    for name, value in kwargs.items():
        reads[name] = visits.mark(value)
    where = (code, at), *callers
    call = Call(visits.now, where, reads, len(visits.steps))
    call.direct = code is frame.f_code
    return call

"""Module visits: which module is running, told by its path."""

import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from tformer_lite.tracing.record.places import place


class Call:
    """How a module was called: from which visit, from which place, with
    what and when (after how many steps); and what it gave, None if that is
    not known. Tensors are told by their numbers."""

    def __init__(self, parent: "Visit", place: tuple, reads, start: int):
        self.parent, self.place, self.reads = parent, place, reads
        self.start = self.end = start
        self.makes: list | None = None
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
    it in a `with` statement: nn.Module is as it was afterwards. (What its
    __call__ calls is swapped, and not __call__ itself: Python would have to
    tell every class of modules.)

    To note how each was called, give `mark`, which gives the numbers of the
    tensors in some values, and the list of `steps` so far; `base` is the
    code that started the recording.
    """

    def __init__(
        self,
        model: Callable,
        mark: Callable | None = None,
        steps: list | None = None,
    ):
        modules = getattr(model, "named_modules", dict)
        self.paths = {id(part): path for path, part in modules()}
        self.counts: dict[str, int] = defaultdict(int)
        self.done: list[Visit] = []
        self.thread = threading.get_ident()
        self.mark, self.steps, self.base = mark, steps, None
        self.now = Visit("", 0, "", mark and Call(None, (), {}, 0))

    def __enter__(self) -> "Visits":
        visits, self.call = self, nn.Module._call_impl

        def enter(module: nn.Module, *args, **kwargs):
            return visits.visit(module, args, kwargs)

        nn.Module._call_impl = enter
        return self

    def __exit__(self, *error) -> None:
        nn.Module._call_impl = self.call

    def visit(self, module: nn.Module, args: tuple, kwargs: dict):
        """Run a module, and be there meanwhile."""
        if threading.get_ident() != self.thread:
            return self.call(module, *args, **kwargs)
        before, kind = self.now, type(module).__name__
        path = self.paths.get(id(module))
        path = f"({kind})" if path is None else path
        nth = self.counts[path]
        self.counts[path] = nth + 1
        call = self.mark and noted(self, sys._getframe(3), args, kwargs)
        self.now = Visit(path, nth, kind, call)
        try:
            result = self.call(module, *args, **kwargs)
            if call:
                self.done.append(self.now)
                call.makes, call.end = self.mark((result,)), len(self.steps)
            return result
        finally:
            self.now = before


def noted(visits: Visits, frame, args: tuple, kwargs: dict) -> Call:
    """Note how a module is called from a frame."""
    code, at, callers = place(frame, visits.base)
    reads = dict(enumerate(args), **kwargs)
    for name in reads:
        reads[name] = visits.mark((reads[name],))
    where = (code, at), *callers
    call = Call(visits.now, where, reads, len(visits.steps))
    call.direct = code is frame.f_code
    return call

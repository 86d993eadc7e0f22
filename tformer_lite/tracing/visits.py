"""Module visits: which module is running, told by its path."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from torch import nn


class Visit(NamedTuple):
    """One run of a module: its path, and how many runs went before."""

    path: str
    nth: int
    kind: str


class Visits:
    """Follow the modules of a model while they run, in this thread.

    `now` is the visit under way; outside every module its path is "". Use
    it in a `with` statement: nn.Module is as it was afterwards.
    """

    def __init__(self, model: Callable):
        modules = getattr(model, "named_modules", dict)
        self.paths = {id(part): path for path, part in dict(modules()).items()}
        self.counts: Counter[str] = Counter()
        self.thread = threading.get_ident()
        self.now = Visit("", 0, "")

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
        self.now = Visit(path, self.counts[path], kind)
        self.counts[path] += 1
        try:
            return self.call(module, *args, **kwargs)
        finally:
            self.now = before

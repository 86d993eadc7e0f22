"""Profile: the time and the memory of each module."""

from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple, TypeVar
from weakref import finalize

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from shapewatch.tracing.questions.compare import paths_around
from shapewatch.tracing.questions.costs import sizes_of
from shapewatch.tracing.record.models import root_module
from shapewatch.tracing.record.shared import (
    eagerly,
    following,
    output_hidden,
)
from shapewatch.tracing.record.state import State, gc_paused
from shapewatch.tracing.record.tensors import storage, tensors
from shapewatch.tracing.record.visits import paths_of
from shapewatch.tracing.tables import Sheet

Answer = TypeVar("Answer")
RUNS = 5
PROFILE_NOTE = (
    f"ms: medians of {RUNS} runs, self without the modules within; made: the "
    "bytes of all new tensors; peak: the most of them at once."
)


class ModuleSpent(NamedTuple):
    """What a module takes in one run: how often it ran, milliseconds, the
    bytes that were made in it, and the most of these at once."""

    module: str
    kind: str
    runs: int
    self_ms: float
    total_ms: float
    made: int
    peak: int


def profile(call: partial) -> Sheet[ModuleSpent]:
    """Measure what each module takes, by further runs."""
    clocks = time_runs(call, ModuleClock, RUNS)
    (memory,) = time_runs(call, AllocatedBytes, 1)
    rows = []
    for path, kind, *_ in sizes_of(call):
        own = median(1000 * clock.own[path] for clock in clocks)
        total = median(1000 * clock.within(path) for clock in clocks)
        sizes = memory.made[path], memory.peak[path]
        runs = clocks[0].runs[path]
        rows.append(ModuleSpent(path, kind, runs, own, total, *sizes))
    return Sheet(rows, [PROFILE_NOTE])


def time_runs(
    call: partial, measure: Callable[[partial], Answer], many: int
) -> list[Answer]:
    """Run something several times, each from the same start; a first run,
    which makes room in memory, does not count."""
    with output_hidden(), eagerly(), gc_paused(), State(call) as start:
        found = []
        for _ in range(many + 1):
            found.append(measure(call))
            start.put_back()
    return found[1:]


def time_now() -> float:
    """Tell the time in seconds, when a GPU has done what it was given."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return perf_counter()


class ModuleClock:
    """Run a model and add up how long each module takes by itself: a few
    microseconds are added for each module that runs, and nothing for a
    call."""

    def __init__(self, call: partial):
        self.paths = paths_of(root_module(call))
        self.own: dict[str, float] = defaultdict(float)
        self.runs: Counter[str] = Counter()
        self.inner = 0.0  # what the modules within have taken
        with following(self):
            start = time_now()
            call()
            self.own[""] += time_now() - start - self.inner
        self.runs[""] = self.runs[""] or 1

    def run(
        self, call: Callable, module: nn.Module, *args: Any, **kwargs: Any
    ) -> object:
        """Call a module, and look at the time before and after."""
        before, self.inner, start = self.inner, 0.0, time_now()
        try:
            return call(module, *args, **kwargs)
        finally:
            spent, path = time_now() - start, self.paths.get(id(module), "")
            self.own[path] += spent - self.inner
            self.runs[path] += 1
            self.inner = before + spent

    def within(self, path: str) -> float:
        """How long a module takes, with all that are in it."""
        return sum(x for p, x in self.own.items() if path in paths_around(p))


class AllocatedBytes(TorchDispatchMode):
    """Run a model and add up the bytes that are made in each module, and the
    most of them that are there at once while it runs."""

    supports_higher_order_operators = True

    def __init__(self, call: partial):
        super().__init__()
        self.paths, self.now = paths_of(root_module(call)), ""
        self.made: Counter[str] = Counter()
        self.peak: Counter[str] = Counter()
        self.there: dict[int, int] = {}
        with following(self), self:
            call()

    def run(
        self, call: Callable, module: nn.Module, *args: Any, **kwargs: Any
    ) -> object:
        """Call a module, and be there meanwhile."""
        before, self.now = self.now, self.paths.get(id(module), self.now)
        try:
            return call(module, *args, **kwargs)
        finally:
            self.now = before

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **kwargs or {})
        known = set(map(storage, tensors((args, kwargs or {}))))
        for tensor in tensors(result):
            if storage(tensor) not in known | self.there.keys():
                self.add(tensor)
        return result

    def add(self, tensor: Tensor) -> None:
        """Count the memory of a new tensor, as long as it is there; of what
        has none to see, nothing."""
        try:
            memory = tensor.untyped_storage()
        except (RuntimeError, NotImplementedError):
            return
        size, key = memory.nbytes(), storage(tensor)
        if size:
            self.there[key] = size
            finalize(memory, self.there.pop, key, None)
        whole = sum(self.there.values())
        for path in paths_around(self.now):
            self.made[path] += size
            self.peak[path] = max(self.peak[path], whole)

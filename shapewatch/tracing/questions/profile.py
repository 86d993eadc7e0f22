"""Profile: the time and the memory of each module."""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cached_property, partial
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple, TypeVar
from weakref import finalize

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from shapewatch.tracing.calls import Calls
from shapewatch.tracing.questions.compare import paths_around
from shapewatch.tracing.questions.costs import sizes_of
from shapewatch.tracing.record.models import root_module
from shapewatch.tracing.record.recorder import Call, Watch, call_of
from shapewatch.tracing.record.shared import eagerly, following, output_hidden
from shapewatch.tracing.record.state import State, gc_paused
from shapewatch.tracing.record.tensors import storage, tensors
from shapewatch.tracing.record.visits import paths_of
from shapewatch.tracing.tables import Sheet, ellipsize

T = TypeVar("T")
RUNS = 5
PROFILE_NOTE = (
    f"ms: medians of {RUNS} runs, self without the modules within; made: the "
    "bytes of all new tensors; peak: the most of them at once."
)
TIMED_NOTE = (
    f"ms: medians of {RUNS} runs in which each call is timed by itself; made: "
    "the bytes of new tensors."
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


class CallSpent(NamedTuple):
    """What a call takes: its module, how it is written, milliseconds, and
    the bytes that it makes anew: a view makes none."""

    module: str
    call: str
    ms: float
    made: int


class Profile(Sheet[ModuleSpent]):
    """What each module takes; `calls` has what each torch call takes."""

    def __init__(self, seen: Calls, call: partial):
        self.seen, self.call = seen, call
        clocks, (memory,) = (
            time_runs(call, ModuleClock, RUNS),
            time_runs(call, AllocatedBytes, 1),
        )
        rows = []
        for path, kind, *_ in sizes_of(call):
            ms = median(1000 * clock.own[path] for clock in clocks)
            total = median(1000 * clock.within(path) for clock in clocks)
            bytes_of = memory.made[path], memory.peak[path]
            runs = clocks[0].runs[path]
            rows.append(ModuleSpent(path, kind, runs, ms, total, *bytes_of))
        super().__init__(rows, [PROFILE_NOTE])

    @cached_property
    def calls(self) -> Sheet[CallSpent]:
        """What each torch call takes, by further runs.

        Raises ValueError where these make other calls than the trace.
        """
        timers = time_runs(self.call, Timer, RUNS)
        made = [step.call for step in self.seen.steps]
        if any(timer.calls != made for timer in timers):
            raise ValueError(
                "the model makes other calls each time that it runs: only its "
                "modules can be timed."
            )
        columns = zip(self.seen.table.rows, *(x.spent for x in timers))
        rows = [
            CallSpent(
                row.path,
                ellipsize(row.call),
                1000 * median(s),
                timers[0].made[i],
            )
            for i, (row, *s) in enumerate(columns)
        ]
        return Sheet(rows, [TIMED_NOTE])


def time_runs(
    call: partial, timed: Callable[[partial], T], many: int
) -> list[T]:
    """Run something several times, each from the same start; a first run,
    which makes room in memory, does not count."""
    with output_hidden(), gc_paused(), State(call) as start:
        found = []
        for _ in range(many + 1):
            found.append(timed(call))
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


class Timer(Watch):
    """Run a model and note how long each torch call takes that makes a
    tensor, and how many new bytes it makes."""

    def __init__(self, call: partial):
        super().__init__()
        self.calls, self.spent = list[Call](), list[float]()
        self.made = list[int]()
        with eagerly(), self:
            call()

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        start = time_now()
        result = function(*args, **kwargs or {})
        spent = time_now() - start
        if made := tensors(result):
            self.calls.append(call_of(function, sys._getframe(1)))
            self.spent.append(spent)
            old = set(map(storage, tensors((args, kwargs or {}))))
            new = {storage(x): x for x in made if storage(x) not in old}
            self.made.append(sum(map(bytes_of, new.values())))
        return result


def bytes_of(tensor: Tensor) -> int:
    """How many bytes a tensor's memory has; of what has none to see, 0."""
    try:
        return tensor.untyped_storage().nbytes()
    except (RuntimeError, NotImplementedError):
        return 0


class AllocatedBytes(TorchDispatchMode):
    """Run a model and add up the bytes that are made in each module, and the
    most of them that are there at once while it runs."""

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
        """Count the memory of a new tensor, as long as it is there."""
        size, key = bytes_of(tensor), storage(tensor)
        if size:
            self.there[key] = size
            finalize(tensor.untyped_storage(), self.there.pop, key, None)
        whole = sum(self.there.values())
        for path in paths_around(self.now):
            self.made[path] += size
            self.peak[path] = max(self.peak[path], whole)

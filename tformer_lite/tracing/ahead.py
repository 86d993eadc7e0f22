"""Running ahead: the names of the axes, before the run that is printed."""

from collections.abc import Callable, Iterator
from functools import partial

from torch import nn

from tformer_lite.tracing.axes.probes import aside
from tformer_lite.tracing.axes.sizes import Given
from tformer_lite.tracing.listing.events import Known
from tformer_lite.tracing.record.recorder import Step
from tformer_lite.tracing.record.run import Axes
from tformer_lite.tracing.traced import Trace
from tformer_lite.tracing.tracer import trace

UNKNOWN = (), ()


class Ahead:
    """Trace a model, unseen, whenever it is about to run; `busy` meanwhile.

    Without `dims` no axis can have a name, and it does not run.
    """

    def __init__(
        self,
        model: nn.Module,
        dims: Given | None,
        axes: list[str] | None,
        build: Callable | None,
    ):
        self.model, self.named, self.busy = model, dims is not None, False
        self.trace = partial(trace, model, dims=dims, axes=axes)
        if build is not None:
            self.trace = lambda *args, **kw: trace(build=build, dims=dims)
        self.calls = self.modules = iter(())

    def start(self, model: nn.Module, args: tuple, kwargs: dict) -> None:
        """Run ahead of a call of the model."""
        if self.named and not self.busy:
            self.busy = True
            try:
                with aside(self.model):
                    self.learn(reached(self.trace, args, kwargs))
            finally:
                self.busy = False

    def learn(self, seen: Trace) -> None:
        """Take over what the calls and the modules have, in order."""
        calls = [row.call for row in seen.table.rows]
        self.calls = zip(seen.steps, calls, seen.axes)
        self.modules = modules(seen)

    def call(self, step: Step) -> tuple[str, tuple[Axes, Axes]]:
        """Give a step's call in words and its axes, "" and none if they are
        not known."""
        known, call, axes = next(self.calls, (None, "", UNKNOWN))
        if known and told(known) == told(step):
            return call, axes
        self.calls = iter(())
        return "", UNKNOWN

    def module(self, path: str) -> tuple[Axes, Axes]:
        """Give the axes that a module reads and makes, if they are known."""
        known, reads, makes = next(self.modules, (None, *UNKNOWN))
        if known == path:
            return reads, makes
        self.modules = iter(())
        return UNKNOWN


def reached(run: Callable[..., Trace], args: tuple, kwargs: dict) -> Trace:
    """Trace a model as far as it gets."""
    try:
        return run(*args, **kwargs)
    except Exception as error:
        if not hasattr(error, "trace"):
            raise
        return error.trace


def told(step: Step) -> tuple[str, Callable]:
    """Tell a step from others."""
    return step.visit.path, step.function


def modules(seen: Trace) -> Iterator[tuple[str, Axes, Axes]]:
    """Name what each module reads and makes, as they finish."""
    known = Known(seen)
    for path, _, _, call in seen.runs[0].visits:
        numbers = [n for given in call.reads.values() for n in given]
        reads = known.shapes(numbers, call.start)
        yield path, reads or (), known.shapes(call.makes, call.end) or ()

"""Probing: the same run again at other sizes, to see how each axis moves."""

import inspect
import random
import re
import sys
from collections.abc import Callable, Iterable
from itertools import chain

from shapewatch.tracing.axes.sizes import (
    Dims,
    Sizes,
    accepted_sizes,
    capped_sizes,
    close_sizes,
    joint_sizes,
    larger_sizes,
    plain_sizes,
    run_sizes,
    sizes_of_one,
)
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.inputs import (
    Names,
    names_of_axes,
    resized_call,
)
from shapewatch.tracing.record.models import ModelCall, built_call
from shapewatch.tracing.record.recorder import RecordedRun, ShapeRun
from shapewatch.tracing.record.state import State, seed_all

OtherRun = ShapeRun | RecordedRun
DRAWS = re.compile("rand|normal|uniform|bernoulli|multinomial|exponential")
SEEDS = 1, 2, 3


class ProbeStart:
    """What a call holds, or what builds it, when this was made: where each
    probe starts."""

    def __init__(self, call: ModelCall, build: Callable | None):
        self.call, self.build = call, build
        self.things: tuple = (build, call.options) if build else call
        self.state, self.numbers = State(*self.things), numbers_ahead()


def numbers_ahead() -> str:
    """Tell which random numbers are next: Python's and NumPy's."""
    numpy = sys.modules.get("numpy")
    return repr((random.getstate(), numpy and numpy.random.get_state()))


def draws(run: RecordedRun, start: ProbeStart) -> bool:
    """Whether a run drew numbers, other than by dropout, which keeps sizes."""
    drawn = any(DRAWS.search(step.name) for step in run.steps)
    return drawn or start.numbers != numbers_ahead()


def probed_calls(
    run: RecordedRun,
    start: ProbeStart | None,
    axes: Names | None,
    dims: Dims,
) -> Calls:
    """Run again at other sizes, where names can vary; give the calls of the
    traced run, and notes on what is not proved."""
    others, notes = list[OtherRun](), list[str]()
    varied = names_to_vary(start, axes or [], plain_sizes(dims))
    if start and varied:
        reruns = Reruns(run, start, axes or [])
        seeds = SEEDS if draws(run, start) else ()
        prober = Prober(reruns, dims, varied)
        prober.probe()
        drawn = [reruns.at(run.sizes, seed) for seed in seeds]
        others = prober.others + [x for x in drawn if not x.error]
        notes = prober.notes
    return Calls(run, others, notes + run.notes, dims)


def names_to_vary(
    start: ProbeStart | None, axes: Names, sizes: Sizes
) -> list[str]:
    """List the dimensions that probes can vary on their own."""
    if start and start.build:
        return list(factory_sizes(start.build, sizes))
    named = names_of_axes(axes)
    return [name for name in sizes if name in named]


def factory_sizes(build: Callable, sizes: Sizes) -> Sizes:
    """Give the dimensions that a factory takes."""
    parameters = inspect.signature(build).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return sizes
    return {name: n for name, n in sizes.items() if name in parameters}


class Reruns:
    """A traced run, and how to run again from where that started: with
    inputs that are resized, or that a factory makes."""

    def __init__(self, run: RecordedRun, start: ProbeStart, axes: Names):
        self.run, self.start, self.axes = run, start, axes

    def call_at(self, sizes: Sizes) -> ModelCall:
        """Give the call at other sizes."""
        call, build = self.start.call, self.start.build
        if build is None:
            return resized_call(call, self.axes, sizes)
        return built_call(build, factory_sizes(build, sizes), call.options)

    def at(self, sizes: Sizes, seed: int | None = None) -> OtherRun:
        """Run at other sizes, or with other random numbers; what went wrong
        is in the run's `error`. Where it goes another way than the traced
        run, its calls are found by their lines."""
        quick: list[OtherRun] = [] if self.run.error else [ShapeRun(sizes)]
        for again in [*quick, RecordedRun(sizes)]:
            try:
                self.start.state.put_back(counted=True)
                if seed is not None:
                    seed_all(seed)
                again.record(self.call_at(sizes))
            except Exception as error:  # it cannot be built so, or resized
                again.error = error
            if again.error:  # what it holds is not needed any more
                again.error.__traceback__ = None
            if again.error or again.calls == self.run.calls:
                break
        return again


class Prober:
    """Runs again at sizes in which the names `varied` move.

    `others` are the runs that went, `notes` the names that do not move.
    """

    def __init__(self, reruns: Reruns, dims: Dims, varied: list[str]):
        self.run, self.at = reruns.run, reruns.at
        self.dims, self.varied = dims, varied
        self.others, self.notes = list[OtherRun](), list[str]()

    def probe(self) -> None:
        """Run at other sizes: three, and more where a model refuses one, or
        goes another way, or where an axis is still unknown."""
        if refused := self.together():
            self.one_by_one(refused)
        if any(None in other.shapes_of(self.run) for other in self.others):
            self.keep(larger_sizes(self.dims, self.varied))
        axes = Calls(self.run, self.others, [], self.dims).axes
        shapes = chain(*chain(*axes))
        if any(axis.proof == "unknown" for axis in chain(*shapes)):
            for name in self.varied:
                sizes = close_sizes(self.dims, name)
                self.keep(sizes_of_one(self.dims, name, sizes))

    def keep(self, choices: Iterable[Sizes]) -> None:
        """Run at some sizes, and keep the runs that go."""
        self.others += [x for x in map(self.at, choices) if not x.error]

    def together(self) -> list[OtherRun]:
        """Let all names move at once; give the runs that a model refuses. It
        may have a longest sentence: then try again with the larger sizes
        cut."""
        runs = list(map(self.at, joint_sizes(self.dims, self.varied)))
        for i, run in enumerate(runs if not self.run.error else ()):
            if run.error:
                fewer = capped_sizes(self.dims, self.varied, run.sizes)
                tried = map(self.at, fewer)
                runs[i] = next((x for x in tried if not x.error), run)
        refused = [x for x in runs if x.error and not self.run.error]
        self.others += [x for x in runs if x not in refused]
        return refused

    def one_by_one(self, refused: list[OtherRun]) -> None:
        """Find sizes that a model accepts, of each name alone; then let the
        names move together again, but those that cannot move at all."""
        accepted = {
            name: accepted_alone(
                self, name, [run.sizes[name] for run in refused]
            )
            for name in self.varied
        }
        self.varied = [name for name in self.varied if accepted[name]]
        for i in range(len(refused)):
            sizes = {n: accepted[n][i % len(accepted[n])] for n in self.varied}
            self.keep([run_sizes({**self.dims, **sizes})])


def accepted_alone(prober: Prober, name: str, wanted: list[int]) -> list[int]:
    """Find as many sizes of a name that a model accepts as are wanted;
    note in which words it refuses all."""
    choices = [*wanted, *accepted_sizes(prober.dims, name)]
    accepted, tried = list[OtherRun](), list[OtherRun]()
    for sizes in sizes_of_one(prober.dims, name, choices):
        if len(accepted) < len(wanted):
            tried.append(prober.at(sizes))
            accepted = [run for run in tried if not run.error]
    prober.others += accepted
    if not accepted:
        run, first = tried[0], str(tried[0].error).split("\n")[0]
        prober.notes.append(
            f"{name} is known only by its size: the model fails with all "
            f"others that were tried, such as {name}={run.sizes[name]} "
            f"({type(run.error).__name__}: "
            f"{re.sub('0x[0-9a-f]+', '0x…', first)})"
        )
    return [run.sizes[name] for run in accepted]

"""Probing: the same run again at other sizes, to see how each axis moves."""

import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from itertools import chain

from shapewatch.tracing.axes.inputs import Names, resize_inputs
from shapewatch.tracing.axes.sizes import (
    Dims,
    Sizes,
    accepted_sizes,
    capped_sizes,
    close_sizes,
    joint_sizes,
    larger_sizes,
    run_sizes,
    sizes_of_one,
)
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.record.meta import MetaWeights, ProbeStart
from shapewatch.tracing.record.recorder import RecordedRun, ShapeRun

OtherRun = ShapeRun | RecordedRun
RunAt = Callable[[Sizes], OtherRun]


def run_at_other_sizes(
    run: RecordedRun, again: RunAt, given: Dims, varied: list[str]
) -> tuple[list[OtherRun], list[str]]:
    """Run at other sizes: three, and more where a model refuses one, or goes
    another way, or where an axis is still unknown. Gives the runs, and notes
    on the names that a model does not let move."""
    prober = Prober(run, again, given, varied)
    refused = prober.together()
    if refused:
        prober.one_by_one(refused)
    if any(None in other.shapes_of(run) for other in prober.others):
        prober.keep(larger_sizes(given, prober.varied))
    axes = Calls(run, prober.others, [], given).axes
    shapes = chain(*chain(*axes))
    if any(axis.proof == "unknown" for axis in chain(*shapes)):
        for name in prober.varied:
            sizes = close_sizes(given, name)
            prober.keep(sizes_of_one(given, name, sizes))
    return prober.others, prober.notes


class Prober:
    """The traced run, and others at sizes in which the names `varied` move.

    `again` runs at some sizes.
    """

    def __init__(
        self,
        run: RecordedRun,
        again: RunAt,
        given: Dims,
        varied: list[str],
    ):
        self.run, self.again = run, again
        self.given, self.varied = given, varied
        self.others, self.notes = list[OtherRun](), list[str]()

    def keep(self, choices: Iterable[Sizes]) -> None:
        """Run at some sizes, and keep the runs that go."""
        self.others += [x for x in map(self.again, choices) if not x.error]

    def together(self) -> list[OtherRun]:
        """Let all names move at once; give the runs that a model refuses. It
        may have a longest sentence: then try again with the larger sizes
        cut."""
        runs = list(map(self.again, joint_sizes(self.given, self.varied)))
        for i, run in enumerate(runs if not self.run.error else ()):
            if run.error:
                fewer = capped_sizes(self.given, self.varied, run.sizes)
                tried = map(self.again, fewer)
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
            self.keep([run_sizes({**self.given, **sizes})])


def accepted_alone(prober: Prober, name: str, wanted: list[int]) -> list[int]:
    """Find as many sizes of a name that a model accepts as are wanted;
    note in which words it refuses all."""
    choices = [*wanted, *accepted_sizes(prober.given, name)]
    found, tried = list[OtherRun](), list[OtherRun]()
    for sizes in sizes_of_one(prober.given, name, choices):
        if len(found) < len(wanted):
            tried.append(prober.again(sizes))
            found = [run for run in tried if not run.error]
    prober.others += found
    if not found:
        run, first = tried[0], str(tried[0].error).split("\n")[0]
        prober.notes.append(
            f"{name} is known by its size alone: the model runs at no "
            f"other that was tried, such as {name}={run.sizes[name]} "
            f"({type(run.error).__name__}: "
            f"{re.sub('0x[0-9a-f]+', '0x…', first)})"
        )
    return [run.sizes[name] for run in found]


def probe(
    run: RecordedRun, start: ProbeStart, parts: Callable, sizes: Sizes
) -> OtherRun:
    """Run again at other sizes, from where the traced run started; what went
    wrong is in the run's `error`. A large model computes nothing, as long as
    it goes the same way then. Where a run goes another way than the traced
    one, its calls are found by their lines."""
    quick: list[OtherRun] = [] if run.error else [ShapeRun(sizes)]
    for again in [*quick, RecordedRun(sizes)]:
        computes = again not in quick or not start.is_large
        try:
            start.put_back(computes)
            with nullcontext() if computes else MetaWeights():
                again.record(*parts(sizes))
        except Exception as error:  # it cannot be built so, or resized
            again.error = error
        if again.error:  # what it holds is not needed any more
            again.error.__traceback__ = None
        if computes if again.error else again.calls == run.calls:
            break
    return again


def resized_parts(
    model: Callable,
    inputs: tuple,
    options: dict,
    axes: Names,
    build: Callable | None,
    sizes: Sizes,
) -> tuple[Callable, tuple, dict]:
    """Give a model, its inputs and options at other sizes: of these alone,
    where nobody builds the model."""
    if build is None:
        return model, *resize_inputs(model, inputs, options, axes, sizes)
    return *parts_built(build, sizes), options


def parts_built(build: Callable, sizes: Sizes) -> tuple[Callable, tuple]:
    """Let a factory make a model and inputs; ValueError where it takes a
    dimension that has no size, TypeError where it gives something else."""
    asked, given = inspect.signature(build).parameters, dims_for(build, sizes)
    lacking = [
        name
        for name, one in asked.items()
        if one.default is one.empty and name not in given
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if lacking:
        raise ValueError(
            f"build takes {', '.join(lacking)}, and nothing says how long: "
            f'write dims={{"{lacking[0]}": 8, ...}}'
        )
    made = build(**given)
    pair = made if isinstance(made, tuple | list) else ()
    if len(pair) != 2 or not isinstance(pair[1], tuple | list):
        kinds = ", ".join(type(x).__name__ for x in pair or [made])
        raise TypeError(
            f"build gives {kinds}: let it give a model and a tuple of its "
            "inputs, `return model, (x,)`."
        )
    return pair[0], tuple(pair[1])


def dims_for(build: Callable, dims: Sizes) -> Sizes:
    """Give the dimensions that a factory takes."""
    parameters = inspect.signature(build).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dims
    return {name: n for name, n in dims.items() if name in parameters}

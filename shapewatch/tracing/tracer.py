"""The tracer: run a model, record it, run it again, and answer questions."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from shapewatch.tracing.axes.inputs import (
    Names,
    measured_dims,
    names_of_axes,
)
from shapewatch.tracing.axes.sizes import Dims, plain_sizes, run_sizes
from shapewatch.tracing.calls import Calls, keeper
from shapewatch.tracing.listing.listing import AnnotatedSource, annotate
from shapewatch.tracing.probing import (
    OtherRun,
    dims_for,
    parts_built,
    probe,
    resized_parts,
    run_at_other_sizes,
)
from shapewatch.tracing.questions import costs
from shapewatch.tracing.questions.attention import Attention, find_attention
from shapewatch.tracing.questions.finite import (
    FirstNan,
    explanation,
    first_nan,
)
from shapewatch.tracing.questions.saved import (
    File,
    SavedTrace,
    TracedCalls,
    saved_data,
    to_json,
)
from shapewatch.tracing.questions.scrambles import Scramble, scrambles
from shapewatch.tracing.record.meta import ProbeStart
from shapewatch.tracing.record.models import detour_notes, traceable
from shapewatch.tracing.record.recorder import RecordedRun
from shapewatch.tracing.record.shared import THREADS_NOTE
from shapewatch.tracing.record.state import gc_paused
from shapewatch.tracing.tables import Sheet, Table
from shapewatch.tracing.tree.tree import Tree


class RepeatableCalls(TracedCalls):
    """The torch calls of a run, and what was called: to be run again.

    Whatever is asked, the model, its inputs and the random numbers are as
    before afterwards.
    """

    def __init__(self, calls: Calls, model: Any, inputs: tuple, options: dict):
        super().__init__(calls)
        self.model, self.inputs, self._options = model, inputs, options
        self._call = partial(model, *inputs, **options)

    def parameters(self) -> Sheet:
        """Count the parameters of each module."""
        return costs.parameters(self._call)

    def flops(self) -> Sheet:
        """Count the multiply-adds of each module, by another run."""
        return costs.flops(self.model, *self.inputs, **self._options)

    def first_nan(self) -> FirstNan:
        """Find the first call that makes NaN or infinity of numbers that
        have none, by another run: where it stands, and what it reads. It is
        false where there is none.

        NaN that comes in with a parameter or an input is found too. -inf
        does not count as long as it masks: it does where NaN comes of it, or
        where it reaches the result.

        >>> trace(torch.log, torch.tensor([1.0, -1.0])).first_nan()
        The first NaN is made outside every module, ...
          log ...
        It makes 1 NaN in 2 numbers. It reads:
          tensor 1: from -1 to 1...
        """
        return first_nan(self._calls, self._call)


FEW_LINES = 40  # lines of calls


class PrintedCalls(TracedCalls):
    """The calls of a run of `model`, and how they are printed."""

    model: Any

    @gc_paused()
    def tree(self, depth: int | None = None) -> Tree:
        """Show the modules in the order in which they first ran, with named
        shapes and parameters, and equal neighbours folded.

        `depth` says how many levels; without it, as many as fit a screen.
        Raises ValueError for a depth below 0.
        """
        return Tree(self._calls, self.model, depth)

    @property
    def _printed(self) -> Table | Tree:
        """What is printed: the calls, if they fit in 40 lines, or if there
        are no modules in what ran; else the tree."""
        table = self._calls.table
        many = max(len(table.rows), len(table._lines())) > FEW_LINES
        return tree if many and (tree := self.tree())._shown else table

    def _lines(self) -> list[str]:
        return self._printed._lines()

    def _repr_html_(self) -> str:
        return self._printed._repr_html_()


class Trace(RepeatableCalls, PrintedCalls):
    """The torch calls of a run, with named shapes.

    `steps` are the calls in order, `axes` the named axes of what each reads
    and makes, `sizes` those of the dimensions in this run and in the probes.
    `result` is what `model` gave for `inputs`, and `notes` say what could not
    be found out. Print it, or show it in a notebook: it lists the calls if
    they fit in 40 lines, else the modules that made them. `calls` and `tree`
    give the one or the other, `at` a part.

    What comes back from a pickle, or a copy, is a `SavedTrace`, as from
    `save` and `load_trace`.
    """

    def __reduce__(self) -> tuple:
        return SavedTrace, (saved_data(self._calls, self._printed),)

    @gc_paused()
    def source(
        self, thing: Any, path: str | None = None, nth: int = 0
    ) -> AnnotatedSource:
        """Show a function's source with the named shapes beside its lines.

        `path` is the module to look in, and `nth` which of its runs. Raises
        TypeError and ValueError for what cannot be shown.
        """
        return annotate(self._calls, thing, path, nth)

    def check_axes(self) -> list[Scramble]:
        """Find reshapes that keep every size and scramble the elements."""
        return scrambles(self._calls)

    @gc_paused()
    def attention(self) -> list[Attention]:
        """Give every attention that the data shows: `scores`, `masked` and
        `weights`, with their named shape. Needs what was kept: keep=True."""
        return find_attention(self._calls)

    @gc_paused()
    def to_json(self) -> str:
        """Write the trace as JSON; `questions.saved` has the schema."""
        return to_json(self._calls)

    @gc_paused()
    def save(self, file: File) -> None:
        """Write the trace, and the values that it kept, for `load_trace`."""
        torch.save(saved_data(self._calls, self._printed), file)


def trace(
    model: Callable | None = None,
    *inputs: Any,
    build: Callable | None = None,
    dims: Dims | None = None,
    axes: Names | None = None,
    keep: bool | str | list[str] = False,
    **options: Any,
) -> Trace:
    """Run a model and record every torch call, with named axes.

    `model` is any module, method or function; a method, or a function that
    uses a model, has that model's paths. `inputs` and `options` are what it
    is called with.

    A name is proved by running again at other sizes. With `axes`, which
    names the axes of each input tensor, the inputs are resized; what does
    not follow them is known by value (C~) or unknown (12?). With `build`, a
    function of dimensions that gives (model, inputs), all can vary. Without
    either, every name is by value.

    `axes` is "B T" for one tensor, or a list with one string for each, in
    order: ["B S", "B T"]. Or it goes by the parameters' names, for keyword
    and nested inputs too: {"ids": "B T", "past": {"key": "B T D"}}, or
    "past.key": "B T D". Sizes follow from the inputs. What is left out, or
    called _, has no name and keeps its size.

    `dims` gives names and sizes of other dimensions; one may be written with
    others, or say how a named one is made: `{"H": 3, "C": "H*D"}`.

    `keep` keeps what the calls made: True for all, or patterns of
    "path:variable". An error of the model's own is raised with a note, and
    with the trace up to there as its `trace`.

    The trace's `notes` say which probes the model refused, and what an
    untraced run does in another way: PyTorch then fuses some layers of its
    own, and runs compiled code.

    Raises ValueError for dims that are unknown or circular, and for a name
    of two sizes; TypeError for an option of the wrong kind, a class, a
    ScriptModule, which PyTorch runs out of sight, and an exported program.

    >>> x, y = torch.ones(2, 3), torch.ones(3, 4)
    >>> trace(torch.matmul, x, y, axes=["T D", "D S"])
    (outside every module)
      matmul                              (T, D), (D, S) -> (T, S)
    """
    check_options(dims, axes, build, keep)
    model, inputs, given = what_runs(
        model, inputs, options, build, dict(dims or {}), axes
    )
    ran = model, inputs, options
    run = RecordedRun(run_sizes(given))
    varied = names_to_vary(given, build, axes)
    others, notes = list[OtherRun](), list[str]()
    things = (build or model, inputs, options) if varied else ()
    start = ProbeStart(model, *things)
    run.record(model, inputs, options, keeper(keep))
    if varied:
        parts = partial(resized_parts, *ran, axes or [], build)
        again = partial(probe, run, start, parts)
        with start.aside():
            others, notes = run_at_other_sizes(run, again, given, varied)
    if not run.error:
        notes += [] if varied else without_axis(run, given)
        notes += detour_notes(model, inputs, options)
    seen = Trace(Calls(run, others, notes + run.notes, given), *ran)
    if run.error:
        raise explained_error(run.error, seen)
    return seen


def check_options(
    dims: object, axes: object, build: object, keep: object
) -> None:
    """Raise TypeError for an option of another kind than it has to be."""
    named = isinstance(dims, Mapping) and {*map(type, dims)} <= {str}
    several = isinstance(axes, str | list | tuple | Mapping)
    kept = keep if isinstance(keep, list | tuple) else [keep]
    patterns = all(isinstance(x, bool | str) for x in kept)
    for fits, name, value, write in (
        (dims is None or named, "dims", dims, 'sizes, {"B": 2, "T": 8}'),
        (axes is None or several, "axes", axes, 'names, ["B T"]'),
        (build is None or callable(build), "build", build, "a function"),
        (patterns, "keep", keep, 'True, or a pattern, "*:weights"'),
    ):
        if not fits:
            raise TypeError(f"{name}={value!r:.70} is no choice: give {write}")


def what_runs(
    model: Any,
    inputs: tuple,
    options: dict,
    build: Callable | None,
    dims: Dims,
    axes: Names | None,
) -> tuple[Callable, tuple, Dims]:
    """Give a model and its inputs, of the factory where there is one, and
    the dimensions with the sizes that the inputs have."""
    if build is not None:
        if axes is not None and inputs:
            dims = measured_dims(model, inputs, options, axes, dims)
        model, inputs = parts_built(build, run_sizes(dims))
    model = traceable(model)
    if axes is not None:
        dims = measured_dims(model, inputs, options, axes, dims)
    return model, inputs, dims


def explained_error(error: Exception, seen: Trace) -> Exception:
    """Give what stopped a run its trace, and a note on the call that failed,
    if one did."""
    if seen.steps and not seen.steps[-1].makes:
        error.add_note(explanation(seen._calls))
    elif THREADS_NOTE in seen.notes:
        error.add_note(THREADS_NOTE)
    vars(error)["trace"] = seen
    return error


def without_axis(run: RecordedRun, dims: Dims) -> list[str]:
    """Say which sizes no tensor has, and no other dimension is made of."""
    if not dims:
        return []
    sizes, texts = plain_sizes(dims), " ".join(map(str, dims.values()))
    marks = (x for step in run.steps for x in (*step.reads, *step.makes))
    there = {size for mark in marks for size in mark.shape}
    return [
        f"dims say {name}={size}, and no tensor of this run has an axis of "
        f"that size"
        for name, size in sizes.items()
        if size not in there and name not in re.findall(r"\w+", texts)
    ]


def names_to_vary(
    dims: Dims, build: Callable | None, axes: Names | None
) -> list[str]:
    """List the dimensions that probes can vary on their own."""
    plain = plain_sizes(dims)
    if build is not None:
        return list(dims_for(build, plain))
    letters = names_of_axes(axes or [])
    return [name for name in plain if name in letters]

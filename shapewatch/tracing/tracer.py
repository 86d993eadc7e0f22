"""The tracer: run a model, record it, and run it again at other sizes."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from shapewatch.tracing.axes.sizes import Dims, run_sizes
from shapewatch.tracing.inputs import Names, measured_dims
from shapewatch.tracing.probing import (
    ProbeStart,
    factory_sizes,
    probed_calls,
)
from shapewatch.tracing.questions.failed import explanation
from shapewatch.tracing.record.models import built_call, model_call
from shapewatch.tracing.record.recorder import RecordedRun
from shapewatch.tracing.record.state import aside
from shapewatch.tracing.traced import Trace


def trace(
    model: Callable | None = None,
    *inputs: Any,
    build: Callable | None = None,
    dims: Dims | None = None,
    axes: Names | None = None,
    keep: bool = False,
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
    and nested inputs too: {"ids": "B T", "past.key": "B T D"}. Sizes follow
    from the inputs. What is left out, or called _, has no name and keeps its
    size.

    `dims` gives names and sizes of other dimensions; one may be written with
    others: `{"H": 3, "D": 4, "C": "H*D"}`.

    `keep` keeps what the calls made. An error of the model's own is raised
    with a note, and with the trace up to there as its `trace`.

    The trace's `notes` say which probes the model refused, and what cannot
    be seen. Compiled code runs as it is written, line by line, and PyTorch's
    own layers call by call: an untraced run may fuse them, and its numbers
    differ in their last digits.

    Raises ValueError for dims that are unknown or circular, and for a name
    of two sizes; TypeError for an option of the wrong kind, a class, a
    ScriptModule, which PyTorch runs out of sight, and an exported program.

    >>> x, y = torch.ones(2, 3), torch.ones(3, 4)
    >>> trace(torch.matmul, x, y, axes=["T D", "D S"])
    (outside every module)
      matmul                              (T, D), (D, S) -> (T, S)
    """
    check_options(dims, axes, build, keep)
    if build is not None:
        named = factory_sizes(build, run_sizes(dims or {}))
        call = built_call(build, named, options)
    else:
        call = model_call(model, inputs, options)
    dims, sizes = measured_dims(call, axes, dims or {})
    start = ProbeStart(call, build) if build or axes is not None else None
    run = RecordedRun(sizes)
    run.record(call, keep)
    with aside(*start.things) if start else nullcontext():
        calls = probed_calls(run, start, axes, dims)
    traced = Trace(calls, call)
    if run.error:
        raise explained_error(run.error, traced)
    return traced


def check_options(
    dims: object, axes: object, build: object, keep: object
) -> None:
    """Raise TypeError for an option of another kind than it has to be."""
    named = isinstance(dims, Mapping) and {*map(type, dims)} <= {str}
    several = isinstance(axes, str | list | tuple | Mapping)
    for fits, name, value, write in (
        (dims is None or named, "dims", dims, 'sizes, {"B": 2, "T": 8}'),
        (axes is None or several, "axes", axes, 'names, ["B T"]'),
        (build is None or callable(build), "build", build, "a function"),
        (isinstance(keep, bool), "keep", keep, "True or False"),
    ):
        if not fits:
            raise TypeError(f"{name}={value!r:.70} is not valid: give {write}")


def explained_error(error: Exception, failed: Trace) -> Exception:
    """Give what stopped a run its trace, and a note on the call that failed,
    if one did."""
    if failed.steps and not failed.steps[-1].makes:
        error.add_note(explanation(failed._calls))
    vars(error)["trace"] = failed
    return error

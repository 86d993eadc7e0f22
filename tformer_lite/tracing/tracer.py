"""The tracer: run a model, record it, and run it again at other sizes."""

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from tformer_lite.tracing.axes.names import shape_text
from tformer_lite.tracing.axes.probes import (
    accepted,
    aside,
    grown,
    plan,
    resized,
)
from tformer_lite.tracing.axes.sizes import Given, Named, evaluated
from tformer_lite.tracing.questions.errors import explain
from tformer_lite.tracing.questions.lookup import bound, received
from tformer_lite.tracing.record.detours import detours, eagerly, refuse
from tformer_lite.tracing.record.recorder import Glance, Keep, Recorder
from tformer_lite.tracing.record.run import NONE, Run, shapes_at
from tformer_lite.tracing.traced import Trace


def trace(
    model: Callable | None = None,
    *inputs,
    build: Callable | None = None,
    dims: Given | None = None,
    axes: list[str] | None = None,
    keep: bool | str | list[str] = False,
    **options,
) -> Trace:
    """Run a model and record every torch call, with named axes.

    `model` is any module or function; `inputs` and `options` are what it is
    called with. `dims` gives the dimensions' names and sizes; one may be
    written with others: `{"H": 3, "D": 4, "C": "H*D"}`.

    A name is proved by running again at other sizes. With `build`, a
    function of dimensions that gives (model, inputs), all can vary. With
    `axes`, which names the axes of each input tensor ("B S"), the inputs
    are resized; other dimensions are then known by value (C~) or unknown
    (12?). Without either, every name is by value.

    `keep` keeps what the calls made: True for all, or patterns of
    "path:variable". An error of the model's own is raised with a note, and
    with the trace up to there as its `trace`.

    The trace's `notes` say which probes the model refused, and what an
    untraced run does in another way: PyTorch then fuses some layers of its
    own, and runs compiled code.

    Raises ValueError for dims that are unknown or circular, TypeError for a
    ScriptModule, which PyTorch runs out of sight, and for an exported
    program.

    >>> x, y = torch.ones(2, 3), torch.ones(3, 4)
    >>> sizes = {"T": 2, "D": 3, "S": 4}
    >>> trace(torch.matmul, x, y, dims=sizes, axes=["T D", "D S"])
    (outside every module)
      matmul                              (T, D), (D, S) -> (T, S)
    """
    given = dims or {}
    sizes = evaluated(given)
    if build is not None:
        model, inputs = build(**accepted(build, sizes))
    refuse(model)
    recorder = Recorder(model, keeper(keep))
    run = recorded(recorder, model, inputs, options, sizes)

    def made(sizes: Named) -> tuple:
        if build is not None:
            return build(**accepted(build, sizes))
        return model, resized(inputs, axes, sizes)

    if axes is not None and build is None:
        resized(inputs, axes, sizes)  # raises what is wrong with axes

    def again(sizes: Named) -> Run:
        return probe(model, made, options, sizes)

    varied = independent(given, build, axes)
    runs, notes = probed(run, again, given, varied)
    if run.error is None:
        notes += detours(model, inputs, options)
    ran = model, tuple(inputs), options
    return finished(Trace(runs, notes, given, ran=ran), run.error)


def probed(
    run: Run, again: Callable[[Named], Run], dims: Given, varied: list[str]
) -> tuple[list[Run], list[str]]:
    """Run again at small sizes; at larger ones, where small ones are refused
    or lack a call. Gives the runs of the better choice, and its notes."""
    tried = []
    for choose in (plan, grown):
        runs, notes = [run], []
        for other in map(again, choose(dims, varied) if varied else []):
            if other.error and not run.error:
                notes.append(refusal(other.sizes, varied, other.error))
            else:
                runs.append(other)
        lacking = sum(shapes_at(r, run).count(NONE) for r in runs[1:])
        tried.append((len(notes), lacking, runs, notes))
        if run.error or not (notes or lacking):
            break
    return min(tried, key=lambda found: found[:2])[2:]


def probe(model: Callable, made: Callable, options: dict, sizes: Named) -> Run:
    """Run again at other sizes; what went wrong is in the run's `error`."""
    try:
        with aside(model):
            model, inputs = made(sizes)
            return recorded(Glance(model), model, inputs, options, sizes)
    except Exception as error:  # it cannot be built so, or resized
        return Run(sizes, error)


def recorded(
    recorder: Recorder, model: Callable, inputs, options: dict, sizes: Named
) -> Run:
    """Run a model once; what went wrong is in the run's `error`."""
    run = Run(sizes)
    with eagerly(), recorder:
        try:
            run.result = model(*inputs, **options)
        except Exception as error:
            run.error = error
    run.fill(recorder)
    return run


def finished(seen: Trace, error: Exception | None) -> Trace:
    """Hand out a trace; or raise what stopped it, with a note."""
    if error is None:
        return seen
    if seen.runs[0].failed:
        shapes = list(map(shape_text, seen.axes[-1][0]))
        error.add_note(explain(seen.steps[-1], seen.steps, shapes))
    error.trace = seen
    raise error


def keeper(keep: bool | str | list[str]) -> Keep:
    """Say of each call whether to keep what it made."""
    if not keep:
        return None
    if keep is True:
        return lambda *place: True
    patterns = [keep] if isinstance(keep, str) else keep

    def wanted(*where) -> bool:
        names = {bound(*where), received(*where)}
        return any(fnmatchcase(n, one) for n in names for one in patterns)

    return wanted


def independent(
    dims: Given, build: Callable | None, axes: list[str] | None
) -> list[str]:
    """List the dimensions that probes can vary on their own."""
    plain = {name: n for name, n in dims.items() if isinstance(n, int)}
    if build is not None:
        return list(accepted(build, plain))
    letters = " ".join(axes or []).split()
    return [name for name in plain if name in letters]


def refusal(sizes: Named, varied: list[str], error: Exception) -> str:
    """Say which sizes a model refused, and in which words."""
    tried = ", ".join(f"{name}={sizes[name]}" for name in varied)
    first = re.sub("0x[0-9a-f]+", "0x…", str(error).split("\n")[0])
    return f"refused at {tried}: {type(error).__name__}: {first}"

"""The tracer: run a model, record it, and run it again at other sizes."""

from collections.abc import Callable

import torch
from torch import nn

from tformer_lite.tracing.probes import (
    Given,
    Named,
    accepted,
    aside,
    evaluated,
    plan,
    resized,
)
from tformer_lite.tracing.record import Recorder
from tformer_lite.tracing.runs import Run, Trace


def trace(
    model: Callable | None = None,
    *inputs,
    build: Callable | None = None,
    dims: Given | None = None,
    axes: list[str] | None = None,
    **options,
) -> Trace:
    """Run a model and record every torch call, with named axes.

    `model` is any module or function; `inputs` and `options` are what it is
    called with. `dims` gives the dimensions' names and sizes; one may be
    written with others: {"H": 3, "D": 4, "C": "H*D"}.

    A name is proved by running again at other sizes. With `build`, a
    function of dimensions that gives (model, inputs), all can vary. With
    `axes`, which names the axes of each input tensor ("B S"), the inputs
    are resized; other dimensions are then known by value (C~) or unknown
    (12?). Without either, every name is by value.

    Raises ValueError for dims that are unknown or circular, TypeError for a
    ScriptModule, which PyTorch runs out of sight.
    """
    given = dims or {}
    sizes = evaluated(given)

    def made(sizes: Named) -> tuple:
        if build is not None:
            return build(**accepted(build, sizes))
        return model, resized(inputs, axes, sizes)

    first = model, inputs
    if build is not None:
        first = made(sizes)
    refuse(first[0])
    run, result = recorded(*first, options, sizes)
    varied = independent(given, build, axes)
    runs, notes = [run], []
    for other in plan(given, varied) if varied else []:
        try:
            with aside(first[0]):
                runs.append(recorded(*made(other), options, other)[0])
        except Exception as error:
            notes.append(refusal(other, varied, error))
    return Trace(runs, result, notes)


def recorded(model: Callable, inputs, options: dict, sizes: Named) -> tuple:
    """Run a model once: what was recorded, and what it gave."""
    with Recorder(model) as recorder:
        result = model(*inputs, **options)
    return Run(sizes, recorder.steps), result


def independent(
    dims: Given, build: Callable | None, axes: list[str] | None
) -> list[str]:
    """List the dimensions that probes can vary on their own."""
    plain = {name: n for name, n in dims.items() if isinstance(n, int)}
    if build is not None:
        return list(accepted(build, plain))
    letters = " ".join(axes or []).split()
    return [name for name in plain if name in letters]


def refuse(model: Callable | None) -> None:
    """Raise TypeError for what cannot be traced."""
    if not callable(model):
        raise TypeError(f"give a model: {type(model).__name__} has no call")
    modules = model.modules() if isinstance(model, nn.Module) else [model]
    for module in modules:
        if isinstance(module, torch.jit.ScriptModule):
            raise TypeError(
                "a ScriptModule runs out of Python's sight: trace the module "
                "that it was made from."
            )


def refusal(sizes: Named, varied: list[str], error: Exception) -> str:
    """Say which sizes a model refused, and in which words."""
    tried = ", ".join(f"{name}={sizes[name]}" for name in varied)
    first = str(error).split("\n")[0]
    return f"refused at {tried}: {type(error).__name__}: {first}"

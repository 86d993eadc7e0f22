"""Models: the module that something runs, and where an untraced run of it goes
another way."""

import dis
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import nn
from torch.overrides import BaseTorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from shapewatch.tracing.record.state import (
    SITE_PACKAGES,
    aside,
    is_full,
    is_library,
)
from shapewatch.tracing.record.tensors import name_of
from shapewatch.tracing.record.visits import Visits, modules_of, owner
from shapewatch.tracing.source.expressions import codes

FUSIBLE = nn.MultiheadAttention, nn.TransformerEncoderLayer
FUSED_KERNELS = (
    "_native_multi_head_attention",
    "_transformer_encoder_layer_fwd",
)
SCRIPT_TYPES = torch.jit.ScriptModule, torch.jit.ScriptFunction
fast_path_off = BaseTorchFunctionMode
"""Let PyTorch's layers of this thread run call by call: they do while
anything looks at torch functions."""


def traceable(model: Callable | None) -> Callable:
    """Give a model; TypeError for what cannot be traced."""
    if isinstance(model, torch.export.ExportedProgram):
        raise TypeError(
            "an ExportedProgram is not a model that runs: trace its .module()"
        )
    if not callable(model):
        raise TypeError(f"give a model: {type(model).__name__} has no call")
    refuse_class(model)
    if isinstance(model, SCRIPT_TYPES):
        raise TypeError(
            f"a {type(model).__name__} runs out of Python's sight: trace "
            "what it was made from."
        )
    return model


def refuse_class(model: object) -> None:
    """Raise TypeError for a class of models, which is none yet."""
    if isinstance(model, type) and issubclass(model, nn.Module):
        name = model.__name__
        raise TypeError(
            f"{name} is a class, and no model yet: give {name}(...), with "
            "what it is made with"
        )


def root_module(model: Callable) -> nn.Module:
    """Give the module that something runs: itself; that of a method; the one
    that a function uses, or that a `partial` hands on.

    Where there are several, and none is part of another, or none at all, a
    new one has them as its parts, by the names that they have there.
    """
    called, own = unwrap_method(model)
    refuse_class(called)
    if own is not None:
        return own
    named = {id(x): (name, x) for name, x in modules_used(model, {})}
    for _, module in [*named.values()]:
        for inner in [*modules_of(module)][1:]:
            named.pop(id(inner), None)
    whole = nn.Module()
    for name, module in named.values():
        count = f"_{len(whole._modules)}" if name in whole._modules else ""
        whole._modules[name + count] = module
    return module if len(named) == 1 else whole


def unwrap_method(model: Callable) -> tuple[Callable, nn.Module | None]:
    """Give what a `partial` calls, or what is decorated, and its module:
    itself, or the one that it is a method of."""
    while (inner := unwrap_once(model)) is not model:
        model = inner
    own = getattr(model, "__self__", model)
    return model, own if isinstance(own, nn.Module) else None


def unwrap_once(model: Callable) -> Callable:
    """Give what a `partial` calls, and what a function decorates."""
    if isinstance(model, partial):
        return model.func
    if isinstance(model, FunctionType):
        return vars(model).get("__wrapped__", model)
    return model


def method_of(model: Callable) -> str:
    """Name the class of the module that something is a method of, or ""."""
    called, own = unwrap_method(model)
    return "" if own is None or own is called else type(own).__name__


def modules_used(
    thing: Any, known: dict[int, Any]
) -> Iterator[tuple[str, nn.Module]]:
    """List the modules that something uses, by their names there: in the
    reader's own functions, and in those that these call."""
    if id(thing) in known:
        return
    known[id(thing)] = thing
    for name, value in list(names_in(thing)):
        if isinstance(value, nn.Module):
            yield name, value
        elif isinstance(value, FunctionType | MethodType | partial):
            yield from modules_used(value, known)


def names_in(thing: Any) -> Iterator[tuple[str, Any]]:
    """List what something may use, by name: arguments, attributes, and the
    variables that a function has from outside. A module's method uses it."""
    match thing:
        case MethodType(__self__=nn.Module()):
            yield "self", thing.__self__
        case MethodType():
            yield "self", thing.__func__
            yield from names_in(thing.__self__)
        case partial():
            yield from ((f"input_{i}", x) for i, x in enumerate(thing.args))
            yield from thing.keywords.items()
            yield from names_in(thing.func)
        case FunctionType() if unwrap_once(thing) is not thing:
            yield "function", unwrap_once(thing)
        case FunctionType():
            yield from outer_names(thing)
        case _ if not is_library(type(thing)):
            yield from getattr(thing, "__dict__", {}).items()


def outer_names(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """List the variables that the reader's function has from outside."""
    code, space = function.__code__, function.__globals__
    if owner(code.co_filename) != "reader" or (
        SITE_PACKAGES in code.co_filename
    ):
        return
    cells = zip(code.co_freevars, function.__closure__ or ())
    yield from ((n, x.cell_contents) for n, x in cells if is_full(x))
    steps = (x for part in codes(code) for x in dis.get_instructions(part))
    loads = {step.argval for step in steps if step.opname == "LOAD_GLOBAL"}
    yield from ((n, space[n]) for n in sorted(loads) if n in space)


def detour_notes(model: Callable, inputs: tuple, options: dict) -> list[str]:
    """Say what an untraced run does in another way."""
    call = partial(model, *inputs, **options)
    whole = root_module(call)
    layers = [x for x in modules_of(whole) if isinstance(x, FUSIBLE)]
    if all(layer.training for layer in layers):
        return []
    visits = Visits(whole)
    fused = FusedCalls(visits)
    # It ran once: if it does not again, so much for this note.
    with suppress(Exception), aside(call), visits, fused:
        call()
    note = (
        f"untraced, PyTorch runs {', '.join(fused.paths)} as one fused call "
        "each; numbers can differ in their last digits"
    )
    return [note] if fused.paths else []


def later_notes(result: Any) -> list[str]:
    """Say how to trace what has not run when a model is done."""
    ways: dict[Callable, str] = {
        inspect.isgenerator: "trace(lambda x: list(model(x)), x)",
        inspect.iscoroutine: "trace(lambda x: asyncio.run(model(x)), x)",
        inspect.isasyncgen: "trace a function that runs it to its end",
    }
    says = f"the {type(result).__name__} that the model gave has not run yet"
    return [f"{says}: {way}" for asks, way in ways.items() if asks(result)]


class FusedCalls(TorchDispatchMode):
    """Note in which modules PyTorch's fused functions run."""

    supports_higher_order_operators = True

    def __init__(self, visits: Visits):
        super().__init__()
        self.visits = visits
        self.paths: dict[str, None] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if name_of(function).partition(".")[0] in FUSED_KERNELS:
            now = self.visits.now
            self.paths[now.path or now.kind] = None
        return function(*args, **kwargs or {})

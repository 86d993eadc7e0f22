"""Models: what runs, and the module that it runs."""

import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import BaseTorchFunctionMode

from shapewatch.tracing.record.owners import SITE_PACKAGES, owner
from shapewatch.tracing.source.expressions import codes

LIBRARIES = {*sys.stdlib_module_names, "numpy", "torch"}
VARIADIC = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
TRACER = "shapewatch.tracing."
SCRIPT_TYPES = torch.jit.ScriptModule, torch.jit.ScriptFunction
fast_path_off = BaseTorchFunctionMode
"""Let PyTorch's layers of this thread run call by call: they do while
anything looks at torch functions."""


class ModelCall(NamedTuple):
    """What runs: a model, with its inputs and options.

    `root` is the module that it runs, whose parts have the paths, and `kind`
    the class of that module where the model is a method of it, else "".
    """

    model: Callable
    inputs: tuple
    options: dict
    root: nn.Module
    kind: str

    def run(self) -> Any:
        """Call the model."""
        return self.model(*self.inputs, **self.options)


def model_call(model: Any, inputs: tuple, options: dict) -> ModelCall:
    """Find the module that something runs; TypeError for what cannot be
    traced."""
    if not callable(model):
        raise TypeError(f"give a model: {type(model).__name__} has no call")
    refuse_class(model)
    if isinstance(model, SCRIPT_TYPES):
        raise TypeError(
            f"Python cannot see inside a {type(model).__name__}: trace what "
            "it was made from."
        )
    root = root_module(partial(model, *inputs, **options))
    called, module = unwrap_method(model)
    is_method = module is not None and module is not called
    kind = type(module).__name__ if is_method else ""
    return ModelCall(model, inputs, options, root, kind)


def built_call(
    build: Callable, sizes: dict[str, int], options: dict
) -> ModelCall:
    """Let a factory make a model and inputs; ValueError where it takes a
    dimension that has no size, TypeError where it gives something else."""
    lacking = [
        parameter.name
        for parameter in inspect.signature(build).parameters.values()
        if parameter.default is parameter.empty
        and parameter.name not in sizes
        and parameter.kind not in VARIADIC
    ]
    if lacking:
        raise ValueError(
            f"build takes {', '.join(lacking)}, and nothing says how long: "
            f'write dims={{"{lacking[0]}": 8, ...}}'
        )
    built = build(**sizes)
    pair = built if isinstance(built, tuple | list) else ()
    if len(pair) != 2 or not isinstance(pair[1], tuple | list):
        kinds = ", ".join(type(x).__name__ for x in pair or [built])
        raise TypeError(
            f"build returns {kinds}: let it return a model and a tuple of its "
            "inputs, `return model, (x,)`."
        )
    return model_call(pair[0], tuple(pair[1]), options)


def refuse_class(model: object) -> None:
    """Raise TypeError for a class of models, which is none yet."""
    if isinstance(model, type) and issubclass(model, nn.Module):
        name = model.__name__
        raise TypeError(
            f"{name} is a class, not a model: give {name}(...), with its "
            "arguments"
        )


def root_module(model: Callable) -> nn.Module:
    """Give the module that something runs: itself; that of a method; the one
    that a function uses, or that a `partial` hands on.

    Where there are several, and none is part of another, or none at all, a
    new one has them as its parts, by the names that they have there.
    """
    called, module = unwrap_method(model)
    refuse_class(called)
    if module is not None:
        return module
    named = {id(x): (name, x) for name, x in modules_used(model, {})}
    for _, outer in [*named.values()]:
        for part in [*outer.modules()][1:]:
            named.pop(id(part), None)
    if len(named) == 1:
        [(_, module)] = named.values()
        return module
    root = nn.Module()
    for name, part in named.values():
        count = f"_{len(root._modules)}" if name in root._modules else ""
        root._modules[name + count] = part
    return root


def unwrap_method(model: Callable) -> tuple[Callable, nn.Module | None]:
    """Give what a `partial` calls, or what is decorated, and its module:
    itself, or the one that it is a method of."""
    while (inner := unwrap_once(model)) is not model:
        model = inner
    module = getattr(model, "__self__", model)
    return model, module if isinstance(module, nn.Module) else None


def unwrap_once(model: Callable) -> Callable:
    """Give what a `partial` calls, and what a function decorates."""
    if isinstance(model, partial):
        return model.func
    if isinstance(model, FunctionType):
        return vars(model).get("__wrapped__", model)
    return model


def modules_used(
    thing: Any, visited: dict[int, Any]
) -> Iterator[tuple[str, nn.Module]]:
    """List the modules that something uses, by their names there: in the
    reader's own functions, and in those that these call."""
    if id(thing) in visited:
        return
    visited[id(thing)] = thing
    for name, value in list(names_in(thing)):
        if isinstance(value, nn.Module):
            yield name, value
        elif isinstance(value, FunctionType | MethodType | partial):
            yield from modules_used(value, visited)


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


def is_library(kind: type) -> bool:
    """Whether a class is Python's, NumPy's, PyTorch's or the tracer's."""
    module = kind.__module__
    first, _, _ = module.partition(".")
    return first in LIBRARIES or module.startswith(TRACER)


def is_full(cell: CellType) -> bool:
    """Whether a variable of a closure has a value."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False

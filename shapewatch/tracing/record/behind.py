"""Behind: the model that a method runs, or a function."""

import dis
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from torch import nn

from shapewatch.tracing.record.held import SITE_PACKAGES, is_full, is_library
from shapewatch.tracing.record.visits import owner
from shapewatch.tracing.source.expressions import codes

FUNCTION_TYPES = FunctionType, MethodType, partial


def root_module(model: Callable) -> nn.Module:
    """Give the module that something runs: itself; that of a method; the one
    that a function uses, or that a `partial` hands on.

    Where there are several, and none is part of another, or none at all, a
    new one has them as its parts, by the names that they have there.
    """
    _, own = unwrap_method(model)
    if own is not None:
        return own
    named = {
        id(module): (name, module) for name, module in modules_used(model, {})
    }
    every = [x for _, module in named.values() for x in inner_modules(module)]
    inner = set(map(id, every))
    roots = [one for key, one in named.items() if key not in inner]
    if len(roots) == 1:
        return roots[0][1]
    whole = nn.Module()
    for name, module in roots:
        count = f"_{len(whole._modules)}" if name in whole._modules else ""
        whole._modules[name + count] = module
    return whole


def inner_modules(module: nn.Module) -> Iterator[nn.Module]:
    """List all modules within a module."""
    return (x for x in module.modules() if x is not module)


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
    is_method = own is not None and own is not called
    return type(own).__name__ if is_method else ""


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
        elif isinstance(value, FUNCTION_TYPES):
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
    code = function.__code__
    if (
        owner(code.co_filename) != "reader"
        or SITE_PACKAGES in code.co_filename
    ):
        return
    cells = zip(code.co_freevars, function.__closure__ or ())
    yield from ((n, x.cell_contents) for n, x in cells if is_full(x))
    steps = (
        step for part in codes(code) for step in dis.get_instructions(part)
    )
    loads = {step.argval for step in steps if step.opname == "LOAD_GLOBAL"}
    space = function.__globals__
    yield from ((n, space[n]) for n in sorted(loads) if n in space)

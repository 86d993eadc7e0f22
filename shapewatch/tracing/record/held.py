"""What things hold that a run may change, and how to give it back."""

import random
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from functools import lru_cache, partial, singledispatch
from operator import is_
from os import sep
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from shapewatch.tracing.record.memory import TensorMemory
from shapewatch.tracing.record.tensors import dispatches
from shapewatch.tracing.record.visits import owner

# What holds nothing that could change, and is told so without a search.
PLAIN_STATE = {int, float, bool, str, bytes, complex, type(None)}
PLAIN_STATE |= {torch.dtype, torch.device, torch.Size, torch.layout}
LIBRARIES = {*sys.stdlib_module_names, "numpy", "torch"}
SITE_PACKAGES = f"{sep}site-packages{sep}"
OWN_PACKAGE = __name__.split(".")[:2]
# What all of a class share, that a run may change.
CLASS_STATE: tuple[type, ...] = list, dict, set, deque, Tensor


class HeldState(NamedTuple):
    """What a thing holds that may change itself, and how to give the thing
    back what it held: also in a shorter way, where there is one, that trusts
    PyTorch's counts of what was written."""

    parts: Iterable[Any] = ()
    put_back: Callable[[], None] | None = None
    put_back_counted: Callable[[], None] | None = None


@singledispatch
def held_state(thing: Any) -> HeldState:
    """Tell what a thing holds: of an object, its attributes, and what all of
    its class share. A library's own are left alone, apart from modules."""
    if numpy := sys.modules.get("numpy"):
        if isinstance(thing, numpy.ndarray):
            return array_state(thing)
        if isinstance(thing, numpy.random.Generator):
            bits = thing.bit_generator
            return HeldState((), partial(setattr, bits, "state", bits.state))
        if isinstance(thing, numpy.random.RandomState):
            return HeldState((), partial(thing.set_state, thing.get_state()))
    return HeldState() if is_library(type(thing)) else attributes(thing)


def array_state(array: Any) -> HeldState:
    """Of NumPy's arrays: their numbers, or the objects in them."""
    was = array.copy()

    def put_back() -> None:
        if array.tobytes() != was.tobytes():
            array[...] = was

    return HeldState(
        array.ravel().tolist() if array.dtype == object else (), put_back
    )


@held_state.register
def _(module: nn.Module) -> HeldState:
    kind = type(module)

    def put_back() -> None:
        if type(module) is not kind:
            module.__class__ = kind

    return HeldState((vars(module), kind, *out_of_sight(module)), put_back)


def out_of_sight(module: nn.Module) -> list[Tensor]:
    """List the tensors of a compiled module, which are no attributes."""
    if not isinstance(module, torch.jit.ScriptModule):
        return []
    return [*module.parameters(), *module.buffers()]


@held_state.register(SimpleNamespace)
def attributes(thing: Any) -> HeldState:
    """Of an object: its attributes, and its class, which may change too."""
    kind, given = type(thing), slots_of(thing)

    def put_back() -> None:
        if type(thing) is not kind:
            thing.__class__ = kind
        for name, value in given.items():
            if getattr(thing, name, None) is not value:
                object.__setattr__(thing, name, value)

    own = getattr(thing, "__dict__", None)
    return HeldState((own, kind, *given.values()), put_back)


def slots_of(thing: Any) -> dict[str, Any]:
    """Give the attributes that an object has no dictionary for."""
    kind: Any = type(thing)
    names = slots(kind)
    return {
        name: getattr(thing, name) for name in names if hasattr(thing, name)
    }


@lru_cache
def slots(kind: type) -> list[str]:
    """List what a class, or one that it comes from, has slots for."""
    found = [vars(one).get("__slots__", ()) for one in kind.mro()]
    lists = [[x] if isinstance(x, str) else list(x) for x in found]
    return [x for names in lists for x in names if not x.startswith("__")]


def is_library(kind: type) -> bool:
    """Whether a class is Python's, NumPy's, PyTorch's or the tracer's."""
    first, *others = kind.__module__.split(".")
    return first in LIBRARIES or [first, *others[:1]] == OWN_PACKAGE


@held_state.register
def _(kind: type) -> HeldState:
    if is_library(kind):
        return HeldState()
    was = dict(vars(kind))

    def put_back() -> None:
        now: Any = vars(kind)
        if len(now) == len(was) and all(map(is_, now.values(), was.values())):
            return
        for name in [name for name in now if name not in was]:
            type.__delattr__(kind, name)
        for name in was:
            if now.get(name) is not was[name]:
                type.__setattr__(kind, name, was[name])

    followed = (
        (*CLASS_STATE, FunctionType) if is_readers(kind) else CLASS_STATE
    )
    shared = (x for x in was.values() if isinstance(x, followed))
    return HeldState((*shared, *kind.__bases__), put_back)


def is_readers(kind: type) -> bool:
    """Whether the reader wrote a class: it is in no library, and not ours."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None) or ""
    ours = kind.__module__.startswith(f"{OWN_PACKAGE[0]}.")
    return not ours and SITE_PACKAGES not in file


@held_state.register(tuple)
@held_state.register(frozenset)
def _(things: Iterable) -> HeldState:
    return HeldState(things)


@held_state.register
def _(things: list) -> HeldState:
    was = things[:]

    def put_back() -> None:
        if len(things) != len(was) or not all(map(is_, things, was)):
            list.__setitem__(things, slice(None), was)

    return HeldState(was, put_back)


@held_state.register
def _(things: deque) -> HeldState:
    was = list(things)

    def put_back() -> None:
        if len(things) != len(was) or not all(map(is_, things, was)):
            things.clear()
            things.extend(was)

    return HeldState(was, put_back)


@held_state.register
def _(things: set) -> HeldState:
    was = set(things)

    def put_back() -> None:
        if things != was:
            things.clear()
            things.update(was)

    return HeldState(was, put_back)


@held_state.register
def _(things: dict) -> HeldState:
    base = base_of(things)
    names, values = list(base.keys(things)), list(base.values(things))

    def put_back() -> None:
        if len(things) == len(names):
            same = all(map(is_, base.values(things), values))
            if same and all(map(is_, base.keys(things), names)):
                return
        base.clear(things)
        for name, value in zip(names, values):
            base.__setitem__(things, name, value)

    return HeldState(values, put_back)


def base_of(things: dict) -> Any:
    """Give the class whose methods keep a dictionary whole, and do not ask
    its own."""
    return OrderedDict if isinstance(things, OrderedDict) else dict


@held_state.register
def _(function: FunctionType) -> HeldState:
    code = function.__code__
    if owner(code.co_filename) != "reader":
        return HeldState()
    cells = [x for x in function.__closure__ or () if is_full(x)]
    was = [cell.cell_contents for cell in cells]
    space = function.__globals__
    used = {name: space[name] for name in code.co_names if name in space}

    def put_back() -> None:
        for cell, value in zip(cells, was):
            cell.cell_contents = value
        for name, value in used.items():
            if space.get(name) is not value:
                space[name] = value

    return HeldState((*was, *used.values(), vars(function)), put_back)


def is_full(cell: Any) -> bool:
    """Whether a variable of a closure has a value."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


@held_state.register
def _(method: MethodType) -> HeldState:
    return HeldState((method.__self__, method.__func__))


@held_state.register
def _(call: partial) -> HeldState:
    return HeldState((call.func, call.args, call.keywords))


@held_state.register
def _(one: random.Random) -> HeldState:
    return HeldState((), partial(one.setstate, one.getstate()))


@held_state.register
def _(one: torch.Generator) -> HeldState:
    was = one.get_state()

    def put_back() -> None:
        one.set_state(was)

    return HeldState((), put_back)


@held_state.register
def _(tensor: Tensor) -> HeldState:
    own = getattr(tensor, "__dict__", None)
    if dispatches(tensor):  # what is inside has the numbers
        return HeldState((own, *slots_of(tensor).values()))
    memory = TensorMemory(tensor)
    both = memory.put_back, memory.put_back_counted
    return HeldState((own, memory.grad), *both)

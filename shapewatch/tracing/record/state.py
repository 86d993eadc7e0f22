"""State: what a model and its inputs hold, to be put back bit for bit."""

import gc
import random
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial, singledispatch
from operator import is_
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from shapewatch.tracing.record.models import is_full, is_library
from shapewatch.tracing.record.owners import owner
from shapewatch.tracing.record.shared import output_hidden
from shapewatch.tracing.record.tensors import PLAIN, dispatches

PRESERVE_VERSION = torch.autograd._unsafe_preserve_version_counter
MANY_NUMBERS, FEW = 2**16, 2**12  # numbers: to look at many takes its time
CONTAINERS = {dict, OrderedDict, set, list}
# How to add a value by its name; of what has no names, they are the values.
COLLECTIONS: dict[type, Callable] = {
    OrderedDict: OrderedDict.__setitem__,
    dict: dict.__setitem__,
    list: lambda things, _, x: list.append(things, x),
    deque: lambda things, _, x: deque.append(things, x),
    set: lambda things, _, x: set.add(things, x),
}


class TensorMemory:
    """Remember a tensor: its numbers, shape and class, its gradient, and
    whether it has one."""

    def __init__(self, tensor: Tensor):
        self.tensor, self.kind = tensor, type(tensor)
        self.learns = tensor.requires_grad
        self.grad = tensor.grad if tensor.is_leaf else None
        self.data = data = tensor.detach()  # the same memory
        odd = data.is_nested or data.is_quantized or data.is_meta
        self.strided = data.layout is torch.strided and not odd
        self.layout = memory_layout(data) if self.strided else ()
        self.numbers = without_repeats(data) if self.strided else data
        self.was = copy_of(self.numbers)
        self.loose = tensor.is_inference()  # it has no version
        self.version = None if self.loose else self.numbers._version
        keep = nullcontext() if self.loose else PRESERVE_VERSION(data)
        self.preserved: Any = keep

    def put_back(self, counted: bool = False) -> None:
        """Let the tensor be what it was.

        It is written only where something has changed, and autograd is told
        nothing, as the numbers are then those that it knows. `counted`: look
        only at some of a large one, where PyTorch, which counts what is
        written, has counted nothing.
        """
        tensor, changed = self.tensor, is_changed(self, counted)
        if type(tensor) is not self.kind:
            tensor.__class__ = self.kind
        if self.strided and memory_layout(tensor) != self.layout:
            tensor.data = self.data
        if changed and self.was is not None:
            with self.preserved, torch.inference_mode(self.loose):
                self.numbers.copy_(self.was)
        if tensor.requires_grad is not self.learns:
            with suppress(RuntimeError):
                tensor.detach_().requires_grad_(self.learns)
        if tensor.is_leaf and tensor.grad is not self.grad:
            tensor.grad = self.grad


def is_changed(memory: TensorMemory, counted: bool) -> bool:
    """Whether other numbers are there now."""
    now, was = memory.numbers, memory.was
    if was is None:
        return False
    if not memory.loose and now._version != memory.version:
        return True
    large = memory.strided and was.numel() >= MANY_NUMBERS and not memory.loose
    if counted and large and now.is_contiguous():
        now, was = sample(now), sample(was)
    return memory.strided and not now.equal(was)


def copy_of(tensor: Tensor) -> Tensor | None:
    """Copy a tensor; None where it has no numbers, or nobody can."""
    with suppress(RuntimeError):
        return None if tensor.is_meta else tensor.clone()
    return None


def without_repeats(tensor: Tensor) -> Tensor:
    """Leave out what an expanded tensor repeats."""
    for axis, step in enumerate(tensor.stride()):
        if step == 0 and tensor.shape[axis] > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor


def sample(tensor: Tensor) -> Tensor:
    """Take a few numbers of a tensor, from everywhere."""
    flat = tensor.view(-1)
    return flat[:: len(flat) // FEW]


def memory_layout(tensor: Tensor) -> tuple:
    """Tell where in memory a tensor is, and how it lies there."""
    return tensor.data_ptr(), tensor.size(), tensor.stride()


class HeldState(NamedTuple):
    """What a thing holds that may change itself, and how to give the thing
    back what it held: also in a shorter way, where there is one, that trusts
    PyTorch's counts of what was written."""

    parts: Iterable[Any] = ()
    put_back: Callable[[], None] | None = None
    put_back_counted: Callable[[], None] | None = None


@singledispatch
def held_state(thing: Any) -> HeldState:
    """Tell what a thing holds: of an object, its attributes. A library's own
    are left alone, apart from modules."""
    if is_library(type(thing)):
        return HeldState()
    return HeldState((getattr(thing, "__dict__", None),))


held_state.register(SimpleNamespace, lambda thing: HeldState((vars(thing),)))


@held_state.register(nn.Module)
def module_state(module: nn.Module) -> HeldState:
    """Of a module: its attributes, its class, which may change too, and the
    tensors of a compiled one, which are no attributes."""
    tensors: list[Tensor] = []
    if isinstance(module, torch.jit.ScriptModule):
        tensors = [*module.parameters(), *module.buffers()]
    kind = type(module)

    def put_back() -> None:
        if type(module) is not kind:
            module.__class__ = kind

    return HeldState((vars(module), *tensors), put_back)


@held_state.register(dict)
@held_state.register(list)
@held_state.register(deque)
@held_state.register(set)
def collection_state(things: Any) -> HeldState:
    """Of what holds others: its values, and names, in order; as its class
    has them, whatever a reader's class of them does."""
    base: Any = next(x for x in COLLECTIONS if isinstance(things, x))
    values_of = getattr(base, "values", base.__iter__)
    names, values = list(base.__iter__(things)), list(values_of(things))

    def put_back() -> None:
        if len(things) == len(names):
            same = all(map(is_, values_of(things), values))
            if same and all(map(is_, base.__iter__(things), names)):
                return
        base.clear(things)
        for name, value in zip(names, values):
            COLLECTIONS[base](things, name, value)

    return HeldState(values, put_back)


@held_state.register(FunctionType)
def function_state(function: FunctionType) -> HeldState:
    """Of a reader's function: what its variables from outside stand for."""
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


@held_state.register(Tensor)
def tensor_state(tensor: Tensor) -> HeldState:
    """Of a tensor: its numbers, its gradient, and its attributes; of one
    whose class runs each call by itself, the attributes alone."""
    attributes = getattr(tensor, "__dict__", None)
    if dispatches(tensor):
        return HeldState((attributes,))
    memory = TensorMemory(tensor)
    counted = partial(memory.put_back, counted=True)
    return HeldState((attributes, memory.grad), memory.put_back, counted)


held_state.register(tuple, HeldState)
held_state.register(frozenset, HeldState)
held_state.register(
    MethodType, lambda method: HeldState((method.__self__, method.__func__))
)
held_state.register(
    partial, lambda call: HeldState((call.func, call.args, call.keywords))
)
held_state.register(
    random.Random, lambda x: HeldState((), partial(x.setstate, x.getstate()))
)
held_state.register(
    torch.Generator,
    lambda x: HeldState((), partial(x.set_state, x.get_state())),
)


class State:
    """What some things hold, all the way down, and the random numbers that
    are ahead, as they are when this is made.

    `put_back` makes them so again, in place: every object stays the one that
    it was. What has not changed is not touched. Of no things, it is nothing.
    What stands in a state `beside` it is as that has it.
    """

    def __init__(self, *things: Any, beside: "State | None" = None):
        # By id, which is theirs while alive.
        self.known: dict[int, Any] = {**beside.known} if beside else {}
        # Most are empty: modules have many for hooks.
        self.empty: list[Any] = [*beside.empty] if beside else []
        self.held: list[HeldState] = [*beside.held] if beside else []
        ahead: list[Any] = [things]
        with torch._C.DisableTorchFunction(), torch.no_grad():
            while ahead:
                thing = ahead.pop()
                if id(thing) in self.known:
                    continue
                self.known[id(thing)] = thing
                if type(thing) in CONTAINERS and not thing:
                    self.empty.append(thing)
                else:
                    held = held_state(thing)
                    self.held += [held] if held.put_back else []
                    ahead += [x for x in held.parts if type(x) not in PLAIN]
        self.held += random_numbers() if things else []

    def put_back(self, counted: bool = False) -> None:
        """Give all things back what they held, as far as they let us.

        `counted`: but for a few numbers that are written into a large tensor
        unknown to PyTorch: that is faster. Look at all in the end.
        """
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for thing in filter(None, self.empty):
                thing.clear()
            for _, put_back, put_back_counted in self.held:
                way: Any = (counted and put_back_counted) or put_back
                try:
                    way()
                except Exception:
                    continue

    def __enter__(self) -> "State":
        return self

    def __exit__(self, *error: object) -> None:
        self.put_back()


def random_numbers() -> list[HeldState]:
    """Remember which random numbers are next: Python's, NumPy's, PyTorch's."""
    ways: list[tuple[Callable, Any]] = [(random.setstate, random.getstate())]
    if numpy := sys.modules.get("numpy"):
        ways.append((numpy.random.set_state, numpy.random.get_state()))
    ways += [(x.set_state, x.get_state()) for x in generators()]
    return [HeldState((), partial(put, state)) for put, state in ways]


def generators() -> list[torch.Generator]:
    """List PyTorch's own generators, of the devices that are in use."""
    cuda = torch.cuda.is_initialized()
    others = torch.cuda.default_generators if cuda else ()
    return [torch.default_generator, *others]


def seed_all(seed: int) -> None:
    """Seed all random numbers; no device wakes up for it."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)
    for generator in generators():
        generator.manual_seed(seed)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Let Python not look for garbage: among all of PyTorch's objects, that
    takes longer than many a run."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def aside(*things: Any) -> Iterator[None]:
    """Run something that leaves no trace: no printing, no warnings, no
    random numbers used up, and nothing changed of what some things hold."""
    with output_hidden(), State(*things), gc_paused():
        yield

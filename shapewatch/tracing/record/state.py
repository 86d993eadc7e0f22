"""State: what a model and its inputs hold, to be put back bit for bit."""

import gc
import random
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache, partial, singledispatch
from operator import is_
from os import sep
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from shapewatch.tracing.record.shared import output_hidden
from shapewatch.tracing.record.tensors import dispatches
from shapewatch.tracing.record.visits import owner

PRESERVE_VERSION = torch.autograd._unsafe_preserve_version_counter
LARGE, FEW = 2**16, 2**12  # numbers: to look at many takes its time


class TensorMemory:
    """Remember a tensor: its numbers, shape and class, its gradient, and
    whether it has one.

    `put_back` writes only where something has changed, and tells autograd
    nothing, as the numbers are then those that it knows.
    """

    def __init__(self, tensor: Tensor):
        self.tensor, self.kind = tensor, type(tensor)
        self.learns = tensor.requires_grad
        self.grad = tensor.grad if tensor.is_leaf else None
        self.loose = tensor.is_inference()  # it has no version
        self.own = tensor.detach()  # the same memory
        self.strided = is_strided(self.own)
        self.place = memory_layout(self.own) if self.strided else ()
        self.numbers = distinct(self.own) if self.strided else self.own
        self.was = copy_of(self.numbers)
        self.version = None if self.loose else self.numbers._version
        self.preserved = (
            nullcontext() if self.loose else PRESERVE_VERSION(self.own)
        )

    def put_back_counted(self) -> None:
        """Let it be what it was; but of a large one look only at some, where
        PyTorch, which counts what is written, has counted nothing."""
        self.restore(seems_changed(self))

    def put_back(self) -> None:
        """Let the tensor be what it was."""
        self.restore(self.was is not None and self.changed(self.was))

    def restore(self, numbers: bool) -> None:
        """Give a tensor back its class, its place, its gradient; and its
        numbers, where they are others."""
        tensor = self.tensor
        if type(tensor) is not self.kind:
            tensor.__class__ = self.kind
        if self.strided and memory_layout(tensor) != self.place:
            tensor.data = self.own
        if numbers and self.was is not None:
            with self.preserved, torch.inference_mode(self.loose):
                self.numbers.copy_(self.was)
        if tensor.requires_grad is not self.learns:
            with suppress(RuntimeError):
                tensor.detach_().requires_grad_(self.learns)
        if tensor.is_leaf and tensor.grad is not self.grad:
            tensor.grad = self.grad

    def changed(self, was: Tensor) -> bool:
        """Whether something else is there now."""
        if not self.loose and self.numbers._version != self.version:
            return True
        return self.strided and not self.numbers.equal(was)


def is_strided(tensor: Tensor) -> bool:
    """Whether a tensor's numbers lie in memory one by one."""
    odd = tensor.is_nested or tensor.is_quantized or tensor.is_meta
    return tensor.layout is torch.strided and not odd


def copy_of(tensor: Tensor) -> Tensor | None:
    """Copy a tensor; None where it has no numbers, or nobody can."""
    try:
        return None if tensor.is_meta else tensor.clone()
    except RuntimeError:
        return None


def distinct(tensor: Tensor) -> Tensor:
    """Leave out what an expanded tensor repeats."""
    for axis, step in enumerate(tensor.stride()):
        if step == 0 and tensor.shape[axis] > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor


def seems_changed(memory: TensorMemory) -> bool:
    """Whether something else is in a tensor, seen from its version, and from
    some of its numbers: of a small one, all."""
    numbers, was = memory.numbers, memory.was
    if was is None:
        return False
    odd = memory.loose or not memory.strided or not numbers.is_contiguous()
    if odd or was.numel() < LARGE:
        return memory.changed(was)
    counted = numbers._version != memory.version
    return counted or not sample(numbers).equal(sample(was))


def sample(tensor: Tensor) -> Tensor:
    """Take a few numbers of a tensor, from everywhere."""
    flat = tensor.view(-1)
    return flat[:: len(flat) // FEW]


def memory_layout(tensor: Tensor) -> tuple:
    """Tell where in memory a tensor is, and how it lies there."""
    return tensor.data_ptr(), tensor.size(), tensor.stride()


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


PutBack = tuple[Callable[[], None], Callable[[], None]]
CONTAINERS = {dict, OrderedDict, set, list}


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
        self.ways: list[PutBack] = [*beside.ways] if beside else []
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
                    parts, way, counted = held_state(thing)
                    self.ways += [(way, counted or way)] if way else []
                    ahead += [x for x in parts if type(x) not in PLAIN_STATE]
        self.ways += [(random_numbers(),) * 2] if things else []

    def put_back(self) -> None:
        """Give all things back what they held, as far as they let us."""
        self.go(way for way, _ in self.ways)

    def put_back_counted(self) -> None:
        """The same, but for a few numbers that are written into a large
        tensor unknown to PyTorch: that is faster. Let `put_back` look at all
        in the end."""
        self.go(way for _, way in self.ways)

    def go(self, ways: Iterator[Callable[[], None]]) -> None:
        """Go these ways back; each that is refused is left out."""
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for thing in filter(None, self.empty):
                thing.clear()
            while is_refused(ways):
                pass

    def __enter__(self) -> "State":
        return self

    def __exit__(self, *error: object) -> None:
        self.put_back()


def is_refused(ways: Iterator[Callable[[], None]]) -> bool:
    """Give things back what they held; whether one of them refused it."""
    try:
        for way in ways:
            way()
    except Exception:
        return True
    return False


def random_numbers() -> Callable[[], None]:
    """Remember which random numbers are next: Python's, NumPy's, PyTorch's."""
    own, numpy = random.getstate(), sys.modules.get("numpy")
    theirs = numpy and numpy.random.get_state()
    states = [(one, one.get_state()) for one in generators()]

    def put_back() -> None:
        random.setstate(own)
        if numpy:
            numpy.random.set_state(theirs)
        for one, state in states:
            one.set_state(state)

    return put_back


def generators() -> list[torch.Generator]:
    """List PyTorch's own generators, of the devices that are in use."""
    cuda = torch.cuda.is_initialized()
    return [
        torch.default_generator,
        *(torch.cuda.default_generators if cuda else ()),
    ]


def seed_all(seed: int) -> None:
    """Seed all random numbers; no device wakes up for it."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)
    for one in generators():
        one.manual_seed(seed)


@contextmanager
def aside(*things: Any) -> Iterator[None]:
    """Run something that leaves no trace: no printing, no warnings, no
    random numbers used up, and nothing changed of what some things hold."""
    with output_hidden(), State(*things), gc_paused():
        yield


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

"""The tensors of a run: marked, and kept safe from later writing."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple
from weakref import ref

import torch
from torch import Tensor
from torch.nn import Parameter

# What is told apart from tensors and what holds them, without a search.
PLAIN = {int, float, bool, str, bytes, complex, type(None), type(...), slice}
PLAIN |= {torch.dtype, torch.device, torch.Size, torch.layout}
USUAL = {Tensor, Parameter}  # whose shape can be asked for without a call
NOT_WRITING = {"__invert__", "__index__", "__int__", "__init__", "__iter__"}


class Mark(NamedTuple):
    """A tensor, as it was when a call read or made it."""

    number: int
    shape: torch.Size
    dtype: torch.dtype
    device: torch.device


# Tensors in lists and dictionaries: each by its mark, and what is none.
Parts = Mark | None | list["Parts"] | dict[Any, "Parts"]


def part_at(parts: Parts, path: Iterable) -> Mark | None:
    """Follow indices and keys to a part; give its first tensor, if any."""
    for key in path:
        if isinstance(parts, dict):
            plain = {**dict(enumerate(parts.values())), **parts}
            parts = plain.get(key)
        elif isinstance(parts, list) and key in range(len(parts)):
            parts = parts[key]
        else:
            return None
    if parts is None or isinstance(parts, Mark):
        return parts
    inner = parts.values() if isinstance(parts, dict) else parts
    return next(filter(None, (part_at(x, ()) for x in inner)), None)


class Marks:
    """Give each tensor a number, the same one as long as it lives, and the
    shape that it had when it was last made.

    A tensor has one weak reference while it lives, and no other tensor has
    its id, as all are held.
    """

    def __init__(self):
        self.marks: dict[int, Mark] = {}  # by that id
        self.references: list[ref[Tensor]] = []

    def read(self, values: Iterable) -> list[Mark]:
        """Mark the tensors in some values, with the shapes that are known: to
        ask for one, outside of a recorded call, would be a call."""
        marks: list[Mark] = []
        for value in values:
            kind = type(value)
            if kind in PLAIN:
                continue
            if kind not in USUAL and not isinstance(value, Tensor):
                marks += self.read(tensors(value))
            elif mark := self.marks.get(id(ref(value))):
                marks.append(mark)
            else:
                marks += self.mark_all(value)
        return marks

    def mark_all(self, result: Any) -> list[Mark]:
        """Mark the tensors in a result with the shapes that they have now,
        unseen by any mode."""
        with torch._C.DisableTorchFunction():
            return list(map(self.mark, tensors(result)))

    def mark(self, tensor: Tensor) -> Mark:
        """Mark a tensor, as one that is known or as a new one."""
        reference, shape = ref(tensor), shape_of(tensor)
        if not (mark := self.marks.get(id(reference))):
            self.references.append(reference)
            parts = len(self.references), shape, tensor.dtype, tensor.device
            mark = tuple.__new__(Mark, parts)  # as Mark(...), more quickly
        elif mark.shape != shape:
            mark = mark._replace(shape=shape)
        self.marks[id(reference)] = mark
        return mark


def parts_of(value: Any, marks: Marks) -> Parts:
    """Mark the tensors in a value, and keep how it is laid out."""
    if isinstance(value, dict):
        return {key: parts_of(part, marks) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [parts_of(part, marks) for part in value]
    return next(iter(marks.read((value,))), None)


def shape_of(tensor: Tensor) -> torch.Size:
    """Give a tensor's shape: of a lazy parameter, or of a nested tensor, which
    have none, that of a number."""
    try:
        return tensor.shape
    except RuntimeError:
        return torch.Size()


def shapes_of(values: tuple) -> list[torch.Size]:
    """List the shapes of the tensors in some values, in order."""
    with torch._C.DisableTorchFunction():
        return list(map(shape_of, tensors(values)))


def tensors(value: object) -> list[Tensor]:
    """Find the tensors in a value, in order."""
    if isinstance(value, Tensor):
        return [value]
    if type(value) in PLAIN:
        return []
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (tuple, list)):
        return []
    return [tensor for part in value for tensor in tensors(part)]


class Values:
    """Keep tensors by reference, and copy one only when it is overwritten."""

    def __init__(self):
        self.kept: dict[int, list[Tensor]] = {}
        self.given: dict[int, tuple[tuple, dict]] = {}
        self.users: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def keep(self, step: int, made: list, args: tuple, kwargs: dict) -> None:
        """Keep what a step made, and what it was given."""
        self.given[step] = args, kwargs
        with torch._C.DisableTorchFunction():
            self.kept[step] = [
                x if dispatches(x) else x.detach() for x in made
            ]
            for i, tensor in enumerate(made):
                self.users[storage(tensor)].append((step, i))

    def save(self, targets: list[Tensor]) -> None:
        """Copy what is kept of the memory that is about to be written."""
        for target in targets:
            with torch._C.DisableTorchFunction():
                written = storage(target)
                for step, i in self.users.pop(written, []):
                    with suppress(Exception), torch.no_grad():
                        self.kept[step][i] = self.kept[step][i].clone()


def dispatches(tensor: Tensor) -> bool:
    """Whether a tensor's class runs each call on it by itself."""
    plain = torch._C._disabled_torch_dispatch_impl
    return type(tensor).__torch_dispatch__ is not plain


def storage(tensor: Tensor) -> int:
    """Tell the memory that a tensor's numbers are in; itself, where they are
    in several, or out of sight."""
    try:
        return tensor.untyped_storage().data_ptr() or id(tensor)
    except (RuntimeError, NotImplementedError):
        return id(tensor)


def name_of(function: Any) -> str:
    """Give a function's name; of what has none, that of what it calls, or of
    its class."""
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


@cache
def writes(name: str) -> bool:
    """Whether functions of a name write to what they are given first."""
    if name.endswith("__"):
        augmented = name.startswith("__i") and name not in NOT_WRITING
        return augmented or name == "__setitem__"
    return name.endswith("_")


def targets(function: Callable, args: tuple, kwargs: dict) -> list[Tensor]:
    """List the tensors that a call writes to: x.add_(1), x += 1, x[0] = 1,
    out=x, inplace=True."""
    written = [kwargs["out"]] if "out" in kwargs else []
    if writes(name_of(function)) or kwargs.get("inplace"):
        written = [*args[:1], *written]
    return tensors(written)

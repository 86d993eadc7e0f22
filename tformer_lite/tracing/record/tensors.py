"""The tensors of a run: marked, and kept safe from later writing."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, NamedTuple
from weakref import ref

import torch
from torch import Tensor

# What is told apart from tensors and what holds them, without a search.
PLAIN = {int, float, bool, str, type(None), torch.dtype, torch.Size}
NOT_WRITING = {"__invert__", "__index__", "__int__", "__init__", "__iter__"}


class Mark(NamedTuple):
    """A tensor, as it was when a call read or made it."""

    number: int
    shape: torch.Size


class Marks:
    """Give each tensor a number, the same one as long as it lives, and the
    shape that it had when it was last made."""

    def __init__(self):
        self.known: dict[int, tuple[ref[Tensor], Mark]] = {}
        self.unused = count()

    def read(self, values: Iterable) -> list[Mark]:
        """Mark the tensors in some values, with the shapes that are known: to
        ask for one, outside of a recorded call, would be a call."""
        found = []
        for value in values:
            known = self.known.get(id(value))
            if known is not None and known[0]() is value:
                found.append(known[1])
            elif isinstance(value, Tensor):
                with torch._C.DisableTorchFunction():
                    found.append(self.made(value))
            elif type(value) not in PLAIN:
                found += self.read(tensors(value))
        return found

    def made(self, tensor: Tensor) -> Mark:
        """Mark a tensor with the shape that it has now."""
        known = self.known.get(id(tensor))
        same = known is not None and known[0]() is tensor
        number = known[1].number if known and same else next(self.unused)
        mark = Mark(number, tensor.shape)
        self.known[id(tensor)] = ref(tensor), mark
        return mark

    def forget(self, tensor: Tensor) -> None:
        """Take a tensor for a new one from now on: x.data = y made it so."""
        self.known.pop(id(tensor), None)


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

    def keep(self, step: int, made: list, args: tuple, kwargs: Any) -> None:
        """Keep what a step made, and what it was given."""
        self.kept[step] = [tensor.detach() for tensor in made]
        self.given[step] = args, kwargs or {}
        for i, tensor in enumerate(made):
            self.users[storage(tensor)].append((step, i))

    def save(self, targets: list[Tensor]) -> None:
        """Copy what is kept of the memory that is about to be written."""
        for target in targets:
            for step, i in self.users.pop(storage(target), []):
                self.kept[step][i] = self.kept[step][i].clone()


def storage(tensor: Tensor) -> int:
    """Tell the memory that a tensor's numbers are in."""
    return tensor.untyped_storage().data_ptr()


def targets(function: Callable, args: tuple, kwargs: dict) -> list[Tensor]:
    """List the tensors that a call writes to: x.add_(1), x += 1, x[0] = 1,
    out=x, inplace=True."""
    name = function.__name__
    inside = name.endswith("_") and not name.endswith("__")
    augmented = name.startswith("__i") and name not in NOT_WRITING
    found = [kwargs.get("out")]
    if inside or augmented or name == "__setitem__" or kwargs.get("inplace"):
        found = [*args[:1], *found]
    return tensors(found)

"""Marks: which tensor it is, and the shape that it has."""

from collections.abc import Iterable
from itertools import count
from typing import NamedTuple
from weakref import ref

import torch
from torch import Tensor

# What is told apart from tensors and what holds them, without a search.
PLAIN = {int, float, bool, str, type(None), torch.dtype, torch.Size}


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
        """Mark the tensors in some values."""
        found = []
        for value in values:
            known = self.known.get(id(value))
            if known is not None and known[0]() is value:
                found.append(known[1])
            elif type(value) not in PLAIN:
                found += map(self.last, tensors(value))
        return found

    def last(self, tensor: Tensor) -> Mark:
        """Mark a tensor, and ask for no shape that is known: outside of a
        recorded call, that would be one."""
        known = self.known.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        with torch._C.DisableTorchFunction():
            return self.made(tensor)

    def made(self, tensor: Tensor) -> Mark:
        """Mark a tensor with the shape that it has now."""
        known, shape = self.known.get(id(tensor)), tensor.shape
        if known is None or known[0]() is not tensor:
            mark = Mark(next(self.unused), shape)
        elif known[1].shape == shape:
            return known[1]
        else:
            mark = Mark(known[1].number, shape)
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

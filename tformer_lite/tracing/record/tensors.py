"""Marks: which tensor it is, and the shape that it has."""

from collections.abc import Iterable
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
    """Give each tensor a number, the same one as long as it lives, and note
    the shape it had at first."""

    def __init__(self):
        self.known: dict[int, tuple[ref[Tensor], int]] = {}
        self.shapes: dict[int, torch.Size] = {}

    def __call__(self, value: object) -> list[tuple[int, torch.Size]]:
        """Give the number and shape of each tensor in a value."""
        if type(value) is Tensor:
            return [self.mark(value)]
        if type(value) in PLAIN:
            return []
        return list(map(self.mark, tensors(value)))

    def mark(self, tensor: Tensor) -> tuple[int, torch.Size]:
        """Give a tensor's number, a new one if it is new, and its shape."""
        known, shape = self.known.get(id(tensor)), tensor.shape
        if known is not None and known[0]() is tensor:
            return known[1], shape
        number = len(self.shapes)
        self.known[id(tensor)] = ref(tensor), number
        self.shapes[number] = shape
        return number, shape

    def number(self, tensor: Tensor) -> int:
        """Give the number of a tensor, and ask for no shape: outside of a
        recorded call, that would be one."""
        known = self.known.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        with torch._C.DisableTorchFunction():
            return self.mark(tensor)[0]

    def numbers(self, values: Iterable) -> list[int]:
        """Give the number of each tensor in some values."""
        found = []
        for value in values:
            known = self.known.get(id(value))
            if known is not None and known[0]() is value:
                found.append(known[1])
            elif type(value) not in PLAIN:
                found += map(self.number, tensors(value))
        return found

    def forget(self, tensor: Tensor) -> None:
        """Take a tensor for a new one from now on: x.data = y made it so."""
        self.known.pop(id(tensor), None)


def tensors(value: object) -> list[Tensor]:
    """Find the tensors in a value, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (tuple, list)):
        return []
    found = []
    for part in value:
        if type(part) not in PLAIN:
            found += tensors(part)
    return found

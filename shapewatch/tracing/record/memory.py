"""Memory: what a tensor was, bit for bit, whatever is written into it."""

from contextlib import nullcontext, suppress

import torch
from torch import Tensor

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

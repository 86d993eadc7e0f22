"""Probes: the same run again at other sizes, to see how each axis moves."""

import contextlib
import inspect
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import torch
from torch import Tensor, nn

from tformer_lite.tracing.axes.sizes import Sizes


def resized_inputs(inputs: tuple, axes: list[str], dims: Sizes) -> tuple:
    """Give the inputs other sizes, with values that they have already.

    `axes` names the axes of each tensor, "B S"; a name that `dims` lacks
    keeps its size. A tensor that comes twice is named once, and stays one.

    Raises ValueError where `axes` and the tensors do not match.
    """
    tensors = {id(x): x for x in inputs if isinstance(x, Tensor)}
    if isinstance(axes, str) or len(axes) != len(tensors):
        raise ValueError(
            f"{axes=} must be a list with one string for each input tensor. "
            f"There are {len(tensors)} (one that comes twice counts once)."
        )
    made = {
        key: resized_tensor(tensor, names.split(), dims)
        for (key, tensor), names in zip(tensors.items(), axes)
    }
    return tuple(made.get(id(x), x) for x in inputs)


def resized_tensor(tensor: Tensor, axes: list[str], dims: Sizes) -> Tensor:
    """Take as many rows of each named axis as asked, in order: some of them,
    or some of them twice, by a seed."""
    if len(axes) != tensor.ndim:
        raise ValueError(
            f"axes {' '.join(axes)!r} name {len(axes)} axes, and the input "
            f"{tuple(tensor.shape)} has {tensor.ndim}."
        )
    for axis, name in enumerate(axes):
        size = tensor.shape[axis]
        rows = chosen_rows(size, dims.get(name, size))
        tensor = tensor.index_select(axis, rows.to(tensor.device))
    return tensor


def chosen_rows(size: int, wanted: int) -> Tensor:
    """Choose rows among so many: (wanted,), sorted. All of them come, where
    there is room; the others are drawn."""
    seed = torch.Generator().manual_seed(wanted)
    rows = torch.randperm(size, generator=seed)
    more = torch.randint(size, (max(wanted - size, 0),), generator=seed)
    return torch.cat([rows, more])[:wanted].sort().values


@contextlib.contextmanager
def aside(model: Callable) -> Iterator[None]:
    """Run something that leaves no trace: no printing, no warnings, no
    random numbers used up, no running statistics moved."""
    devices = range(torch.cuda.device_count())
    with (
        torch.random.fork_rng(devices=devices),
        contextlib.redirect_stdout(Hush(sys.stdout)),
        warnings.catch_warnings(action="ignore"),
        unchanged(model),
        contextlib.ExitStack() as stack,
    ):
        stack.callback(random.setstate, random.getstate())
        yield


class Hush:
    """A standard output that this thread cannot write to; others can."""

    def __init__(self, stream: TextIO):
        self.stream, self.thread = stream, threading.get_ident()

    def write(self, text: str) -> int:
        """Drop a text of this thread."""
        if threading.get_ident() == self.thread:
            return len(text)
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def unchanged(model: Callable) -> Iterator[None]:
    """Put back the attributes of every module, and the buffers' values."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    spaces = [x for m in modules for x in (vars(m), m._buffers)]
    before = [space.copy() for space in spaces]
    buffers = [b for m in modules for b in m._buffers.values()]
    values = [(b, b.clone()) for b in buffers if b is not None]
    try:
        yield
    finally:
        for space, was in zip(spaces, before):
            space.clear()
            space.update(was)
        with torch.no_grad():
            for buffer, value in values:
                buffer.copy_(value)


def dims_for(build: Callable, dims: Sizes) -> Sizes:
    """Give the dimensions that a factory takes."""
    parameters = inspect.signature(build).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dims
    return {name: n for name, n in dims.items() if name in parameters}

"""Probes: the same run again at other sizes, to see how each axis moves."""

import inspect
from collections.abc import Callable

import torch
from torch import Tensor

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
    """Take as many rows of each named axis as asked, over and over."""
    if len(axes) != tensor.ndim:
        raise ValueError(
            f"axes {' '.join(axes)!r} name {len(axes)} axes, and the input "
            f"{tuple(tensor.shape)} has {tensor.ndim}."
        )
    for axis, name in enumerate(axes):
        size = tensor.shape[axis]
        rows = torch.arange(dims.get(name, size), device=tensor.device)
        tensor = tensor.index_select(axis, rows % size)
    return tensor


def dims_for(build: Callable, dims: Sizes) -> Sizes:
    """Give the dimensions that a factory takes."""
    parameters = inspect.signature(build).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dims
    return {name: n for name, n in dims.items() if name in parameters}

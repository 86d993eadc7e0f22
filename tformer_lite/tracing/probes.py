"""Probes: the same run again at other sizes, to see how each axis moves."""

import contextlib
import inspect
import io
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

Given = dict[str, int | str]
Named = dict[str, int]


def evaluated(dims: Given) -> Named:
    """Work out the dimensions that are written with others.

    Raises ValueError for a name that is unknown, or that needs itself.
    """
    known = {name: n for name, n in dims.items() if isinstance(n, int)}
    rest = {name: text for name, text in dims.items() if name not in known}
    while rest:
        ready = [n for n, text in rest.items() if uses(text) <= set(known)]
        if not ready:
            raise ValueError(
                f"dims {rest} use names that are unknown, or each other. "
                f"Known are {', '.join(known) or 'none'}."
            )
        for name in ready:
            text = rest.pop(name)
            known[name] = int(eval(text, {"__builtins__": {}}, known))
    return {name: known[name] for name in dims}


def uses(text: str) -> set[str]:
    """The names in an expression."""
    return set(compile(text, "dims", "eval").co_names)


def plan(dims: Given, varied: list[str]) -> Iterator[Named]:
    """Choose the sizes of the probes: all small, then each name larger
    alone, then all larger. A size keeps its parity."""
    small = {name: 2 + dims[name] % 2 for name in varied}
    larger = [{name: small[name] + 2} for name in varied]
    everything = {name: small[name] + 4 for name in varied}
    for change in [{}, *larger, everything]:
        yield evaluated(dims | small | change)


def resized(inputs: tuple, axes: list[str], dims: Named) -> tuple:
    """Give the inputs other sizes, with values that they have already.

    `axes` names the axes of each tensor, "B S"; a name that `dims` lacks
    keeps its size. A tensor that comes twice stays one.
    """
    made: dict[int, Tensor] = {}
    names = iter(axes)
    for tensor in inputs:
        if isinstance(tensor, Tensor) and id(tensor) not in made:
            made[id(tensor)] = taken(tensor, next(names).split(), dims)
    return tuple(made.get(id(x), x) for x in inputs)


def taken(tensor: Tensor, axes: list[str], dims: Named) -> Tensor:
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


@contextlib.contextmanager
def aside(model: Callable) -> Iterator[None]:
    """Run something that leaves no trace: no gradients, no printing, no
    random numbers used up, no running statistics moved."""
    buffers = list(model.buffers()) if isinstance(model, nn.Module) else []
    before = [buffer.clone() for buffer in buffers]
    devices = range(torch.cuda.device_count())
    with (
        torch.random.fork_rng(devices=devices),
        torch.no_grad(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        try:
            yield
        finally:
            for buffer, value in zip(buffers, before):
                buffer.copy_(value)


def accepted(build: Callable, dims: Named) -> Named:
    """The dimensions that a factory takes."""
    parameters = inspect.signature(build).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dims
    return {name: n for name, n in dims.items() if name in parameters}

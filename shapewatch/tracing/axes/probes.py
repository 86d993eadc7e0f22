"""Probes: the same run again at other sizes, to see how each axis moves."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter, init
from torch.overrides import TorchFunctionMode

from shapewatch.tracing.axes.inputs import Names, resized
from shapewatch.tracing.axes.sizes import Sizes

Pair = tuple[float, float]
DRAWN = 1 << 18  # how many numbers are drawn


def resized_parts(
    model: Callable,
    inputs: tuple,
    options: dict,
    axes: Names,
    build: Callable | None,
    sizes: Sizes,
) -> tuple[Callable, tuple, dict]:
    """Give a model, its inputs and options at other sizes: of these alone,
    where nobody builds the model."""
    if build is None:
        return model, *resized(model, inputs, options, axes, sizes)
    with Drawn():
        return *build(**dims_for(build, sizes)), options


class Drawn(TorchFunctionMode):
    """Fill tensors with numbers that were drawn once. For a probe any will
    do, and large weights take longer to draw than to use. Each tensor has
    others, since some draw again until they like what comes."""

    def __init__(self):
        super().__init__()
        self.at = 0

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function in WAYS:
            (kind, limits), given = WAYS[function], dict(kwargs or {})
            x = args[0] if args else given.pop("tensor")
            if can_take(x):
                start, size = limits(x, *args[1:], **given)
                self.at = (self.at + x.numel() + 1) % (DRAWN // 2)
                return filled(x, drawn(kind)[self.at :], start, size)
        return function(*args, **kwargs or {})


@torch.no_grad()
def filled(x: Tensor, numbers: Tensor, start: float, size: float) -> Tensor:
    """Write the first numbers, times a size, into a tensor."""
    x.copy_(numbers[: x.numel()].view(x.shape))
    return x.mul_(size).add_(start)


def between(x: Tensor, a: float = 0.0, b: float = 1.0, **named: Any) -> Pair:
    """Tell where uniform numbers start, and how far they go."""
    a, b = named.get("from", a), named.get("to", b)
    return a, b - a


def around(x: Tensor, mean: float = 0.0, std: float = 1.0, **_: Any) -> Pair:
    """Tell around what normal numbers are, and how far from it."""
    return mean, std


def by_inputs(x: Tensor, *_: Any, **__: Any) -> Pair:
    """Tell what nn.Linear has: the more inputs, the smaller."""
    limit = max(x.numel() // max(len(x), 1), 1) ** -0.5
    return -limit, 2 * limit


WAYS: dict[Callable, tuple[Callable, Callable[..., Pair]]] = {
    Tensor.uniform_: (Tensor.uniform_, between),
    init.uniform_: (Tensor.uniform_, between),
    init.kaiming_uniform_: (Tensor.uniform_, by_inputs),
    Tensor.normal_: (Tensor.normal_, around),
    init.normal_: (Tensor.normal_, around),
}


@cache
def drawn(function: Callable) -> Tensor:
    """Draw numbers, once."""
    seed = torch.Generator().manual_seed(0)
    return function(torch.empty(DRAWN), generator=seed)


def can_take(x: Tensor) -> bool:
    """Whether a tensor can be filled with numbers that were drawn."""
    plain = type(x) in (Tensor, Parameter) and x.layout is torch.strided
    return plain and x.device.type == "cpu" and x.numel() <= DRAWN // 2


def dims_for(build: Callable, dims: Sizes) -> Sizes:
    """Give the dimensions that a factory takes."""
    parameters = inspect.signature(build).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dims
    return {name: n for name, n in dims.items() if name in parameters}

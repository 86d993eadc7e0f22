"""Probes: the same run again at other sizes, to see how each axis moves."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter, init
from torch.overrides import TorchFunctionMode

from shapewatch.tracing.axes.inputs import Names, resize_inputs
from shapewatch.tracing.axes.sizes import Sizes

Range = tuple[float, float]
POOL_SIZE = 1 << 18  # how many numbers are drawn


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
        return model, *resize_inputs(model, inputs, options, axes, sizes)
    with QuickInit():
        return *build(**dims_for(build, sizes)), options


class QuickInit(TorchFunctionMode):
    """Fill tensors with numbers that were drawn once. For a probe any will
    do, and large weights take longer to draw than to use. Each tensor has
    others, since some draw again until they like what comes."""

    def __init__(self):
        super().__init__()
        self.at = 0

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function in INITIALISERS:
            (kind, limits), given = INITIALISERS[function], dict(kwargs or {})
            x = args[0] if args else given.pop("tensor")
            if is_fillable(x):
                start, size = limits(x, *args[1:], **given)
                self.at = (self.at + x.numel() + 1) % (POOL_SIZE // 2)
                return write_numbers(
                    x, random_pool(kind)[self.at :], start, size
                )
        return function(*args, **kwargs or {})


@torch.no_grad()
def write_numbers(
    x: Tensor, numbers: Tensor, start: float, size: float
) -> Tensor:
    """Write the first numbers, times a size, into a tensor."""
    x.copy_(numbers[: x.numel()].view(x.shape))
    return x.mul_(size).add_(start)


def uniform_range(
    x: Tensor, a: float = 0.0, b: float = 1.0, **named: Any
) -> Range:
    """Tell where uniform numbers start, and how far they go."""
    a, b = named.get("from", a), named.get("to", b)
    return a, b - a


def normal_range(
    x: Tensor, mean: float = 0.0, std: float = 1.0, **_: Any
) -> Range:
    """Tell around what normal numbers are, and how far from it."""
    return mean, std


def linear_range(x: Tensor, *_: Any, **__: Any) -> Range:
    """Tell what nn.Linear has: the more inputs, the smaller."""
    limit = max(x.numel() // max(len(x), 1), 1) ** -0.5
    return -limit, 2 * limit


INITIALISERS: dict[Callable, tuple[Callable, Callable[..., Range]]] = {
    Tensor.uniform_: (Tensor.uniform_, uniform_range),
    init.uniform_: (Tensor.uniform_, uniform_range),
    init.kaiming_uniform_: (Tensor.uniform_, linear_range),
    Tensor.normal_: (Tensor.normal_, normal_range),
    init.normal_: (Tensor.normal_, normal_range),
}


@cache
def random_pool(function: Callable) -> Tensor:
    """Draw numbers, once."""
    seed = torch.Generator().manual_seed(0)
    return function(torch.empty(POOL_SIZE), generator=seed)


def is_fillable(x: Tensor) -> bool:
    """Whether a tensor can be filled with numbers that were drawn."""
    plain = type(x) in (Tensor, Parameter) and x.layout is torch.strided
    return plain and x.device.type == "cpu" and x.numel() <= POOL_SIZE // 2


def dims_for(build: Callable, dims: Sizes) -> Sizes:
    """Give the dimensions that a factory takes."""
    parameters = inspect.signature(build).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dims
    return {name: n for name, n in dims.items() if name in parameters}

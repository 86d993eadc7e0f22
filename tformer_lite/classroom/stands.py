"""What stands for layers where an exercise needs any: functions of tensors,
which can be sent to the process that plays by their names."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import layer_norm


def flipped(x: Tensor) -> Tensor:
    """Stand for a sublayer that mixes positions: (B, T, C) -> (B, T, C)."""
    return (2 * x.flip(1) + 1).cos()


def listened(x: Tensor) -> Tensor:
    """Stand for attention: (B, T, C) -> (B, T, C)."""
    return (x.cumsum(1) + 1).cos()


def thought(x: Tensor) -> Tensor:
    """Stand for a feed-forward layer: (B, T, C) -> (B, T, C)."""
    return (1.3 * x + 0.2).sin()


def turned_and_joined(x: Tensor) -> Tensor:
    """Stand for a join: (B, H, T, D) -> (B, T, C)."""
    return x.transpose(1, 2).flatten(2)


def joined_as_it_lies(x: Tensor) -> Tensor:
    """Stand for a join without the transpose: (B, H, T, D) -> (B, T, C)."""
    b, h, t, d = x.shape
    return x.reshape(b, t, h * d)


def joined_and_turned(x: Tensor) -> Tensor:
    """Stand for a join that turns too late: (B, H, T, D) -> (B, T, C)."""
    b, h, t, d = x.shape
    return x.reshape(b, h * d, t).mT


@dataclass(frozen=True)
class Projection:
    """Stand for a linear layer without a bias."""

    weight: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Multiply: (B, T, C) -> (B, T, F)."""
        return x @ self.weight.mT


@dataclass(frozen=True)
class Mixing:
    """Stand for a block: each position takes the mean of all it may see."""

    weight: Tensor

    def __call__(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mix positions: (B, T, C), (B, 1, 1, T) -> (B, T, C)."""
        t = x.shape[1]
        seen = x.new_ones(len(x), 1, t) if mask is None else mask[:, 0] * 1.0
        mean = seen @ x / seen.sum(-1, keepdim=True)
        return x + ((x + mean) @ self.weight).cos()


@dataclass(frozen=True)
class Norm:
    """Stand for a layer norm with these gains and shifts."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise the channels: (B, T, C) -> (B, T, C)."""
        return layer_norm(x, x.shape[-1:], self.weight, self.bias)


@dataclass(frozen=True)
class Connection:
    """Stand for a residual connection that keeps "x", its "normal" copy, or
    "nothing"."""

    norm: Norm
    keeps: str

    def __call__(
        self, x: Tensor, sublayer: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Add what a sublayer makes to what is kept: (B, T, C) -> same."""
        normal = self.norm(x)
        kept = {"x": x, "normal": normal, "nothing": 0 * x}[self.keeps]
        return kept + sublayer(normal)

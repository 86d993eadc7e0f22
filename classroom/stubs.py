"""What stands for layers where an exercise needs any: functions of tensors,
which can be sent to the process that plays by their names."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import layer_norm


def mixing_stub(x: Tensor) -> Tensor:
    """Stand for a sublayer that mixes positions: (B, T, C) -> (B, T, C)."""
    return (2 * x.flip(1) + 1).cos()


def attention_stub(x: Tensor) -> Tensor:
    """Stand for attention: (B, T, C) -> (B, T, C)."""
    return (x.cumsum(1) + 1).cos()


def feed_forward_stub(x: Tensor) -> Tensor:
    """Stand for a feed-forward layer: (B, T, C) -> (B, T, C)."""
    return (1.3 * x + 0.2).sin()


def join_stub(x: Tensor) -> Tensor:
    """Stand for a join: (B, H, T, D) -> (B, T, C)."""
    return x.transpose(1, 2).flatten(2)


def join_untransposed(x: Tensor) -> Tensor:
    """Stand for a join without the transpose: (B, H, T, D) -> (B, T, C)."""
    b, h, t, d = x.shape
    return x.reshape(b, t, h * d)


def join_transposed_late(x: Tensor) -> Tensor:
    """Stand for a join that turns too late: (B, H, T, D) -> (B, T, C)."""
    b, h, t, d = x.shape
    return x.reshape(b, h * d, t).mT


@dataclass
class Projection:
    """Stand for a linear layer without a bias; its weight can be set."""

    weight: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Multiply: (B, T, C) -> (B, T, F)."""
        return x @ self.weight.mT


@dataclass(frozen=True)
class MixingBlock:
    """Stand for a block: each position takes the mean of all it may see."""

    weight: Tensor

    def __call__(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mix positions: (B, T, C), (B, 1, 1, T) -> (B, T, C)."""
        t = x.shape[1]
        seen = x.new_ones(len(x), 1, t) if mask is None else mask[:, 0] * 1.0
        mean = seen @ x / seen.sum(-1, keepdim=True)
        return x + ((x + mean) @ self.weight).cos()


@dataclass(frozen=True)
class NormStub:
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

    norm: NormStub
    keeps: str

    def __call__(
        self, x: Tensor, sublayer: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Add what a sublayer makes to what is kept: (B, T, C) -> same."""
        normal = self.norm(x)
        kept = {"x": x, "normal": normal, "nothing": 0 * x}[self.keeps]
        return kept + sublayer(normal)


@dataclass(frozen=True)
class Sublayer:
    """Stand for attention, or for a feed-forward layer, with its output."""

    output: Projection
    mixes: bool

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the layer: (B, T, C) -> (B, T, C)."""
        return self.output(
            attention_stub(x) if self.mixes else feed_forward_stub(x)
        )


@dataclass(frozen=True)
class TwoStepBlock:
    """Stand for a block. `form` says where it goes wrong: "normed" and
    "late" keep what a norm made, in the first and the second step; "lost"
    forgets x in the first. "pre" is right."""

    self_attention: Sublayer
    feed_forward: Sublayer
    norms: list[NormStub]
    form: str

    def __call__(self, x: Tensor) -> Tensor:
        """Take both steps: (B, T, C) -> (B, T, C)."""
        first, second = self.norms
        kept = {"normed": first(x), "lost": 0 * x}.get(self.form, x)
        x = kept + self.self_attention(first(x))
        kept = {"late": second(x)}.get(self.form, x)
        return kept + self.feed_forward(second(x))


@dataclass(frozen=True)
class StackOfWeights:
    """Stand for a stack whose blocks are lists of weights.

    `weights` has the numbers of every weight that there is, `held` says
    which of them each block holds: blocks that hold the same are the same.
    """

    weights: list[Tensor]
    held: list[list[int]]

    def __post_init__(self) -> None:
        """Build `blocks`."""
        parameters = [nn.Parameter(x.clone(), False) for x in self.weights]
        blocks = {
            tuple(numbers): nn.ParameterList(parameters[i] for i in numbers)
            for numbers in self.held
        }
        stack = nn.ModuleList(blocks[tuple(numbers)] for numbers in self.held)
        object.__setattr__(self, "blocks", stack)


@dataclass(frozen=True)
class CrossAttentionStub:
    """Stand for attention between two sequences. `asks` says who has the
    queries: "target", "memory", or "alone" where the target has both;
    "nobody" adds up the rows so far, and turns their sign."""

    query: Tensor
    key: Tensor
    value: Tensor
    asks: str

    def __call__(self, x: Tensor, memory: Tensor) -> Tensor:
        """Let one attend to the other: (B, T, C), (B, T, C) -> (B, T, C)."""
        pairs = {"memory": (memory, x), "alone": (x, x)}
        if self.asks == "nobody":
            return -(x + memory).cumsum(1)
        target, source = pairs.get(self.asks, (x, memory))
        scores = target @ self.query @ (source @ self.key).mT
        return scores.softmax(-1) @ source @ self.value

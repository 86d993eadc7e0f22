"""Other forms of the parts: as the sources have them, and written out."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tformer_lite.model.attention import (
    MultiHeadAttention,
    no_place,
    split_heads,
)
from tformer_lite.model.checks import check_alone, check_heads
from tformer_lite.model.layers import Linear, TokenEmbedding


class PlainEmbedding(TokenEmbedding):
    """Scale by 1, as in sources 002 and 003 and in GPT-2."""

    power = 0.0


class ShrunkEmbedding(TokenEmbedding):
    """Divide by the square root of d_model, as in source 000.

    There the table starts with variance 1, and the positions drown the
    tokens. Here it starts with variance d_model.
    """

    power = -0.5


class LayerNorm(nn.Module):
    """Give each position's channels mean 0 and variance 1, then a gain and
    an offset to each channel.

    The variance is the biased one; `eps` is added to it. Ba et al. (2016),
    equation 4. nn.LayerNorm is the same function in one fast step: models
    use it, unless their `norm` is this class.

    >>> LayerNorm(4)(torch.tensor([1.0, 1.0, 3.0, 3.0])).detach().round()
    tensor([-1., -1.,  1.,  1.])
    """

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each position on its own: (B, T, C) -> (B, T, C)."""
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        normal = centred / torch.sqrt(variance + self.eps)
        return normal * self.weight + self.bias


class UnbiasedNorm(LayerNorm):
    """Divide by the unbiased standard deviation plus `eps`.

    As in source 000; 001 and 004 take eps = 1e-6. Smaller than `LayerNorm`
    by the square root of (C - 1) / C, and not defined for one channel.
    """

    def __init__(self, d_model: int, eps: float = 1e-7):
        super().__init__(d_model, eps)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each position on its own: (B, T, C) -> (B, T, C)."""
        centred = x - x.mean(-1, keepdim=True)
        normal = centred / (x.std(-1, keepdim=True) + self.eps)
        return normal * self.weight + self.bias


def softmax(scores: Tensor) -> Tensor:
    """Turn scores into weights along the last axis: (..., S) -> (..., S).

    No weight is negative, and a row sums to 1. A row in which every score
    is −∞ has nothing to attend to: it gives zeros, and its gradient is zero.
    torch.softmax, which attention calls, is the same function in one step,
    but for such rows.

    >>> softmax(torch.tensor([0.0, 0.0, -torch.inf]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    top = scores.amax(-1, keepdim=True).detach()
    top = top.masked_fill(top == -math.inf, 0)
    exps = torch.exp(scores - top)
    total = exps.sum(-1, keepdim=True)
    return exps / total.masked_fill(total == 0, 1)


def gelu(x: Tensor) -> Tensor:
    """Weigh each number by the normal share below it: (...) -> (...).

    Hendrycks and Gimpel (2016), section 2: x Φ(x). A model's "gelu" is the
    same function in one fast step of PyTorch's.
    """
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def gelu_tanh(x: Tensor) -> Tensor:
    """Approximate `gelu` with a tanh: (...) -> (...).

    Hendrycks and Gimpel (2016), section 2. Source 004's formula. A model's
    "gelu_tanh" is PyTorch's.
    """
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return x * (1 + torch.tanh(inner)) / 2


class StackedLinear(Linear):
    """Several square linear layers in one, each started on its own."""

    def reset_parameters(self) -> None:
        """Draw the weights anew and set the biases to 0."""
        super().reset_parameters()
        for square in self.weight.split(self.in_features):
            nn.init.xavier_uniform_(square)


class FusedAttention(MultiHeadAttention):
    """Self-attention with query, key and value from one matrix.

    The same function as `MultiHeadAttention`, in one product instead of
    three. The rows of `qkv.weight` run head by head: D for the head's
    query, D for its key, D for its value. (nn.MultiheadAttention packs all
    queries before all keys; weights move over after re-ordering.)
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        bias: bool = False,
        dropout: float = 0.0,
        place: Callable[..., Tensor] = no_place,
    ):
        nn.Module.__init__(self)
        check_heads(d_model, n_heads)
        self.n_heads, self.n_kv_heads, self.place = n_heads, n_heads, place
        self.qkv = StackedLinear(d_model, 3 * d_model, bias)
        self.dropout = nn.Dropout(dropout)
        self.output = Linear(d_model, d_model, bias)

    def project(
        self, x: Tensor, source: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make all three in one: (B, T, C) -> (B, H, T, D), (B, H, T, D),
        (B, H, T, D). A `source` raises ValueError."""
        check_alone(source, "one matrix makes keys and values of x, too")
        q, k, v = split_heads(self.qkv(x), self.n_heads).chunk(3, dim=-1)
        return q, k, v


class FusedCrossAttention(MultiHeadAttention):
    """Cross-attention with key and value from one matrix.

    The rows of `key_value.weight` run head by head: D for the head's key, D
    for its value.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        bias: bool = False,
        dropout: float = 0.0,
    ):
        nn.Module.__init__(self)
        check_heads(d_model, n_heads)
        self.n_heads = self.n_kv_heads = n_heads
        self.place = no_place
        self.key_value = StackedLinear(d_model, 2 * d_model, bias)
        self.query = Linear(d_model, d_model, bias)
        self.dropout = nn.Dropout(dropout)
        self.output = Linear(d_model, d_model, bias)

    def project(
        self, x: Tensor, source: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, and both others in one: (B, T, C), (B, S, C) ->
        (B, H, T, D), (B, H, S, D), (B, H, S, D)."""
        source = x if source is None else source
        both = split_heads(self.key_value(source), self.n_heads)
        k, v = both.chunk(2, dim=-1)
        q = split_heads(self.query(x), self.n_heads)
        return q, k, v

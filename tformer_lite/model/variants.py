"""Other forms of the parts: as the sources have them, and written out."""

import math

import torch
from torch import Tensor, nn

from tformer_lite.model.attention import AttentionLayer, split_heads
from tformer_lite.model.checks import check_alone, check_heads
from tformer_lite.model.layers import LayerNorm, Linear, TokenEmbedding
from tformer_lite.model.masks import causal_mask, window_mask


class PlainEmbedding(TokenEmbedding):
    """Scale by 1, as in sources 002 and 003 and in GPT-2."""

    power = 0.0


class ShrunkEmbedding(TokenEmbedding):
    """Divide by the square root of d_model, as in source 000.

    There the table starts with variance 1, and the positions drown the
    tokens. Here it starts with variance d_model.
    """

    power = -0.5


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
    same function in one fast step of PyTorch's, unless it is "gelu_written".
    """
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def gelu_tanh(x: Tensor) -> Tensor:
    """Approximate `gelu` with a tanh: (...) -> (...).

    Hendrycks and Gimpel (2016), section 2. Source 004's formula. In a model
    it is "gelu_tanh_written"; "gelu_tanh" is PyTorch's.
    """
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return x * (1 + torch.tanh(inner)) / 2


def sliding_mask(
    t: int, device: torch.device | None = None, width: int = 4
) -> Tensor:
    """Let position i see itself and the `width` - 1 before: (1, 1, T, T).

    Jiang et al. (2023), section 2, where `width` is 4,096 tokens.
    """
    return causal_mask(t, device) & window_mask(t, width, device)


class Stacked(Linear):
    """Several square linear layers in one, each started on its own."""

    def reset_parameters(self) -> None:
        """Draw the weights anew and set the biases to 0."""
        super().reset_parameters()
        for square in self.weight.split(self.in_features):
            nn.init.xavier_uniform_(square)


class FusedAttention(AttentionLayer):
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
    ):
        super().__init__()
        check_heads(d_model, n_heads)
        self.n_heads = n_heads
        self.qkv = Stacked(d_model, 3 * d_model, bias)
        self.dropout = nn.Dropout(dropout)
        self.output = Linear(d_model, d_model, bias)

    def project(
        self, x: Tensor, source: Tensor | None = None, start: int = 0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make all three in one: (B, T, C) -> (B, H, T, D), (B, H, T, D),
        (B, H, T, D). A `source` raises ValueError."""
        check_alone(source, "one matrix makes keys and values of x, too")
        q, k, v = split_heads(self.qkv(x), self.n_heads).chunk(3, dim=-1)
        return q, k, v


class FusedCrossAttention(AttentionLayer):
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
        super().__init__()
        check_heads(d_model, n_heads)
        self.n_heads = n_heads
        self.key_value = Stacked(d_model, 2 * d_model, bias)
        self.query = Linear(d_model, d_model, bias)
        self.dropout = nn.Dropout(dropout)
        self.output = Linear(d_model, d_model, bias)

    def project(
        self, x: Tensor, source: Tensor | None = None, start: int = 0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, and both others in one: (B, T, C), (B, S, C) ->
        (B, H, T, D), (B, H, S, D), (B, H, S, D)."""
        source = x if source is None else source
        both = split_heads(self.key_value(source), self.n_heads)
        k, v = both.chunk(2, dim=-1)
        q = split_heads(self.query(x), self.n_heads)
        return q, k, v

"""Causal self-attention as strangers write it: one equation, many layouts.

Each takes queries, keys and values (B, T, H, D) and the mask (T, T), True
where it may attend, and gives (B, T, H, D).
"""

import math

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, softmax


def heads_first(attend):
    """Let an attention have its heads (B, H, T, D), and join them after."""

    def layout(q, k, v, mask):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return attend(q, k, v, mask).transpose(1, 2)

    layout.__name__ = attend.__name__
    return layout


def heads_flat(attend):
    """Let an attention have rows and heads in one axis: (B*H, T, D)."""

    def layout(q, k, v, mask):
        flat = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))
        mixed = attend(*flat, mask)
        return mixed.unflatten(0, (len(q), -1)).transpose(1, 2)

    layout.__name__ = attend.__name__
    return layout


def root(x):
    return math.sqrt(x.shape[-1])


@heads_first
def nanogpt(q, k, v, mask):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = att.masked_fill(~mask, float("-inf"))
    att = softmax(att, dim=-1)
    att = nn.Dropout(0.1).eval()(att)
    return att @ v


@heads_flat
def fairseq(q, k, v, mask):
    """Scores are given their heads back for the mask alone."""
    q = q / root(q)
    weights = torch.bmm(q, k.transpose(1, 2))
    rows, t, s = weights.shape
    weights = weights.view(rows // 3, 3, t, s)
    weights = weights.masked_fill(~mask, float("-inf")).view(rows, t, s)
    weights = softmax(weights, dim=-1, dtype=torch.float32)
    return torch.bmm(weights.type_as(q), v)


@heads_flat
def baddbmm(q, k, v, mask):
    bias = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    bias = bias.expand(len(q), -1, -1)
    scores = torch.baddbmm(bias, q, k.mT, beta=1.0, alpha=1 / root(q))
    rows, t, s = scores.shape
    weights = scores.view(rows // 3, 3, t, s).softmax(-1)
    return weights.view(rows, t, s) @ v


def einsum(q, k, v, mask):
    scores = torch.einsum("bthd,bshd->bhts", q, k) / root(q)
    weights = torch.where(mask, scores, -math.inf).softmax(-1)
    return torch.einsum("bhts,bshd->bthd", weights, v)


def einsum_with_dots(q, k, v, mask):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    scores = torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5
    scores = scores + torch.full(mask.shape, -1e9).triu(1)
    weights = scores.softmax(-1)
    return torch.einsum("...ij,...jd->...id", weights, v).transpose(1, 2)


@heads_first
def transposed_scores(q, k, v, mask):
    scores = (k @ q.mT / root(q)).masked_fill(~mask.T, -math.inf)
    return scores.softmax(dim=-2).mT @ v


@heads_first
def transposed_back_before_softmax(q, k, v, mask):
    scores = (k @ q.mT / root(q)).transpose(-1, -2)
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ v


@heads_flat
def transposed_to_the_end(q, k, v, mask):
    scores = torch.bmm(k, q.mT).div(root(q))
    scores = scores.masked_fill(~mask.T, -math.inf)
    return (v.mT @ scores.softmax(dim=1)).mT


@heads_first
def scaled_after_the_mask(q, k, v, mask):
    scores = (q @ k.mT).masked_fill(~mask, -1e9) / root(q)
    return scores.softmax(-1) @ v


@heads_first
def scaled_before(q, k, v, mask):
    size = q.shape[-1] ** -0.25
    scores = (q * size) @ (k * size).mT
    scores = scores.float().masked_fill(~mask, -math.inf)
    return scores.softmax(-1).to(q.dtype) @ v


@heads_first
def written_over(q, k, v, mask):
    scores = q @ k.mT
    scores /= root(q)
    scores.masked_fill_(~mask, -math.inf)
    return nn.Softmax(dim=-1)(scores) @ v


@heads_first
def written_into(q, k, v, mask):
    scores = q @ k.mT / root(q)
    scores[:, :, ~mask] = -math.inf
    return scores.softmax(-1) @ v


@heads_first
def multiplied_mask(q, k, v, mask):
    """As GPT (2018) has it."""
    b = mask.float()
    w = torch.matmul(q, k.mT) / root(q)
    w = w * b + -1e9 * (1 - b)
    return torch.matmul(nn.Softmax(dim=-1)(w), v)


@heads_first
def powers_and_sum(q, k, v, mask):
    scores = (q @ k.mT / root(q)).masked_fill(~mask, -math.inf)
    return torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True) @ v


@heads_first
def largest_subtracted(q, k, v, mask):
    scores = (q @ k.mT / root(q)).masked_fill(~mask, -math.inf)
    powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return powers / powers.sum(-1, keepdim=True) @ v


@heads_first
def powers_masked(q, k, v, mask):
    scores = 1 / root(q) * (q @ k.mT)
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return powers / (powers.sum(-1).unsqueeze(-1) + 1e-9) @ v


@heads_first
def logarithms(q, k, v, mask):
    scores = (q @ k.mT / root(q)).masked_fill(~mask, -math.inf)
    return torch.log_softmax(scores, -1).exp() @ v


@heads_first
def one_call(q, k, v, mask):
    return scaled_dot_product_attention(q, k, v, is_causal=True)


@heads_first
def heads_in_a_stack(q, k, v, mask):
    scores = [a @ b.mT / root(q) for a, b in zip(q.unbind(1), k.unbind(1))]
    scores = [one.masked_fill(~mask, -math.inf) for one in scores]
    return torch.stack(scores, dim=1).softmax(-1) @ v


# All that are written above, in this order.
LAYOUTS = [
    found
    for found in [*globals().values()]
    if getattr(found, "__code__", None)
    and found.__code__.co_varnames[:4] == ("q", "k", "v", "mask")
]


class Layer(nn.Module):
    """A layer around one of them: positions, projections and heads.

    With `shared`, one head of keys and values serves all queries; `loud` is
    a factor of the keys, which belongs into no attention.
    """

    def __init__(self, attend, heads=3, size=4, shared=False, loud=1.0):
        super().__init__()
        self.attend, self.heads, self.loud = attend, heads, loud
        all_heads, some = heads * size, size if shared else heads * size
        self.positions = nn.Embedding(8, all_heads)
        self.query = nn.Linear(all_heads, all_heads)
        self.key, self.value = (nn.Linear(all_heads, some) for _ in range(2))
        self.output = nn.Linear(all_heads, all_heads)

    def split(self, source, x):
        """The heads of queries, keys and values: (B, T, H, D)."""
        source, x = (
            y + self.positions(torch.arange(y.shape[1])) for y in (source, x)
        )
        parts = self.query(x), self.key(source), self.value(source)
        q, k, v = (
            y.unflatten(-1, (-1, x.shape[-1] // self.heads)) for y in parts
        )
        k, v = (y.expand(-1, -1, self.heads, -1) for y in (k, v))
        return q, k * self.loud, v

    def forward(self, *inputs):
        q, k, v = self.split(inputs[0], inputs[-1])
        mask = torch.ones(q.shape[1], k.shape[1]).tril() > 0
        return self.output(self.attend(q, k, v, mask).flatten(2))

"""Attention with something added to its scores, by positions."""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from tests.helpers.heads import Own
from tests.helpers.places import Nameless

HEADS, MOST = 4, 8


APART = torch.arange(MOST)[:, None] - torch.arange(MOST)


SLOPES = 2.0 ** -torch.arange(1, 1 + HEADS)[:, None, None]


SEEN = APART >= 0


class Biased(Own):
    """Something (H, T, T) is added to the scores, which may be handed to one
    call with the mask."""

    def __init__(self, bias, fused=False, causal=True):
        super().__init__()
        self.bias, self.fused, self.causal = bias, fused, causal
        self.table = nn.Parameter(torch.randn(MOST, MOST, HEADS))

    def forward(self, x, hidden=None):
        t = x.shape[1]
        bias = self.bias(self.table[:t, :t], APART[:t, :t])
        hidden = ~SEEN[:t, :t] & self.causal
        q, k, v = self.split(x)
        if self.fused:
            mask = bias.expand(HEADS, t, t).masked_fill(hidden, -torch.inf)
            made = scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = (q @ k.mT / 2 + bias).masked_fill(hidden, -torch.inf)
            made = scores.softmax(-1) @ v
        return self.out(self.join(made))


def alibi(table, apart):
    return -SLOPES * apart.abs()


def by_key(table, apart):
    """As BLOOM has it: a row of numbers of positions for each head."""
    return SLOPES * torch.arange(len(apart))


def free(table, apart):
    return table.permute(2, 0, 1)


def viewed(table, apart):
    rows = table.flatten(0, 1)[apart.clamp(-5, 5) + 5]
    return rows.reshape(HEADS, *apart.shape)


def looking_far(table, apart):
    return -alibi(table, apart)


def by_query(table, apart):
    return -SLOPES * torch.arange(len(apart))[:, None]


def made(*options):
    return Nameless(lambda: Biased(*options))

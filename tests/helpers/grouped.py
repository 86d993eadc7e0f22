"""Grouped-query attention as strangers write it: fewer keys than queries.

Each takes queries (B, H, T, D), keys and values (B, G, S, D) and the mask
(T, S), True where it may attend, and gives (B, H, T, D). Query head h reads
the key head h // (H / G).
"""

import math

import torch
from torch import einsum
from torch.nn.functional import scaled_dot_product_attention


def hidden(scores, mask):
    return scores.masked_fill(~mask, -math.inf)


def ratio(q, k):
    return q.shape[1] // k.shape[1]


def ungrouped(q, k, v, mask):
    weights = hidden(q @ k.mT / math.sqrt(q.shape[-1]), mask).softmax(-1)
    return weights @ v


def llama_expand(q, k, v, mask):
    def repeat_kv(x, n):
        b, g, s, d = x.shape
        x = x[:, :, None, :, :].expand(b, g, n, s, d)
        return x.reshape(b, g * n, s, d)

    n = ratio(q, k)
    return ungrouped(q, repeat_kv(k, n), repeat_kv(v, n), mask)


def by_index(q, k, v, mask):
    which = torch.arange(q.shape[1]) // ratio(q, k)
    return ungrouped(q, k[:, which], v.index_select(1, which), mask)


def sdpa_of_repeated(q, k, v, mask):
    n = ratio(q, k)
    k, v = (x.repeat_interleave(n, dim=1) for x in (k, v))
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def sdpa_enable_gqa(q, k, v, mask):
    return scaled_dot_product_attention(
        q, k, v, attn_mask=mask, enable_gqa=True
    )


def sdpa_of_five_axes(q, k, v, mask):
    q = q.unflatten(1, (k.shape[1], -1))
    k, v = k[:, :, None], v[:, :, None]
    return scaled_dot_product_attention(q, k, v, attn_mask=mask).flatten(1, 2)


def five_axes(q, k, v, mask):
    q = q.unflatten(1, (k.shape[1], -1))
    scores = q @ k[:, :, None].mT / math.sqrt(q.shape[-1])
    weights = hidden(scores, mask).softmax(-1)
    return (weights @ v[:, :, None]).flatten(1, 2)


def einsum_groups_behind(q, k, v, mask):
    """As T5X has it: the group stands behind the position."""
    q = q.unflatten(1, (k.shape[1], -1)).permute(0, 3, 1, 2, 4)
    scores = einsum("btgnd,bgsd->bgnts", q, k) / math.sqrt(q.shape[-1])
    weights = hidden(scores, mask).softmax(dim=-1)
    return einsum("bgnts,bgsd->btgnd", weights, v).permute(
        0, 2, 3, 1, 4
    ).flatten(1, 2)  # fmt: skip


def joined_before_the_softmax(q, k, v, mask):
    n, g = ratio(q, k), k.shape[1]
    scores = q.unflatten(1, (g, n)) @ k.unsqueeze(2).transpose(-1, -2)
    scores = scores.flatten(1, 2) / math.sqrt(q.shape[-1])
    weights = hidden(scores, mask).softmax(-1)
    return (weights.unflatten(1, (g, n)) @ v.unsqueeze(2)).flatten(1, 2)


def heads_as_rows(q, k, v, mask):
    """As GPTBigCode had it: the heads of a group are more positions."""
    b, h, t, d = q.shape
    g, s, n = k.shape[1], k.shape[2], ratio(q, k)
    rows = q.reshape(b * g, n * t, d)
    scores = torch.bmm(rows, k.reshape(b * g, s, d).mT) / math.sqrt(d)
    weights = hidden(scores.view(b, h, t, s), mask).softmax(-1)
    weights = weights.view(b * g, n * t, s)
    return torch.bmm(weights, v.reshape(b * g, s, d)).view(b, h, t, d)


def weights_by_group(q, k, v, mask):
    """Each group has a softmax of its own."""
    n, made = ratio(q, k), []
    for i in range(k.shape[1]):
        own = q[:, i * n : (i + 1) * n]
        scores = own @ k[:, i, None].mT / math.sqrt(q.shape[-1])
        made.append(hidden(scores, mask).softmax(-1) @ v[:, i, None])
    return torch.cat(made, dim=1)


LAYOUTS = [x for x in list(globals().values()) if callable(x)]
NO_LAYOUTS = {"einsum", "softmax", "scaled_dot_product_attention"}
NO_LAYOUTS |= {"hidden", "ratio", "ungrouped"}
LAYOUTS = [x for x in LAYOUTS if x.__name__ not in NO_LAYOUTS]

"""Attention in tiles is attention; experts are weighed as a router says."""

import math
from functools import partial

import pytest
import torch
from torch import nn

from tests.helpers.agreement import exact, near
from tformer_lite import (
    FeedForward,
    MixtureOfExperts,
    MultiHeadAttention,
    TiledAttention,
    causal_mask,
    dot_product_attention,
    rotate,
    tiled_attention,
    trace,
)

B, H, T, S, D, C, F = 2, 3, 7, 5, 4, 12, 20


@pytest.mark.parametrize("width", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("masked", [False, True])
def test_tiles_give_what_attention_gives_and_the_same_gradients(width, masked):
    shapes = (B, H, T, D), (B, H, S, D), (B, H, S, D)
    tensors = [exact(*shape).requires_grad_() for shape in shapes]
    mask = torch.rand(B, 1, T, S) > 0.5 if masked else None
    if masked:
        mask[0, 0, 2] = False  # a row without keys
    tiles = tiled_attention(*tensors, mask, width=width)
    heads = dot_product_attention(*tensors, mask)
    near(tiles, heads)
    loss = torch.randn_like(heads)
    back = [
        torch.autograd.grad((x * loss).sum(), tensors) for x in (tiles, heads)
    ]
    for mine, theirs in zip(*back):
        near(mine, theirs)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_large_scores_do_not_overflow_in_half_precision(dtype):
    q, k, v = (40 * torch.randn(1, 1, 8, 4, dtype=dtype) for _ in "qkv")
    assert tiled_attention(q, k, v, causal_mask(8)).isfinite().all()


def test_no_step_of_the_tiles_holds_all_scores():
    q, k, v = (torch.randn(1, 2, 30, 4) for _ in "qkv")
    steps = trace(partial(tiled_attention, width=4), q, k, v)
    sizes = [axes for _, results in steps.axes for axes in results]
    counts = [math.prod(axis.size for axis in axes) for axes in sizes]
    assert 0 < max(counts) < 2 * 30 * 30


def test_a_tiled_layer_is_a_layer_with_the_same_weights():
    tiled = TiledAttention(C, H, place=rotate).double()
    tiled.width = 3
    plain = MultiHeadAttention(C, H, place=rotate).double()
    plain.load_state_dict(tiled.state_dict())
    x, source = exact(B, T, C), exact(B, S, C)
    near(tiled(x, mask=causal_mask(T)), plain(x, mask=causal_mask(T)))
    near(tiled(x, source), plain(x, source))


def test_dropped_weights_are_made_up_for():
    """The mean over many draws is what comes out without dropout."""
    q, k, v = exact(1, 1, 2, D), exact(1, 1, S, D), exact(1, 1, S, D)
    many = [each.expand(20000, *each.shape[1:]) for each in (q, k, v)]
    mean = tiled_attention(*many, dropout=nn.Dropout(0.3)).mean(0)
    heads = tiled_attention(q, k, v)[0]
    torch.testing.assert_close(mean, heads, atol=0.05, rtol=0)


@pytest.mark.parametrize("top_k", [1, 2, 4])
def test_experts_are_added_up_as_the_router_says(top_k, monkeypatch):
    """The witness asks every expert everywhere, row by row. An expert works
    only where it was chosen."""
    layer = MixtureOfExperts(C, F, n_experts=4, top_k=top_k).double()
    x, wanted = exact(B, T, C), []
    for row in x.flatten(0, 1):
        scores = layer.router(row)
        best = scores.argsort(descending=True)[:top_k]
        shares = scores[best].softmax(-1)
        answers = [layer.experts[i](row) for i in best.tolist()]
        wanted.append(sum(s * a for s, a in zip(shares, answers)))
    rows, forward = [], FeedForward.forward

    def count(self, x):
        rows.append(len(x))
        return forward(self, x)

    monkeypatch.setattr(FeedForward, "forward", count)
    near(layer(x), torch.stack(wanted).view(B, T, C))
    assert sum(rows) == top_k * B * T


def test_sizes_that_cannot_be_are_refused():
    for top_k in (0, 5):
        with pytest.raises(ValueError, match=rf"{top_k=} of n_experts=4"):
            MixtureOfExperts(C, F, n_experts=4, top_k=top_k)
    with pytest.raises(ValueError, match="width=0"):
        tiled_attention(*[torch.zeros(1, 2, 4)] * 3, width=0)

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


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("masked", [False, True])
def test_tiles_give_what_attention_gives_and_the_same_gradients(width, masked):
    shapes = (B, H, T, D), (B, H, S, D), (B, H, S, D)
    given = [exact(*shape).requires_grad_() for shape in shapes]
    mask = torch.rand(B, 1, T, S) > 0.5 if masked else None
    if masked:
        mask[0, 0, 2] = False  # a row without keys
    out = tiled_attention(*given, mask, width=width)
    near(out, dot_product_attention(*given, mask))
    loss = torch.randn_like(out)
    near(
        *(
            torch.autograd.grad((f(*given, mask) * loss).sum(), given)[1]
            for f in (
                partial(tiled_attention, width=width),
                dot_product_attention,
            )
        )
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_large_scores_do_not_overflow_in_half_precision(dtype):
    q, k, v = (40 * torch.randn(1, 1, 8, 4, dtype=dtype) for _ in "qkv")
    assert tiled_attention(q, k, v, causal_mask(8)).isfinite().all()


def test_no_step_of_the_tiles_holds_all_scores():
    q, k, v = (torch.randn(1, 2, 30, 4) for _ in "qkv")
    seen = trace(partial(tiled_attention, width=4), q, k, v)
    sizes = [axes for _, made in seen.axes for axes in made]
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
    whole = tiled_attention(q, k, v)[0]
    torch.testing.assert_close(mean, whole, atol=0.05, rtol=0)


@pytest.mark.parametrize("top_k", [1, 2, 4])
def test_experts_are_added_up_as_the_router_says(top_k):
    """The witness asks every expert everywhere, row by row."""
    layer = MixtureOfExperts(C, F, n_experts=4, top_k=top_k).double()
    x = exact(B, T, C)
    wanted = torch.empty_like(x)
    for b in range(B):
        for t in range(T):
            scores = layer.router(x[b, t])
            best = scores.argsort(descending=True)[:top_k]
            shares = scores[best].exp() / scores[best].exp().sum()
            answers = [layer.experts[i](x[b, t]) for i in best.tolist()]
            wanted[b, t] = sum(s * a for s, a in zip(shares, answers))
    near(layer(x), wanted)


def test_an_expert_works_only_where_it_was_chosen(monkeypatch):
    layer, rows = MixtureOfExperts(C, F, n_experts=5, top_k=2), []
    forward = FeedForward.forward
    monkeypatch.setattr(
        FeedForward,
        "forward",
        lambda self, x: rows.append(len(x)) or forward(self, x),
    )
    layer(torch.randn(B, T, C))
    assert sum(rows) == 2 * B * T


def test_sizes_that_cannot_be_are_refused():
    for top_k in (0, 5):
        with pytest.raises(ValueError, match=rf"{top_k=} of n_experts=4"):
            MixtureOfExperts(C, F, n_experts=4, top_k=top_k)
    with pytest.raises(ValueError, match="width=0"):
        tiled_attention(*[torch.zeros(1, 2, 4)] * 3, width=0)

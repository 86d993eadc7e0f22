"""Attention against PyTorch's own."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from tformer_lite import (
    MultiHeadAttention,
    causal_mask,
    dot_product_attention,
    join_heads,
    padding_mask,
    softmax,
    split_heads,
)

B, T, S, H, D = 2, 5, 6, 3, 4
C = H * D


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_softmax_is_pytorchs_also_for_scores_that_overflow():
    scores = torch.tensor([[1.0, 2.0, 3.0], [1000.0, 0.0, -1000.0]])
    assert_close(softmax(scores), torch.softmax(scores, -1))


def test_a_row_with_nobody_to_attend_to_gives_zeros_and_no_gradient():
    scores = torch.full((2, 3), -math.inf)
    scores[0] = torch.tensor([0.5, 1.0, -math.inf])
    scores.requires_grad_()
    weights = softmax(scores)
    weights[:, 0].sum().backward()
    assert_close(weights[1], torch.zeros(3))
    assert scores.grad.isfinite().all()
    assert_close(scores.grad[1], torch.zeros(3))
    assert scores.grad[0, 0] > 0


@pytest.mark.parametrize("masked", [False, True])
def test_dot_product_attention_is_pytorchs(masked):
    q, k, v = (torch.randn(B, H, n, D) for n in (T, S, S))
    mask = torch.rand(B, 1, T, S) > 0.3 if masked else None
    if masked:
        mask[..., 0] = True
    assert_close(
        dot_product_attention(q, k, v, mask),
        scaled_dot_product_attention(q, k, v, mask),
        atol=1e-6,
        rtol=0,
    )


def test_a_fully_masked_row_of_attention_gives_zeros_as_pytorchs_does():
    q, k, v = (torch.randn(B, H, n, D) for n in (T, S, S))
    mask = torch.ones(B, 1, T, S, dtype=torch.bool)
    mask[0, :, 2] = False
    mine = dot_product_attention(q, k, v, mask)
    assert_close(mine, scaled_dot_product_attention(q, k, v, mask))
    assert_close(mine[0, :, 2], torch.zeros(H, D))


def test_heads_take_neighbouring_channels_and_joining_undoes_splitting():
    x = torch.arange(B * T * C).view(B, T, C)
    heads = split_heads(x, H)
    assert heads.shape == (B, H, T, D)
    assert heads[1, 2, 3].tolist() == x[1, 3, 2 * D : 3 * D].tolist()
    assert join_heads(heads).equal(x)


def copied(mine: MultiHeadAttention) -> nn.MultiheadAttention:
    """PyTorch's layer with our weights."""
    theirs = nn.MultiheadAttention(
        C, H, bias=mine.query.bias is not None, batch_first=True
    )
    projections = mine.query, mine.key, mine.value
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.out_proj.weight.copy_(mine.output.weight)
        if theirs.in_proj_bias is not None:
            theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
            theirs.out_proj.bias.copy_(mine.output.bias)
    return theirs


@pytest.mark.parametrize("bias", [False, True])
def test_self_attention_is_pytorchs_layer(bias):
    mine = MultiHeadAttention(C, H, bias)
    x = torch.randn(B, T, C)
    ids = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 1, 1]])
    mask = padding_mask(ids, pad=1) & causal_mask(T)
    theirs, _ = copied(mine)(
        x, x, x, key_padding_mask=ids == 1, attn_mask=~causal_mask(T)[0, 0]
    )
    assert_close(mine(x, mask=mask), theirs, atol=1e-6, rtol=0)


def test_cross_attention_takes_keys_and_values_from_the_source():
    mine = MultiHeadAttention(C, H)
    x, source = torch.randn(B, T, C), torch.randn(B, S, C)
    theirs, _ = copied(mine)(x, source, source)
    assert_close(mine(x, source), theirs, atol=1e-6, rtol=0)


def test_projections_keep_the_variance_of_their_input():
    layer = MultiHeadAttention(512, 8)
    q = layer.query(torch.randn(64, 512))
    assert 0.9 < q.var().item() < 1.1


def test_channels_that_do_not_divide_are_refused_by_name():
    with pytest.raises(ValueError, match="d_model=12 .* n_heads=5"):
        MultiHeadAttention(d_model=12, n_heads=5)
    with pytest.raises(ValueError, match="d_model=12 .* n_heads=5"):
        split_heads(torch.zeros(B, T, 12), 5)

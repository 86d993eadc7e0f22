"""The arithmetic of attention against PyTorch's, and its heads."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from tests.helpers.agreement import PAD, TGT, agree_in_values, ripple
from tformer_lite import (
    causal_mask,
    dot_product_attention,
    join_heads,
    padding_mask,
    softmax,
    split_heads,
)

B, T, S, H, D = 3, 5, 6, 3, 4
C = H * D


def test_softmax_is_pytorchs_also_for_scores_that_overflow():
    scores = torch.tensor([[1.0, 2.0, 3.0], [1000.0, 0.0, -1000.0]])
    assert_close(softmax(scores), torch.softmax(scores, -1))


def draw(t: int, s: int) -> list[Tensor]:
    """Queries, keys and values."""
    return [torch.randn(B, H, n, D, requires_grad=True) for n in (t, s, s)]


def some_keys(*axes: int) -> Tensor:
    """A mask that leaves every query its first key."""
    mask = torch.rand(*axes, S) > 0.4
    mask[..., 0] = True
    return mask


def some_without_keys() -> Tensor:
    """A mask that hides every key from some queries."""
    mask = torch.rand(B, H, T, S) > 0.4
    mask[1, :, 2] = mask[2] = False
    return mask


MASKS = {
    "causal": lambda: causal_mask(T),
    "both": lambda: causal_mask(T) & padding_mask(TGT, PAD),
    "batch": lambda: some_keys(B, 1, 1),
    "queries": lambda: some_keys(1, 1, T),
    "heads": lambda: some_keys(1, H, 1),
    "every axis": lambda: some_keys(B, H, T),
    "no key": some_without_keys,
}


@pytest.mark.parametrize(
    ("t", "name"),
    [(T, None), (S, None), (1, None), *((T, name) for name in MASKS)],
)
def test_attention_and_what_it_sends_back_are_pytorchs(t, name):
    mask = MASKS[name]() if name else None
    tensors = draw(t, S if mask is None else mask.shape[-1])
    mine = dot_product_attention(*tensors, mask)
    theirs = scaled_dot_product_attention(*tensors, mask)
    agree_in_values(mine, theirs)
    back = [torch.autograd.grad(x, tensors, ripple(x)) for x in (mine, theirs)]
    for pair in zip(*back):
        agree_in_values(*pair)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64]
)
@pytest.mark.parametrize("mixed", [False, True])
def test_queries_without_keys_make_no_nan_on_the_way_or_back(dtype, mixed):
    tensors = [x.detach().to(dtype).requires_grad_() for x in draw(T, S)]
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=mixed)
    with torch.autograd.set_detect_anomaly(True), autocast:  # raises for NaN
        heads = dot_product_attention(*tensors, some_without_keys())
        back = torch.autograd.grad(heads, tensors, ripple(heads))
    for nothing in (heads, *back):
        assert not nothing[2].any()
        assert nothing.isfinite().all()
        assert nothing[0].any()
    assert not heads[1, :, 2].any()
    assert not back[0][1, :, 2].any()
    assert heads.dtype in ({dtype, torch.bfloat16} if mixed else {dtype})


def test_scores_that_are_nan_are_not_hidden():
    q, k, v = (x.detach() for x in draw(T, S))
    q[0, 1, 2] = q[1, 1, 2] = math.nan
    lost = dot_product_attention(q, k, v, some_without_keys()).isnan()
    assert lost[0, 1, 2].all()
    assert lost[1, 1, 2].all()
    assert lost.sum() == 2 * D


def test_heads_take_neighbouring_channels_and_joining_undoes_splitting():
    x = torch.arange(B * T * C).view(B, T, C)
    heads = split_heads(x, H)
    assert heads.shape == (B, H, T, D)
    assert heads[1, 2, 3].tolist() == x[1, 3, 2 * D : 3 * D].tolist()
    assert join_heads(heads).equal(x)

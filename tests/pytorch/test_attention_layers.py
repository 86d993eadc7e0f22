"""The attention layers against nn.MultiheadAttention."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from tests.helpers.agreement import (
    agree_in_gradients,
    agree_in_values,
    in_both_precisions,
    one_thread,
)
from tests.helpers.pytorch_weights import counterpart, hidden_future, stirred
from tformer_lite import (
    Config,
    FusedAttention,
    FusedCrossAttention,
    MultiHeadAttention,
    causal_mask,
    padding_mask,
)

B, T, S, H, D = 3, 5, 6, 3, 4
C = H * D
PAD = 1
TGT = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 1, 1], [5, 1, 7, 8, 1]])
SRC = torch.tensor(
    [[5, 6, 7, 8, 9, 4], [5, 6, 7, 1, 1, 1], [5, 1, 7, 1, 8, 1]]
)
config = Config(vocab_size=10, max_len=8, d_model=C, n_heads=H, dropout=0.0)

split_or_fused = pytest.mark.parametrize(
    "kind", [MultiHeadAttention, FusedAttention]
)
split_or_fused_cross = pytest.mark.parametrize(
    "kind", [MultiHeadAttention, FusedCrossAttention]
)
with_or_without_bias = pytest.mark.parametrize("bias", [False, True])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
    with one_thread():
        yield


def pair(
    kind: type, bias: bool = True, dropout: float = 0.0
) -> tuple[nn.Module, nn.MultiheadAttention]:
    """Our layer, and PyTorch's with the same weights."""
    mine = stirred(kind(C, H, bias, dropout))
    return mine, counterpart(mine, replace(config, bias=bias, dropout=dropout))


MASKS = {
    "none": (None, {}),
    "padding": (padding_mask(TGT, PAD), {"key_padding_mask": TGT == PAD}),
    "causal": (causal_mask(T), {"attn_mask": hidden_future(T)}),
    "both": (
        padding_mask(TGT, PAD) & causal_mask(T),
        {"key_padding_mask": TGT == PAD, "attn_mask": hidden_future(T)},
    ),
}


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masks", MASKS)
@with_or_without_bias
@split_or_fused
def test_self_attention_is_pytorchs_layer(kind, bias, masks, need_weights):
    mine, theirs = pair(kind, bias)
    x = torch.randn(B, T, C)
    mask, hidden = MASKS[masks]
    result, _ = theirs(x, x, x, need_weights=need_weights, **hidden)
    agree_in_values(mine(x, mask=mask), result)


@pytest.mark.parametrize("padded", [False, True])
@with_or_without_bias
@split_or_fused_cross
def test_cross_attention_is_pytorchs_layer(kind, bias, padded):
    mine, theirs = pair(kind, bias)
    x, source = torch.randn(B, T, C), torch.randn(B, S, C)
    mask = padding_mask(SRC, PAD) if padded else None
    hidden = SRC == PAD if padded else None
    result, _ = theirs(x, source, source, hidden, need_weights=False)
    agree_in_values(mine(x, source, mask), result)


@split_or_fused_cross
def test_each_head_can_have_a_mask_of_its_own(kind):
    mine, theirs = pair(kind)
    x, source = torch.randn(B, T, C), torch.randn(B, S, C)
    mask = torch.rand(B, H, T, S) > 0.4
    mask[..., 0] = True
    hidden = ~mask.flatten(0, 1)
    result, _ = theirs(x, source, source, attn_mask=hidden, need_weights=False)
    agree_in_values(mine(x, source, mask), result)


@split_or_fused
def test_positions_that_see_nobody_get_the_last_bias(kind):
    mine, theirs = pair(kind)
    x = torch.randn(B, T, C)
    ids = TGT.clone()
    ids[1], ids[2, 0] = PAD, PAD
    mask = padding_mask(ids, PAD) & causal_mask(T)
    result, _ = theirs(
        x, x, x, ids == PAD, attn_mask=hidden_future(T), need_weights=False
    )
    heads = mine(x, mask=mask)
    agree_in_values(heads, result)
    agree_in_values(heads[1], mine.output.bias.expand(T, C))
    agree_in_values(heads[2, :2], mine.output.bias.expand(2, C))


@split_or_fused_cross
def test_a_source_of_padding_alone_gives_the_last_bias(kind):
    mine, theirs = pair(kind)
    x, source = torch.randn(B, T, C), torch.randn(B, S, C)
    ids = SRC.clone()
    ids[1] = PAD
    result, _ = theirs(x, source, source, ids == PAD, need_weights=False)
    mixed = mine(x, source, padding_mask(ids, PAD))
    agree_in_values(mixed, result)
    agree_in_values(mixed[1], mine.output.bias.expand(T, C))


@in_both_precisions
@split_or_fused
def test_the_gradients_of_self_attention_are_pytorchs(kind, dtype):
    mine, theirs = (layer.to(dtype) for layer in pair(kind))
    x = torch.randn(B, T, C, dtype=dtype, requires_grad=True)
    mask, hidden = MASKS["both"]
    result, _ = theirs(x, x, x, need_weights=False, **hidden)
    outputs = mine(x, mask=mask), result
    agree_in_gradients(mine, theirs, outputs, [x])


@in_both_precisions
@split_or_fused_cross
def test_the_gradients_of_cross_attention_are_pytorchs(kind, dtype):
    mine, theirs = (layer.to(dtype) for layer in pair(kind))
    x, source = (
        torch.randn(B, n, C, dtype=dtype, requires_grad=True) for n in (T, S)
    )
    result, _ = theirs(x, source, source, SRC == PAD, need_weights=False)
    outputs = mine(x, source, padding_mask(SRC, PAD)), result
    agree_in_gradients(mine, theirs, outputs, [x, source])

"""The attention layers against nn.MultiheadAttention."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.helpers.agreement import (
    PAD,
    SRC,
    TGT,
    agree_in_gradients,
    agree_in_values,
    in_both_precisions,
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
# A sentence that is padding alone, and one that starts with padding.
EMPTY = torch.tensor([[5, 6, 7, 8, 9, 4], [1] * 6, [1, 1, 7, 8, 1, 4]])
config = Config(vocab_size=10, max_len=8, d_model=C, n_heads=H, dropout=0.0)
every_self = pytest.mark.parametrize(
    "kind", [MultiHeadAttention, FusedAttention]
)
every_cross = pytest.mark.parametrize(
    "kind", [MultiHeadAttention, FusedCrossAttention]
)


def pair(kind: type, bias: bool = True, dtype=torch.float32) -> list:
    """Our layer, and PyTorch's with the same weights."""
    mine = stirred(kind(C, H, bias))
    theirs = counterpart(mine, replace(config, bias=bias))
    return [mine.to(dtype), theirs.to(dtype)]


def draw(length: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(B, length, C, dtype=dtype, requires_grad=True)


def check_gradients(layers: list, inputs: list, ours: dict, hidden: dict):
    """Compare what both give and send back; PyTorch is told what to hide."""
    mine, theirs = layers
    given = inputs[0], inputs[-1], inputs[-1]
    outputs = mine(*inputs, **ours), theirs(*given, **hidden)[0]
    agree_in_gradients(mine, theirs, outputs, inputs)


MASKS = {
    "none": (None, {}),
    "padding": (padding_mask(TGT, PAD), {"key_padding_mask": TGT == PAD}),
    "causal": (causal_mask(T), {"attn_mask": hidden_future(T)}),
    "both": (
        padding_mask(TGT, PAD) & causal_mask(T),
        {"key_padding_mask": TGT == PAD, "attn_mask": hidden_future(T)},
    ),
}


@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("bias", [False, True])
@in_both_precisions
@every_self
def test_self_attention_is_pytorchs_layer(kind, dtype, bias, masks):
    mask, hidden = MASKS[masks]
    hidden = hidden | {"need_weights": False}
    layers = pair(kind, bias, dtype)
    check_gradients(layers, [draw(T, dtype)], {"mask": mask}, hidden)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@in_both_precisions
@every_cross
def test_cross_attention_is_pytorchs_layer(kind, dtype, bias, padded):
    mask = {"mask": padding_mask(SRC, PAD)} if padded else {}
    hidden = {"key_padding_mask": SRC == PAD if padded else None}
    inputs = [draw(T, dtype), draw(S, dtype)]
    check_gradients(pair(kind, bias, dtype), inputs, mask, hidden)


@every_cross
def test_each_head_can_have_a_mask_of_its_own(kind):
    mask = torch.rand(B, H, T, S) > 0.4
    mask[..., 0] = True
    hidden = {"attn_mask": ~mask.flatten(0, 1), "need_weights": False}
    check_gradients(pair(kind), [draw(T), draw(S)], {"mask": mask}, hidden)


@pytest.mark.parametrize(
    "kind", [MultiHeadAttention, FusedAttention, FusedCrossAttention]
)
def test_positions_that_see_nobody_get_the_last_bias(kind):
    mine, theirs = pair(kind)
    x = draw(S)
    mask = padding_mask(EMPTY, PAD) & causal_mask(S)
    sources = [x] if kind is FusedCrossAttention else []
    heads = mine(x, *sources, mask=mask)
    hidden = {"key_padding_mask": EMPTY == PAD, "attn_mask": hidden_future(S)}
    agree_in_values(heads, theirs(x, x, x, need_weights=False, **hidden)[0])
    agree_in_values(heads[1], mine.output.bias.expand(S, C))
    agree_in_values(heads[2, :2], mine.output.bias.expand(2, C))

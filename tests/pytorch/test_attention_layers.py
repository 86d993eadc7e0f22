"""The attention layers against nn.MultiheadAttention."""

from dataclasses import replace
from itertools import product

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


def pair(kind: type, bias: bool = True, dtype=torch.float32) -> list:
    """Our layer, and PyTorch's with the same weights."""
    mine = stirred(kind(C, H, bias))
    theirs = counterpart(mine, replace(config, bias=bias))
    return [mine.to(dtype), theirs.to(dtype)]


def draw(length: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(B, length, C, dtype=dtype, requires_grad=True)


# Each query sees its first key, and some others.
SOME = torch.rand(B, H, T, S, generator=torch.Generator().manual_seed(0)) > 0.4
SOME[..., 0] = True
# Our mask, and PyTorch's words for it.
SELF = {
    "none": (None, {}),
    "padding": (padding_mask(TGT, PAD), {"key_padding_mask": TGT == PAD}),
    "causal": (causal_mask(T), {"attn_mask": hidden_future(T)}),
    "both": (
        padding_mask(TGT, PAD) & causal_mask(T),
        {"key_padding_mask": TGT == PAD, "attn_mask": hidden_future(T)},
    ),
}
CROSS = {
    "none": (None, {}),
    "padding": (padding_mask(SRC, PAD), {"key_padding_mask": SRC == PAD}),
    "a mask for each head": (SOME, {"attn_mask": ~SOME.flatten(0, 1)}),
}
CASES = [*product([MultiHeadAttention, FusedAttention], [(T,)], SELF)]
CASES += product([MultiHeadAttention, FusedCrossAttention], [(T, S)], CROSS)


@pytest.mark.parametrize(("kind", "lengths", "name"), CASES)
@pytest.mark.parametrize("bias", [False, True])
@in_both_precisions
def test_attention_is_pytorchs_layer(kind, lengths, name, bias, dtype):
    """Of a target to itself, and to a source."""
    mask, hidden = (SELF if len(lengths) == 1 else CROSS)[name]
    mine, theirs = pair(kind, bias, dtype)
    inputs = [draw(n, dtype) for n in lengths]
    read = inputs[0], inputs[-1], inputs[-1]
    outputs = (
        mine(*inputs, mask=mask),
        theirs(*read, need_weights=False, **hidden)[0],
    )
    agree_in_gradients(mine, theirs, outputs, inputs)


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

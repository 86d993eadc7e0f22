"""Blocks against PyTorch's encoder and decoder layers.

A layer's gradients add several sums up: float32 is held to 1e-5 there.
"""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.helpers.agreement import (
    ADDED_UP,
    PAD,
    SRC,
    TGT,
    agree_in_gradients,
    agree_in_values,
    in_both_precisions,
)
from tests.helpers.pytorch_weights import counterpart, hidden_future, stirred
from tformer_lite import Config, causal_mask, padding_mask
from tformer_lite.model.models import BLOCKS

B, T, S, C = 3, 5, 6, 12

sizes = Config(
    vocab_size=10, max_len=8, d_model=C, n_heads=3, n_layers=2, d_ff=20,
    dropout=0.0,
)  # fmt: skip
before_or_after = pytest.mark.parametrize("residual", ["pre", "post"])
split_or_fused = pytest.mark.parametrize("attention", ["split", "fused"])
either_block = pytest.mark.parametrize("cross", [False, True])


def build_pair(cross: bool, dtype=torch.float32, **choices) -> list[nn.Module]:
    """Our block, without or with cross-attention, and PyTorch's with the
    same weights."""
    config = replace(sizes, **choices)
    mine = stirred(BLOCKS[config.residual][cross](config)).to(dtype)
    return [mine, counterpart(mine, config)]


def draw(cross: bool, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """A target, and a source for cross-attention."""
    lengths = (T, S) if cross else (T,)
    options = {"dtype": dtype, "requires_grad": True}
    return [torch.randn(B, n, C, **options) for n in lengths]


def run_both(both: list, inputs: list) -> list:
    """Both blocks' outputs under masks; PyTorch's say True for hidden."""
    mine, theirs = both
    mask = padding_mask(TGT, PAD)
    if len(inputs) == 1:
        return [
            mine(*inputs, mask),
            theirs(*inputs, src_key_padding_mask=TGT == PAD),
        ]
    hidden = {
        "tgt_mask": hidden_future(T),
        "tgt_key_padding_mask": TGT == PAD,
        "memory_key_padding_mask": SRC == PAD,
    }
    masks = mask & causal_mask(T), padding_mask(SRC, PAD)
    return [mine(*inputs, *masks), theirs(*inputs, **hidden)]


@pytest.mark.slow
@in_both_precisions
@split_or_fused
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh"])
@before_or_after
@either_block
def test_a_block_is_pytorchs_layer(
    cross, residual, activation, attention, dtype
):
    choices = {"attention": attention, "activation": activation}
    both = build_pair(cross, dtype, residual=residual, **choices)
    inputs = draw(cross, dtype)
    outputs = run_both(both, inputs)
    agree_in_gradients(*both, outputs, inputs, ADDED_UP)


@split_or_fused
@before_or_after
@either_block
def test_dropout_strikes_where_pytorchs_does(cross, residual, attention):
    choices = {"residual": residual, "attention": attention, "dropout": 0.3}
    both = build_pair(cross, torch.float64, **choices)
    inputs = [x[:1] for x in draw(cross, torch.float64)]
    outputs = []
    for layer in both:
        torch.manual_seed(1)
        outputs.append(layer(*inputs))
    agree_in_values(*outputs)
    assert not both[0].eval()(*inputs).equal(outputs[0])

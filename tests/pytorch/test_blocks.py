"""Blocks against PyTorch's encoder and decoder layers.

A layer's gradients add several sums up: float32 is held to 1e-5 there.
"""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.helpers.agreement import (
    ADDED_UP,
    agree_in_gradients,
    agree_in_values,
    in_both_precisions,
    one_thread,
    sent_back,
)
from tests.helpers.pytorch_weights import counterpart, hidden_future, stirred
from tformer_lite import (
    Block,
    Config,
    CrossBlock,
    EncoderDecoder,
    LayerNorm,
    causal_mask,
    padding_mask,
)
from tformer_lite.model.models import BLOCKS

B, T, S, C = 3, 5, 6, 12
PAD = 1
TGT = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 1, 1], [5, 1, 7, 8, 1]])
SRC = torch.tensor(
    [[5, 6, 7, 8, 9, 4], [5, 6, 7, 1, 1, 1], [5, 1, 7, 1, 8, 1]]
)
# A sentence that is padding alone, and one that starts with padding.
EMPTY_TGT = torch.tensor([[5, 6, 7, 8, 9], [1] * 5, [1, 1, 7, 8, 1]])
EMPTY_SRC = torch.tensor([[5, 6, 7, 8, 9, 4], [5, 6, 7, 1, 1, 1], [1] * 6])

sizes = Config(
    vocab_size=10,
    max_len=8,
    d_model=C,
    n_heads=3,
    n_layers=2,
    d_ff=20,
    dropout=0.0,
)
before_or_after = pytest.mark.parametrize("residual", ["pre", "post"])
any_activation = pytest.mark.parametrize(
    "activation", ["relu", "gelu", "gelu_tanh"]
)
split_or_fused = pytest.mark.parametrize("attention", ["split", "fused"])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
    with one_thread():
        yield


@before_or_after
def test_pytorchs_norm_can_be_dropped_in(residual):
    config = replace(sizes, residual=residual)
    mine = stirred(EncoderDecoder(config))
    theirs = EncoderDecoder(replace(config, norm=nn.LayerNorm))
    theirs.load_state_dict(mine.state_dict())
    kinds = {type(part) for part in theirs.modules()}
    assert nn.LayerNorm in kinds
    assert LayerNorm not in kinds
    agree_in_values(mine(SRC, TGT), theirs(SRC, TGT))


def built(kind: type, dtype: torch.dtype, **choices) -> list[nn.Module]:
    """Our block of a kind, and PyTorch's with the same weights."""
    config = replace(sizes, **choices)
    block, cross_block = BLOCKS[config.residual]
    kind = block if kind is Block else cross_block
    mine = stirred(kind(config)).to(dtype)
    return [mine, counterpart(mine, config)]


def draw(dtype: torch.dtype) -> list[Tensor]:
    """A target and a source."""
    return [
        torch.randn(B, n, C, dtype=dtype, requires_grad=True) for n in (T, S)
    ]


@pytest.mark.slow
@in_both_precisions
@split_or_fused
@any_activation
@before_or_after
def test_a_block_is_pytorchs_encoder_layer(
    residual, activation, attention, dtype
):
    choices = {"attention": attention, "activation": activation}
    mine, theirs = built(Block, dtype, residual=residual, **choices)
    x, _ = draw(dtype)
    outputs = (
        mine(x, padding_mask(TGT, PAD)),
        theirs(x, src_key_padding_mask=TGT == PAD),
    )
    agree_in_gradients(mine, theirs, outputs, [x], ADDED_UP)


@pytest.mark.slow
@in_both_precisions
@split_or_fused
@any_activation
@before_or_after
def test_a_cross_block_is_pytorchs_decoder_layer(
    residual, activation, attention, dtype
):
    choices = {"attention": attention, "activation": activation}
    mine, theirs = built(CrossBlock, dtype, residual=residual, **choices)
    x, memory = draw(dtype)
    mask = causal_mask(T) & padding_mask(TGT, PAD)
    outputs = (
        mine(x, memory, mask, padding_mask(SRC, PAD)),
        theirs(x, memory, **hidden(TGT, SRC)),
    )
    agree_in_gradients(mine, theirs, outputs, [x, memory], ADDED_UP)


def hidden(tgt: Tensor, src: Tensor) -> dict[str, Tensor]:
    """PyTorch's masks for a decoder: True = hidden."""
    return {
        "tgt_mask": hidden_future(T),
        "tgt_key_padding_mask": tgt == PAD,
        "memory_key_padding_mask": src == PAD,
    }


@before_or_after
def test_blocks_without_masks_are_pytorchs(residual):
    x, memory = draw(torch.float32)
    mine, theirs = built(Block, torch.float32, residual=residual)
    agree_in_values(mine(x), theirs(x))
    mine, theirs = built(CrossBlock, torch.float32, residual=residual)
    agree_in_values(mine(x, memory), theirs(x, memory))


@before_or_after
def test_blocks_without_biases_are_pytorchs_with_biases_of_zero(residual):
    x, memory = draw(torch.float32)
    for kind, inputs in ((Block, [x]), (CrossBlock, [x, memory])):
        choices = {"residual": residual, "bias": False}
        mine, theirs = built(kind, torch.float32, **choices)
        agree_in_values(mine(*inputs), theirs(*inputs))


@split_or_fused
@before_or_after
def test_blocks_agree_with_pytorch_where_nobody_is_seen(residual, attention):
    choices = {"residual": residual, "attention": attention}
    x, memory = draw(torch.float32)
    mine, theirs = built(Block, torch.float32, **choices)
    ours = mine(x, padding_mask(EMPTY_TGT, PAD))
    agree_in_values(ours, theirs(x, src_key_padding_mask=EMPTY_TGT == PAD))
    mine, theirs = built(CrossBlock, torch.float32, **choices)
    mask = causal_mask(T) & padding_mask(EMPTY_TGT, PAD)
    ours = mine(x, memory, mask, padding_mask(EMPTY_SRC, PAD))
    result = theirs(x, memory, **hidden(EMPTY_TGT, EMPTY_SRC))
    agree_in_values(ours, result)
    inputs = x, memory
    for pair in zip(*[sent_back(out, inputs) for out in (ours, result)]):
        agree_in_values(*pair)


@before_or_after
def test_dropout_strikes_where_pytorchs_does(residual):
    choices = {"residual": residual, "dropout": 0.3}
    x, memory = draw(torch.float32)
    for kind, inputs in ((Block, [x]), (CrossBlock, [x, memory])):
        both = built(kind, torch.float32, **choices)
        inputs = [x[:1] for x in inputs]
        outputs = []
        for layer in both:
            torch.manual_seed(1)
            outputs.append(layer(*inputs))
        agree_in_values(*outputs)
        assert not both[0].eval()(*inputs).equal(outputs[0])

"""Other number formats, other ways to run, and there and back again."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from tests.helpers.small import build, kind_of, presets, score, small, words
from tformer_lite import EncoderDecoder

# How far logits, and the gradient in parts of its length, may be off. The
# unit in the last place is 2e-16, 1e-7, 1e-3 and 8e-3.
OFF = {
    torch.float64: 1e-13,
    torch.float32: 4e-6,
    torch.float16: 2e-2,
    torch.bfloat16: 1e-1,
}


def batch(name: str) -> tuple:
    """Sources and targets of different lengths, and rows of padding."""
    src, tgt = words(10, 4, 6), words(11, 4, 5, seed=1)
    src[1, 4:] = src[2] = tgt[0, 3:] = tgt[3] = small(name).pad
    return src, tgt


def gradient(model: nn.Module, logits: torch.Tensor) -> torch.Tensor:
    """All gradients of a loss over all logits, end to end."""
    model.zero_grad()
    labels = torch.arange(logits[..., 0].numel()) % logits.shape[-1]
    cross_entropy(logits.flatten(0, 1), labels).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", OFF, ids=str)
@presets
def test_every_preset_computes_in_every_float_format(name, dtype):
    exact = build(kind_of(name), small(name))
    model = copy.deepcopy(exact).to(dtype)
    exact_logits = score(exact, *batch(name))
    logits = score(model, *batch(name))
    assert logits.dtype == dtype
    close = {"rtol": 0, "check_dtype": False}
    atol = OFF[dtype] * exact_logits.std().item()
    assert_close(logits, exact_logits, atol=atol, **close)
    theirs = gradient(exact, exact_logits)
    mine = gradient(model, logits)
    assert mine.dtype == dtype
    assert mine.isfinite().all()
    assert (mine - theirs).norm() <= OFF[dtype] * theirs.norm()


@presets
def test_training_drops_values_where_the_config_says(name):
    model = build(kind_of(name), small(name, dropout=0.25))
    logits = score(model, *batch(name))
    assert score(model, *batch(name)).equal(logits)
    model.train()
    again = score(model, *batch(name))
    assert not score(model, *batch(name)).isclose(again).all()
    drops = [m for m in model.modules() if isinstance(m, nn.Dropout)]
    assert {drop.p for drop in drops} == {0.25}
    # After each embedding; in attention, the hidden layer and before sums:
    # 3 in a block, 4 in one with cross-attention. Two layers.
    coder = kind_of(name) is EncoderDecoder
    assert len(drops) == (2 + 2 * 3 + 2 * 4 if coder else 1 + 2 * 3)
    model = build(kind_of(name), small(name, dropout=0.0)).train()
    assert score(model, *batch(name)).equal(logits)

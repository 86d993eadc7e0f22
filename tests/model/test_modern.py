"""Rotary positions and gates, against formulas. What groups of queries share:
in a whole model, test_modern_models.py."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.helpers.agreement import exact, near
from tformer_lite import (
    EncoderDecoder,
    GatedFeedForward,
    MultiHeadAttention,
    rotate,
    share_heads,
    tiny_translator,
)

B, H, T, S, D, C = 2, 6, 7, 5, 4, 24


@pytest.mark.parametrize("n_kv_heads", [4, 0, -1, 12])
def test_heads_that_do_not_divide_into_groups_are_named(n_kv_heads):
    words = f"n_heads=6 is not divisible by n_kv_heads={n_kv_heads}: .* divid"
    with pytest.raises(ValueError, match=words):
        MultiHeadAttention(C, H, n_kv_heads=n_kv_heads)
    if n_kv_heads > 0:
        with pytest.raises(ValueError, match=words):
            share_heads(torch.randn(B, n_kv_heads, S, D), H)


@pytest.mark.parametrize("start", [0, 3, 5000])
@pytest.mark.parametrize("d", [2, 4, 64])
def test_a_turn_is_a_product_of_complex_numbers(d, start):
    x = exact(B, H, T, d)
    steps = torch.arange(start, start + T, dtype=torch.float64)
    speeds = [10000 ** (-2 * i / d) for i in range(d // 2)]
    angles = steps.outer(torch.tensor(speeds, dtype=torch.float64))
    unit = torch.polar(torch.ones_like(angles), angles)
    theirs = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * unit
    assert_close(rotate(x, start), torch.view_as_real(theirs).flatten(-2))
    assert start or rotate(x)[..., 0, :].equal(x[..., 0, :])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_far_positions_are_told_apart_in_half_precision_too(dtype):
    x = exact(3, D)
    off = (rotate(x.to(dtype), 4001).double() - rotate(x, 4001)).abs().max()
    assert off < 8 * torch.finfo(dtype).eps
    assert rotate(x.to(dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (torch.ones(T, D).long(), TypeError, r"int64: .* x.float\(\)"),
        (torch.ones(4), ValueError, r"\(4,\), not .* use x.None"),
        (torch.ones(5, 3), ValueError, "of 3 channels leaves one without"),
    ],
)
def test_what_cannot_be_turned_is_refused(x, error, words):
    with pytest.raises(error, match=words):
        rotate(x)


def test_a_model_of_channels_without_a_partner_is_not_built():
    config = replace(tiny_translator, n_heads=4, positions="rotary")
    with pytest.raises(ValueError, match="partner.*d_model / n_heads even"):
        EncoderDecoder(config)


def test_a_gated_layer_with_biases_is_the_formula_of_swiglu():
    layer, x = GatedFeedForward(C, 10, bias=True).double(), exact(B, T, C)
    for part in layer.gate, layer.hidden, layer.output:
        nn.init.normal_(part.bias)
    gate = x @ layer.gate.weight.mT + layer.gate.bias
    value = x @ layer.hidden.weight.mT + layer.hidden.bias
    hidden = gate / (1 + torch.exp(-gate)) * value
    near(layer(x), hidden @ layer.output.weight.mT + layer.output.bias)

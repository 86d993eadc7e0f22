"""Rotary positions, against complex numbers and Hugging Face."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from tests.helpers.agreement import exact, near
from tformer_lite import (
    EncoderDecoder,
    MultiHeadAttention,
    causal_mask,
    join_heads,
    rotate,
    split_heads,
    tiny_translator,
)

B, H, T, S, D, C = 2, 6, 7, 5, 4, 24


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("start", [0, 3, 5000])
@pytest.mark.parametrize("d", [2, 4, 64])
def test_a_turn_is_a_product_of_complex_numbers(d, start):
    x = exact(B, H, T, d)
    steps = torch.arange(start, start + T, dtype=torch.float64)
    speeds = [10000 ** (-2 * i / d) for i in range(d // 2)]
    angles = steps.outer(torch.tensor(speeds, dtype=torch.float64))
    unit = torch.polar(torch.ones_like(angles), angles)
    theirs = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * unit
    mine = rotate(x, start)
    assert_close(mine, torch.view_as_real(theirs).flatten(-2))
    near(mine.norm(dim=-1), x.norm(dim=-1))
    assert start or mine[..., 0, :].equal(x[..., 0, :])


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.cfloat])
def test_what_a_turn_would_round_is_refused(dtype):
    with pytest.raises(TypeError, match=rf"x is {dtype}: .* x.float\(\)"):
        rotate(torch.ones(T, D).to(dtype))


def test_a_row_without_others_has_no_place():
    with pytest.raises(ValueError, match=r"\(4,\), not .* rows with x.None"):
        rotate(torch.ones(4))
    assert rotate(torch.ones(4)[None]).equal(torch.ones(1, 4))


def halves(x: torch.Tensor) -> torch.Tensor:
    """Even channels first, then the odd: the order of Hugging Face."""
    return x.unflatten(-1, (-1, 2)).mT.flatten(-2)


def test_turned_vectors_are_those_of_hugging_face_in_another_order():
    q, k = exact(2, B, H, T, 8)
    steps = torch.arange(T, dtype=torch.float64)
    angles = steps.outer(10000 ** (-torch.arange(0, 8, 2).double() / 8))
    twice = torch.cat((angles, angles), dim=-1)[None]
    theirs = apply_rotary_pos_emb(
        halves(q), halves(k), twice.cos(), twice.sin()
    )
    near(halves(rotate(q)), theirs[0])
    near(halves(rotate(k)), theirs[1])


def test_the_dot_product_of_turned_vectors_knows_the_distance_alone():
    q, k = exact(2, D)
    scores = rotate(q.expand(T, D)) @ rotate(k.expand(T, D)).mT
    for distance in range(-T + 1, T):
        diagonal = scores.diagonal(distance)
        near(diagonal, diagonal[:1].expand_as(diagonal))
    assert len(scores.flatten().round(decimals=9).unique()) == 2 * T - 1
    later = rotate(q.expand(T, D), 90) @ rotate(k.expand(T, D), 90).mT
    near(later, scores)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_far_positions_are_told_apart_in_half_precision_too(dtype):
    x = exact(3, D)
    off = (rotate(x.to(dtype), 4001).double() - rotate(x, 4001)).abs().max()
    assert off < 8 * torch.finfo(dtype).eps
    assert rotate(x.to(dtype)).dtype == dtype


def heads_of(layer: nn.Module, x: torch.Tensor, source=None) -> list:
    """Queries, keys and values before any turn, by the layer's weights."""
    given = (x, *(x if source is None else source,) * 2)
    layers = layer.query, layer.key, layer.value
    return [
        split_heads(make(y), make.out_features // D)
        for make, y in zip(layers, given, strict=True)
    ]


@pytest.mark.parametrize("mask", [None, causal_mask(T)])
def test_rotary_attention_is_pytorchs_with_turned_queries_and_keys(mask):
    layer = MultiHeadAttention(C, H, bias=True, place=rotate).double()
    x = exact(B, T, C)
    q, k, v = heads_of(layer, x)
    heads = scaled_dot_product_attention(rotate(q), rotate(k), v, mask)
    near(layer(x, mask=mask), layer.output(join_heads(heads)))
    plain = MultiHeadAttention(C, H, bias=True).double()
    plain.load_state_dict(layer.state_dict())
    turned, unturned = layer(x, mask=mask), plain(x, mask=mask)
    assert not turned[:, 1:].isclose(unturned[:, 1:]).any()


@pytest.mark.parametrize("n_kv_heads", [1, None])
def test_a_sentence_that_moves_on_keeps_its_vectors(n_kv_heads):
    layer = MultiHeadAttention(C, H, n_kv_heads=n_kv_heads, place=rotate)
    layer, x = layer.double(), exact(B, T, C)
    moved = torch.cat((exact(B, 3, C), x), dim=1)
    hidden = (torch.arange(T + 3) >= 3)[None, None, None]
    near(layer(moved, mask=hidden)[:, 3:], layer(x))


def test_channels_without_a_partner_are_refused():
    words = "of 3 channels has one without a partner.*d_model / n_heads even"
    with pytest.raises(ValueError, match=words):
        MultiHeadAttention(12, 4, place=rotate)(torch.randn(2, 5, 12))
    config = replace(tiny_translator, n_heads=4, positions="rotary")
    with pytest.raises(ValueError, match=words):
        EncoderDecoder(config)
    with pytest.raises(ValueError, match=words):
        rotate(torch.randn(5, 3))

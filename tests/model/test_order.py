"""The order of the words counts in every model with positions."""

from dataclasses import replace
from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.any_config import (
    configs,
    differ,
    few,
    fixed,
    padded,
    pair,
    same,
    seeds,
)
from tests.helpers.small import build, small
from tformer_lite import EncoderDecoder

orders = st.permutations(range(4)).filter(lambda p: p != sorted(p))
in_place = torch.arange(4)
unplaced = st.sampled_from(["split", "fused", "tiled"])


@pytest.mark.slow
@fixed
@given(configs(positions="none"), unplaced, orders, few, seeds)
def test_without_positions_the_encoder_sees_a_set(
    config, attention, order, b, seed
):
    config = replace(config, attention=attention)
    src, tgt = pair(config, b, 4, 3, seed)
    src = padded(src, torch.arange(b) % 4 + 1, config.pad)
    model = build(EncoderDecoder, config, seed)
    memory = model.encode(src)
    same(model.encode(src[:, order]), memory[:, order])
    same(model(src[:, order], tgt), model(src, tgt))


@pytest.mark.slow
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
@fixed
@given(configs(), orders, seeds)
def test_with_positions_order_matters(positions, config, order, seed):
    config = replace(config, positions=positions)
    src, _ = pair(config, 2, 4, 3, seed)
    model = build(EncoderDecoder, config, seed)
    swapped = torch.tensor(order) != in_place
    assert moved(model, src, order)[swapped].all()


@pytest.mark.slow
@pytest.mark.parametrize("shared", [{}, {"n_kv_heads": 1}])
def test_with_turned_queries_and_keys_order_matters(shared):
    own = {"positions": "rotary", "attention": "split"} | shared
    config = small("paper_base", **own)
    model = build(EncoderDecoder, config)
    for order in permutations(range(4)):
        swapped = torch.tensor(order) != in_place
        assert moved(model, 2 + in_place[None], order)[swapped].all()


def moved(model: EncoderDecoder, src: torch.Tensor, order) -> torch.Tensor:
    """Which places of another order have other vectors, in every row."""
    memory = model.encode(src)[:, order]
    return differ(model.encode(src[:, order]), memory).all(0)

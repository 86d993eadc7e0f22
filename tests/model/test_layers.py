"""Embeddings and positions against their formulas."""

import math

import pytest
import torch
from torch.testing import assert_close

from tformer_lite import (
    FeedForward,
    LearnedPositions,
    SinusoidalPositions,
    TokenEmbedding,
    sinusoids,
)


def test_looking_up_is_multiplying_by_a_one_hot_matrix():
    embedding = TokenEmbedding(10, 4)
    ids = torch.tensor([[2, 0, 9]])
    one_hot = torch.nn.functional.one_hot(ids, 10).float()
    assert_close(embedding(ids), one_hot @ embedding.weight * 2)


def test_tokens_start_with_variance_one():
    torch.manual_seed(0)
    x = TokenEmbedding(1000, 64)(torch.arange(1000)[None])
    assert 0.97 < x.var().item() < 1.03


@pytest.mark.parametrize("bad", [10, -1])
def test_an_id_outside_the_vocabulary_is_named(bad):
    with pytest.raises(ValueError, match=f"id {bad} .* 0 to 9"):
        TokenEmbedding(10, 4)(torch.tensor([[3, bad]]))


@pytest.mark.parametrize("d_model", [12, 7])
def test_sinusoids_are_the_papers_formula(d_model):
    table = sinusoids(5000, d_model)
    for position in (0, 1, 17, 49, 4999):
        for channel in range(d_model):
            angle = position / 10000 ** (channel // 2 * 2 / d_model)
            wave = math.cos if channel % 2 else math.sin
            assert_close(
                table[position, channel].item(),
                wave(angle),
                atol=1e-6,
                rtol=0,
            )


@pytest.mark.parametrize("part", [LearnedPositions, SinusoidalPositions])
def test_each_position_adds_its_row_to_every_sentence(part):
    positions = part(max_len=8, d_model=12)
    x = torch.zeros(2, 5, 12)
    assert_close(positions(x), positions.table[:5].expand(2, 5, 12))


@pytest.mark.parametrize("part", [LearnedPositions, SinusoidalPositions])
def test_a_sequence_that_is_too_long_names_both_lengths(part):
    with pytest.raises(ValueError, match="9 positions .* max_len=8"):
        part(max_len=8, d_model=12)(torch.zeros(2, 9, 12))


def test_only_learned_positions_have_parameters():
    assert [p.shape for p in LearnedPositions(8, 12).parameters()] == [(8, 12)]
    assert list(SinusoidalPositions(8, 12).parameters()) == []
    assert SinusoidalPositions(8, 12).state_dict() == {}


def test_both_tables_start_equally_loud():
    torch.manual_seed(0)
    learned = LearnedPositions(512, 64).table.square().mean().item()
    waves = SinusoidalPositions(512, 64).table.square().mean().item()
    assert abs(waves - 0.5) < 1e-3
    assert abs(learned - 0.5) < 0.02


def test_a_layer_is_the_papers_unless_something_else_is_asked_for():
    layer = FeedForward(4, 8)
    assert layer.hidden.bias is not None
    assert layer.output.bias is not None
    assert layer.dropout.p == 0

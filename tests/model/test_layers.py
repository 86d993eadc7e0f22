"""Positions and layers against their formulas."""

import math

import pytest
import torch
from torch.testing import assert_close

from tformer_lite import LearnedPositions, SinusoidalPositions, sinusoids


@pytest.mark.parametrize("d_model", [12, 512, 7, 1])
def test_sinusoids_are_the_papers_formula(d_model):
    """To the last place of single precision, up to position 4,999."""
    table = sinusoids(5000, d_model)
    assert table.dtype == torch.float32
    for position in (0, 1, 2, 17, 1024, 4998, 4999):
        for channel in range(d_model):
            angle = position / 10000 ** (channel // 2 * 2 / d_model)
            wave = math.cos if channel % 2 else math.sin
            assert abs(table[position, channel].item() - wave(angle)) < 1e-6


@pytest.mark.parametrize("part", [LearnedPositions, SinusoidalPositions])
def test_each_position_adds_its_row_to_every_sentence(part):
    positions = part(max_len=8, d_model=12)
    x = torch.zeros(2, 5, 12)
    assert_close(positions(x), positions.table[:5].expand(2, 5, 12))
    with pytest.raises(ValueError, match="9 positions .* max_len=8"):
        positions(torch.zeros(2, 9, 12))
    learned = [(8, 12)] if part is LearnedPositions else []
    assert [p.shape for p in positions.parameters()] == learned
    assert len(positions.state_dict()) == len(learned)

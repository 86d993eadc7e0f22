"""One row, one position, one axis more: what a check must not overlook."""

import pytest
import torch
from torch import nn

from shapewatch.properties import (
    live_parameters,
    norm_statistics,
    past,
    report,
    score_scale,
)
from tests.helpers.strangers import GPT, IDS, PADDED, Attention, Shrunk

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))


class Hears(nn.Module):
    """Each word hears those that a matrix (T, T) says."""

    def __init__(self, weights):
        super().__init__()
        self.table, self.weights = nn.Embedding(50, 12), weights

    def forward(self, ids):
        t = ids.shape[1]
        return self.weights[:t, :t] @ self.table(ids)


@pytest.mark.slow
def test_of_all_positions_one_that_hears_nobody_is_found():
    for t in range(1, 7):
        weights = torch.ones(7, 7).tril()
        weights[t, :t] = 0
        says = past(Hears(weights), IDS).says
        assert (
            f"position {t} does not depend on any position before it" in says
        )


class Small(GPT):
    """T5's start: queries are smaller by the root of D."""

    def __init__(self, factor):
        super().__init__(attention=Unscaled)
        for block in self.blocks:
            block.attention.qkv.weight.data[:16] *= factor
            block.attention.qkv.bias.data.zero_()


class Unscaled(Attention):
    def shape(self, q, k):
        return q, k


def level(model):
    torch.manual_seed(0)
    return score_scale(model(), IDS).level


def test_a_missing_scale_is_made_up_for_by_the_start_alone():
    assert level(lambda: Small(0.5)) == "unusual"
    assert level(lambda: Small(1.0)) == "broken"
    assert level(lambda: GPT(attention=Unscaled)) == "broken"


def test_a_gain_that_is_no_parameter_is_unusual():
    class OddNorm(nn.Module):
        def __init__(self, gain):
            super().__init__()
            self.gain = gain

        def forward(self, x):
            return self.gain * x / x.square().mean(-1, keepdim=True).sqrt()

    assert (
        norm_statistics(nn.Sequential(OddNorm(3.0)), ROWS).level == "unusual"
    )
    assert norm_statistics(nn.Sequential(OddNorm(1.0)), ROWS).holds


@pytest.mark.slow
def test_what_nothing_reads_outside_of_the_blocks_is_unusual():
    model = GPT()
    model.pooler = nn.Linear(16, 16)
    finding = live_parameters(model, IDS)
    assert finding.level == "unusual"
    assert "They change no output" in finding.says
    model.blocks[0].spare = nn.Linear(16, 16)
    assert live_parameters(model, IDS).level == "broken"


def test_tiny_weights_and_padding_together():
    torch.manual_seed(0)
    found = report(Shrunk(1e-4), PADDED, pad=1)
    assert "order_sensitivity" not in found.broken
    assert "past" not in found.broken

"""Dropout in training: how much it takes, of what, and what it leaves."""

import pytest
from torch import nn

from shapewatch.properties import dropout
from tests.helpers.blocks import of_blocks
from tests.helpers.strangers import GPT, IDS, Block


class DropsIds(GPT):
    """It drops words, as it should their vectors."""

    def forward(self, ids):
        ids = nn.functional.dropout(ids.float(), 0.1, self.training)
        return super().forward(ids.long().clamp(max=49))


class DropsLogits(GPT):
    def forward(self, ids):
        return nn.functional.dropout(super().forward(ids), 0.1, self.training)


@pytest.mark.parametrize("kind", [DropsIds, DropsLogits])
def test_neither_ids_nor_logits_are_dropped(kind):
    finding = dropout(kind(), IDS)
    assert finding.holds is False
    assert f"drops {kind.__name__[5:].lower()}" in finding.says


def test_what_drops_nothing_is_not_judged():
    assert "Nothing is dropped" in dropout(of_blocks(Block)(), IDS).says
    assert dropout(lambda ids: ids[..., None] / 2, IDS).holds is None

"""Dropout in training: how much it takes, of what, and what it leaves."""

import pytest
import torch
from torch import nn

from shapewatch.properties import dropout
from tests.helpers import sublayers
from tests.helpers.blocks import of_blocks
from tests.helpers.strangers import GPT, IDS, Block

WRONG = {
    "Mostly": "blocks.0 drops 90% of its numbers: p is the share that goes",
    "Unscaled": "makes the others 1.00 times as large",
    "ByP": "makes the others 10.00 times as large",
    "OneMask": "drops the same numbers of each row",
}


def asked(name):
    torch.manual_seed(0)
    return dropout(of_blocks(getattr(sublayers, name))(), IDS)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_dropout_is_found(name):
    finding = asked(name)
    assert finding.holds is False
    assert WRONG[name] in finding.says


@pytest.mark.parametrize("name", ["ByHand", "Before", "InEvaluation"])
def test_right_dropout_by_hand_is_right(name):
    assert asked(name).holds, asked(name)


def test_dropped_scores_are_unusual():
    finding = dropout(GPT(attention=sublayers.DropsScores), IDS)
    assert finding.level == "unusual"
    assert "drops scores" in finding.says


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

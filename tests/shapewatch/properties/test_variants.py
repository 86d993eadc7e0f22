"""Parts of models in many right forms, to which no check objects, and in
wrong ones, each of which the check that asks for it finds."""

from functools import partial

import pytest
import torch
from torch import nn

from shapewatch import properties
from tests.helpers import blocks, heads, places, rotating, rounding, strangers
from tests.helpers.heads import biased
from tests.helpers.rotating import as_it_is, halves, turning
from tests.helpers.strangers import GPT, IDS


def attending(kind, **options):
    """A GPT with such attention."""
    return partial(GPT, attention=partial(kind, **options))


def frozen(*names):
    """A GPT of which some parameters cannot learn."""
    model = GPT()
    for name in names:
        model.get_parameter(name).requires_grad_(False)
    return model


def even():
    """A model of which all numbers of a matrix are the same."""
    model = GPT()
    nn.init.constant_(model.blocks[0].up.weight, 0.1)
    return model


def skips_a_word():
    """A model of which a word is taken for padding."""
    model = GPT()
    model.tokens = nn.Embedding(50, 16, padding_idx=int(IDS[0, 2]))
    return model


class Added(rotating.Turned):
    """Positions are added to queries and keys, and not to values."""

    def __init__(self, *turn):
        super().__init__(*turn)
        self.rows = nn.Parameter(torch.randn(7, 8))

    def split(self, x):
        q, k, v = super().split(x)
        return q + self.rows, k + self.rows, v


TURNS = halves, partial(rotating.neighbours, start=5), rotating.partly
BIASES = heads.alibi, heads.by_key, heads.free
RIGHT = {
    "live_parameters": [
        attending(heads.Own),
        partial(frozen, "places.weight"),
    ],
    "provenance": [attending(heads.OneOfTwo)],
    "activations": [
        *(blocks.LOW_RANK, blocks.SQUARE, blocks.HALF_ACTIVE),
        *(blocks.SWIGLU, rounding.Bridge),
    ],
    "identity": [blocks.NESTED],
    "relative_positions": [
        *(turning(x, x) for x in TURNS),
        turning(rotating.growing, partial(rotating.growing, by=1 / 1.1)),
        turning(as_it_is, as_it_is, kind=Added),
        *(biased(x, fused=y) for x in BIASES for y in (True, False)),
        biased(heads.alibi, causal=False),
    ],
    "order_sensitivity": [
        *(places.Placed, turning()),
        *(biased(x, fused=y) for x in BIASES for y in (True, False)),
        biased(heads.alibi, causal=False),
    ],
    "precision": [
        *(rounding.Offset, lambda: rounding.Offset().bfloat16()),
        *(lambda: GPT().half(), lambda: GPT().double()),
        *(rounding.LatePlaces, rounding.SingleOnly),
        *map(attending, (rounding.FilledLarge, strangers.Finite)),
        attending(rounding.HalfScores),
    ],
}
WRONG = {
    "live_parameters": {
        "unusual": [
            *(blocks.of_blocks(blocks.OneNorm), skips_a_word, even),
            partial(frozen, "blocks.1.up.weight", "blocks.1.up.bias"),
        ]
    },
    "activations": {
        "broken": [*(blocks.NOTHING, blocks.BY_HAND, blocks.BRANCHES)],
        "unusual": [blocks.BILINEAR],
    },
    "identity": {"broken": [blocks.TWICE, blocks.UNADDED]},
    "relative_positions": {
        "broken": [
            *(turning(halves, as_it_is, fused=x) for x in (True, False)),
            turning(halves, rotating.partly),
        ],
        "unusual": [biased(heads.looking_far, fused=True)],
    },
    "order_sensitivity": {
        "broken": [places.Nowhere],
        "unusual": [
            turning(as_it_is, as_it_is),
            *(biased(heads.by_query, fused=x) for x in (True, False)),
        ],
    },
    "precision": {
        "broken": [partial(rounding.Offset, norm=rounding.Squares)],
        "unusual": [
            *(attending(rounding.HalfWeights, far=x) for x in (3e3, 0.0)),
            partial(rounding.LatePlaces, torch.bfloat16),
        ],
    },
}


def finding(check, build):
    """What a check says of a model."""
    return getattr(properties, check)(build(), IDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "build"), [(x, y) for x in RIGHT for y in RIGHT[x]]
)
def test_a_check_does_not_object_to_what_is_right(check, build):
    assert finding(check, build).holds is not False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "level", "build"),
    [(x, y, z) for x in WRONG for y in WRONG[x] for z in WRONG[x][y]],
)
def test_a_check_finds_what_is_wrong(check, level, build):
    assert finding(check, build).level == level

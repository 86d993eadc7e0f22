"""Each head has weights of its own, and an effect."""

import pytest
import torch

from shapewatch.properties import live_parameters, provenance
from tests.helpers.heads import (
    Averaged,
    Copies,
    Expanded,
    FirstAlone,
    Gated,
    LastIsDropped,
    LastIsZero,
    Own,
    SharedWeights,
    Summed,
    SummedLater,
    TwiceTheSame,
)
from tests.helpers.strangers import (
    GPT,
    IDS,
    Attention,
    Capped,
    Cosine,
    MixedAfter,
    Sink,
    Talking,
)

RIGHT = Own, Attention, Capped, Cosine, Sink, Talking
RIGHT += Gated, SummedLater, MixedAfter
WRONG = {
    FirstAlone: "head get no gradient, such as part 1",
    LastIsZero: "head get no gradient, such as part 3",
    LastIsDropped: "head get no gradient, such as part 3",
    TwiceTheSame: "head get no gradient, such as part 3",
    Expanded: "head get no gradient, such as part 1",
    SharedWeights: "head get no gradient, such as part 3",
    Copies: "Rows 0 and 4 of blocks.0.attention.q.weight are the same",
    Summed: "In blocks.0.attention, heads are added up",
    Averaged: "In blocks.0.attention, heads are added up",
}


def findings(kind):
    """Ask about a model with such attention."""
    torch.manual_seed(0)
    model = GPT(attention=kind)
    return [check(model, IDS) for check in (provenance, live_parameters)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", RIGHT)
def test_heads_of_their_own_are_right(kind):
    assert all(one.holds is not False for one in findings(kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRONG)
def test_a_head_without_effect_or_without_weights_of_its_own_is_found(kind):
    assert WRONG[kind] in " ".join(one.says for one in findings(kind))

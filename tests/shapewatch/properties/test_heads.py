"""Each head has weights of its own, and is heard."""

import pytest
import torch
from torch import nn

from shapewatch.properties import distinct_heads
from tests.helpers.heads import (
    Averaged,
    Copies,
    Expanded,
    FirstAlone,
    Gated,
    LastIsDropped,
    LastIsZero,
    NoQueries,
    OneKey,
    Own,
    SharedWeights,
    Summed,
    SummedLater,
    TwiceTheSame,
)
from tests.helpers.layouts import LAYOUTS, Layer
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
from tformer_lite import running_example, running_model

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))


def asked(kind):
    """Ask about a model with such attention."""
    torch.manual_seed(0)
    return distinct_heads(GPT(attention=kind), IDS)


RIGHT = Own, Attention, Capped, Cosine, Sink, Talking, OneKey, NoQueries
RIGHT += Gated, SummedLater


@pytest.mark.slow
@pytest.mark.parametrize("kind", RIGHT)
def test_heads_of_their_own_are_right(kind):
    assert asked(kind).holds


@pytest.mark.slow
@pytest.mark.parametrize("attend", LAYOUTS, ids=lambda f: f.__name__)
def test_heads_are_known_in_every_layout(attend):
    torch.manual_seed(0)
    finding = distinct_heads(Layer(attend), ROWS)
    assert finding.holds
    assert finding.seen.shape == (1, 3)
    assert finding.seen.gt(0).all()


@pytest.mark.parametrize("fast", [False, True])
def test_heads_of_pytorchs_layer_are_right(fast):
    layer = nn.TransformerEncoderLayer(12, 3, 24, batch_first=True)
    assert distinct_heads(layer.train(not fast), ROWS).holds


WRONG = {
    FirstAlone: "head 1 of 4 moves no output",
    LastIsZero: "head 3 of 4 moves no output",
    LastIsDropped: "head 3 of 4 moves no output",
    TwiceTheSame: "head 3 of 4 moves no output",
    Expanded: "heads 0 and 1 have the same queries, keys and weights",
    SharedWeights: "heads 1 and 3 have the same queries, keys and weights",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRONG)
def test_a_head_that_is_not_heard_or_is_another_one_is_found(kind):
    finding = asked(kind)
    assert finding.level == "broken"
    assert finding.says.startswith(f"In blocks.0.attention, {WRONG[kind]}")


@pytest.mark.parametrize("kind", [Summed, Averaged])
def test_a_mean_of_heads_is_unusual(kind):
    finding = asked(kind)
    assert finding.level == "unusual"
    assert "is their mean or sum taken?" in finding.says


def test_heads_that_begin_as_copies_are_unusual():
    finding = asked(Copies)
    assert finding.level == "unusual"
    assert "they began as copies" in finding.says


def test_the_attention_that_is_wrong_is_named():
    torch.manual_seed(0)
    model = GPT(attention=Own)
    model.blocks[1].attention = LastIsZero()
    says = distinct_heads(model, IDS).says
    assert says.startswith("In blocks.1.attention, head 3 of 4")


def test_what_has_one_head_or_mixes_them_is_not_judged():
    torch.manual_seed(0)
    one = GPT(attention=lambda: Attention(heads=1))
    assert distinct_heads(one, IDS).says == "No attention has several heads."
    assert asked(MixedAfter).holds is None
    ours = distinct_heads(running_model(), *running_example()[:2])
    assert ours.seen.shape == (3, 3)

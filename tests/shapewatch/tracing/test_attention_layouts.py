"""Attention is found and measured by following the data, in whatever layout it
is written and whoever computed it."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from tests.helpers import layouts
from tests.helpers.layouts import LAYOUTS, Layer
from tests.helpers.small import build, small
from tformer_lite import (
    EncoderDecoder,
    causal_mask,
    padding_mask,
    running_example,
    tiny_translator,
    trace,
)

SIZES = {"B": 2, "H": 3, "D": 4, "T": 5, "S": 7}
X = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(0))
SOURCE = torch.randn(2, 7, 12, generator=torch.Generator().manual_seed(1))


def built(attend, **options):
    torch.manual_seed(0)
    return Layer(attend, **options).eval()


def expected(layer):
    """Scores, masked scores and weights, (B, H, T, S), by equation 1."""
    q, k, _ = (x.transpose(1, 2).detach() for x in layer.split(SOURCE, X))
    scores = q @ k.mT / 2
    masked = scores.masked_fill(torch.ones(5, 7).tril() == 0, -math.inf)
    return scores, masked, masked.softmax(-1)


def numbers(x):
    """The numbers of a tensor, in whatever order; no score is below -99."""
    return x.clamp(min=-99).flatten().sort().values


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["each", "shared"])
@pytest.mark.parametrize("attend", LAYOUTS, ids=lambda f: f.__name__)
def test_scores_masked_and_weights_are_those_of_the_equation(attend, shared):
    layer = built(attend, shared=shared)
    (attention,) = trace(layer, SOURCE, X, keep=True, dims=SIZES).attention()
    scores, masked, weights = expected(layer)
    assert_close(numbers(attention.scores), numbers(scores))
    assert_close(numbers(attention.weights), numbers(weights))
    if attend is not layouts.powers_masked:  # no softmax saw its mask
        assert_close(numbers(attention.masked), numbers(masked))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("nanogpt", "(B~, H~, T~, S~)"),
        ("one_call", "(B~, H~, T~, S~)"),
        ("transposed_scores", "(B~, H~, S~, T~)"),
        ("transposed_back_before_softmax", "(B~, H~, T~, S~)"),
        ("transposed_to_the_end", "(6?, S~, T~)"),
    ],
)
def test_the_axes_are_the_models_own(name, shape):
    layer = built(getattr(layouts, name))
    (attention,) = trace(layer, SOURCE, X, keep=True, dims=SIZES).attention()
    assert repr(attention) == f"attention in the model: {shape}"


@pytest.mark.parametrize(
    "cleared",
    [
        lambda weights, empty: weights * ~empty,
        lambda weights, empty: weights.masked_fill(empty, 0),
        lambda weights, empty: torch.where(empty, 0, weights),
    ],
    ids=["product", "filled", "chosen"],
)
def test_rows_that_are_cleared_after_the_softmax_are_measured_so(cleared):
    empty = torch.tensor([False, True, False, False, True])[:, None]

    def attend(q, k, v, mask):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        weights = (q @ k.mT / 2 + mask.log()).softmax(-1)
        return (cleared(weights, empty) @ v).transpose(1, 2)

    layer = built(attend)
    (attention,) = trace(layer, SOURCE, X, keep=True).attention()
    _, masked, weights = expected(layer)
    assert_close(attention.weights, weights.masked_fill(empty, 0))
    assert_close(attention.masked, masked)


# --- whoever computed it -------------------------------------------------


B, T, S, H, D = 2, 5, 6, 3, 4
C = H * D


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def check(attention, scores, mask):
    """Compare with scores that were computed apart, and PyTorch's softmax:
    scores of a row without keys stay, and its weights are zeros."""
    empty = ~mask.any(-1, keepdim=True)
    masked = scores.masked_fill(~(mask | empty), -math.inf)
    assert_close(attention.scores, scores)
    assert_close(attention.masked, masked.expand_as(attention.masked))
    assert_close(attention.weights, masked.softmax(-1).masked_fill(empty, 0))


@pytest.mark.parametrize("attention", ["split", "fused"])
def test_three_attentions_of_the_running_example(attention):
    model = EncoderDecoder(replace(tiny_translator, attention=attention))
    src, tgt, *_ = running_example()
    attentions = trace(model, src, tgt, keep=True).attention()
    assert [attention.path for attention in attentions] == [
        "encoder.blocks.0.self_attention",
        "decoder.blocks.0.self_attention",
        "decoder.blocks.0.cross_attention",
    ]
    masks = padding_mask(src, 1), causal_mask(8) & padding_mask(tgt, 1)
    for attention, mask in zip(attentions, (*masks, masks[0])):
        assert attention.weights.shape == (2, 3, 8, 8)
        assert attention.scores.isfinite().all()
        check(attention, attention.scores, mask)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_multihead_attention_gives_the_weights_it_returns(
    masked, need_weights
):
    layer = nn.MultiheadAttention(C, H, batch_first=True).eval()
    inputs = torch.randn(B, T, C), *[torch.randn(B, S, C)] * 2
    mask = torch.rand(T, S) > 0.3 if masked else torch.ones(T, S).bool()
    mask[:, 0] = True
    options = {"attn_mask": ~mask} if masked else {}
    _, weights = layer(*inputs, average_attn_weights=False, **options)
    options |= {"need_weights": need_weights}
    (attention,) = trace(layer, *inputs, keep=True, **options).attention()
    parts = {
        name: getattr(attention, name).view(B, H, T, S)
        for name in ("scores", "masked", "weights")
    }
    assert_close(parts["weights"], weights.detach())
    assert parts["scores"].isfinite().all()
    check(attention._replace(**parts), parts["scores"], mask)


def test_a_softmax_that_is_no_attention_is_not_taken_for_one():
    def classify(x, w):
        return torch.softmax(x @ w, -1)

    seen = trace(classify, torch.randn(2, 3), torch.randn(3, 4), keep=True)
    assert seen.attention() == []


def test_what_was_not_kept_says_so():
    model = build(EncoderDecoder, small("paper_base"))
    ids = torch.randint(2, 10, (2, 4))
    with pytest.raises(ValueError, match=r"encoder.*not kept.*keep=True"):
        trace(model, ids, ids).attention()


def test_weights_that_a_fused_call_dropped_are_not_explained():
    def attend(q):
        return scaled_dot_product_attention(q, q, q, dropout_p=0.5)

    seen = trace(attend, torch.randn(B, H, T, D), keep=True)
    with pytest.raises(ValueError, match="dropped some weights"):
        seen.attention()

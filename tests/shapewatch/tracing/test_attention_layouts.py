"""Attention is found and measured in whatever layout it is written."""

import math

import pytest
import torch
from torch.testing import assert_close

from tests.helpers import layouts
from tests.helpers.layouts import LAYOUTS, Layer
from tformer_lite import trace

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
    (one,) = trace(layer, SOURCE, X, keep=True, dims=SIZES).attention()
    scores, masked, weights = expected(layer)
    assert_close(numbers(one.scores), numbers(scores))
    assert_close(numbers(one.weights), numbers(weights))
    if attend is not layouts.powers_masked:  # no softmax saw its mask
        assert_close(numbers(one.masked), numbers(masked))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("nanogpt", "(B~, H~, T~, S~)"),
        ("transposed_scores", "(B~, H~, S~, T~)"),
        ("transposed_back_before_softmax", "(B~, H~, T~, S~)"),
        ("masked_and_then_transposed", "(B~, H~, T~, S~)"),
        ("transposed_to_the_end", "(6?, S~, T~)"),
        ("einsum_with_keys_first", "(B~, S~, T~, H~)"),
        ("flat_rows", "(30?, S~)"),
    ],
)
def test_the_axes_are_the_models_own(name, shape):
    layer = built(getattr(layouts, name))
    (one,) = trace(layer, SOURCE, X, keep=True, dims=SIZES).attention()
    assert repr(one) == f"attention in the model: {shape}"


def test_a_mask_that_is_written_into_the_scores_is_seen():
    def attend(q, k, v, mask):
        scores = q.transpose(1, 2) @ k.permute(0, 2, 3, 1) / 2
        scores[:, :, ~mask] = -math.inf
        weights = scores.softmax(-1)
        return torch.einsum("bhts,bshd->bthd", weights, v)

    layer = built(attend)
    (one,) = trace(layer, SOURCE, X, keep=True).attention()
    assert_close(one.scores, expected(layer)[0])
    assert_close(one.masked, expected(layer)[1])


def test_scores_masked_and_weights_are_all_that_must_be_kept():
    def attend(q, k, v, mask):
        scores = torch.einsum("bthd,bshd->bhts", q, k) / 2
        masked = scores.masked_fill(~mask, -math.inf)
        top = masked.amax(-1, keepdim=True)
        powers = (masked - top).exp()
        weights = powers / powers.sum(-1, keepdim=True)
        return torch.einsum("bhts,bshd->bthd", weights, v)

    keep = ["*:scores", "*:masked", "*:weights"]
    layer = built(attend)
    (one,) = trace(layer, SOURCE, X, keep=keep).attention()
    for mine, theirs in zip(one[2:5], expected(layer)):
        assert_close(mine, theirs)


@pytest.mark.parametrize(
    "cleared",
    [
        lambda weights, empty: weights * ~empty,
        lambda weights, empty: weights.masked_fill(empty, 0),
        lambda weights, empty: torch.where(empty, 0, weights),
    ],
)
def test_rows_that_are_cleared_after_the_softmax_are_measured_so(cleared):
    empty = torch.tensor([False, True, False, False, True])[:, None]

    def attend(q, k, v, mask):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        weights = (q @ k.mT / 2 + mask.log()).softmax(-1)
        return (cleared(weights, empty) @ v).transpose(1, 2)

    layer = built(attend)
    (one,) = trace(layer, SOURCE, X, keep=True).attention()
    _, masked, weights = expected(layer)
    assert_close(one.weights, weights.masked_fill(empty, 0))
    assert_close(one.masked, masked)

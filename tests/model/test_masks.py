"""Masks are boolean, True = may attend, and never broadcast by accident."""

from functools import partial

import pytest
import torch

from tformer_lite import (
    causal_mask,
    dot_product_attention,
    padding_mask,
    running_example,
    window_mask,
)


def test_the_running_example_hides_its_padding():
    mask = padding_mask(running_example().src, pad=1)
    assert mask.shape == (2, 1, 1, 8)
    assert mask.squeeze().sum(-1).tolist() == [7, 6]
    assert not mask[0, 0, 0, 7]


def test_a_causal_mask_is_pytorchs_lower_triangle():
    assert causal_mask(5)[0, 0].equal(torch.ones(5, 5).tril().bool())


@pytest.mark.parametrize("mask", [causal_mask, partial(window_mask, width=2)])
def test_a_mask_is_made_where_it_is_asked_for(mask):
    assert mask(6, device="meta").is_meta


def test_a_window_is_a_band():
    width = torch.ones(6, 6).tril(1) * torch.ones(6, 6).triu(-1)
    assert window_mask(6, width=2)[0, 0].equal(width.bool())


def test_an_empty_window_is_refused():
    with pytest.raises(ValueError, match="width=0 .* use 1 or more"):
        window_mask(6, width=0)


@pytest.mark.parametrize("mask", [causal_mask, partial(window_mask, width=2)])
def test_a_mask_of_less_than_nothing_is_refused(mask):
    with pytest.raises(ValueError, match="-1 positions cannot be: .* or more"):
        mask(-1)
    assert mask(0).shape == (1, 1, 0, 0)


def test_padding_and_causal_combine_like_a_sentence():
    ids = running_example().tgt
    mask = causal_mask(8) & padding_mask(ids, pad=1)
    assert mask.shape == (2, 1, 8, 8)
    assert mask[0, 0, 4].tolist() == [True] * 5 + [False] * 3
    assert mask[0, 0, 1].tolist() == [True] * 2 + [False] * 6


@pytest.mark.parametrize(
    ("mask", "error", "words"),
    [
        (torch.ones(2, 1, 1, 6), TypeError, "torch.float32"),
        (torch.ones(2, 1, 6).bool(), ValueError, "3 axes"),
        (torch.ones(2, 1, 6, 1).bool(), ValueError, "axis 2"),
        (torch.ones(2, 1, 1, 5).bool(), ValueError, "axis 3"),
        (torch.ones(3, 1, 1, 6).bool(), ValueError, "axis 0"),
    ],
)
def test_a_mask_that_does_not_fit_says_where(mask, error, words):
    q, k = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4)
    with pytest.raises(error, match=words):
        dot_product_attention(q, k, k, mask)


def test_a_mask_whose_batch_happens_to_equal_the_heads_is_refused():
    q = torch.randn(3, 3, 5, 4)
    with pytest.raises(ValueError, match="every axis"):
        dot_product_attention(q, q, q, torch.ones(3, 1, 5).bool())


@pytest.mark.parametrize("front", [(), (2,), (2, 3), (2, 3, 2)])
def test_the_last_two_axes_are_named_whatever_stands_in_front(front):
    q, k = torch.randn(*front, 5, 4), torch.randn(*front, 6, 4)
    n = len(front)
    with pytest.raises(ValueError, match=rf"axis {n + 1} .* S \(the keys\)"):
        dot_product_attention(q, k, k, torch.ones(*front, 5, 7) > 0)
    with pytest.raises(ValueError, match=rf"axis {n} .* T \(the queries\)"):
        dot_product_attention(q, k, k, torch.ones(*front, 4, 6) > 0)


def test_the_first_axes_are_batch_and_heads_when_there_are_four():
    for front, name in (((2, 3), "B"), ((2,), "in front"), ((2,) * 3, "in f")):
        q = torch.randn(*front, 5, 4)
        mask = torch.ones(9, *[1] * len(front), 5) > 0
        with pytest.raises(ValueError, match=f"axis 0 of the mask, {name}"):
            dot_product_attention(q, q, q, mask)

"""Masks are boolean, True = may attend, and combine like sentences."""

from functools import partial

import pytest
import torch

from tformer_lite import causal_mask, sliding_mask, window_mask

every_square = pytest.mark.parametrize(
    "mask", [causal_mask, sliding_mask, partial(window_mask, width=2)]
)


def test_a_causal_mask_is_pytorchs_lower_triangle_and_a_window_a_band():
    ones = torch.ones(6, 6)
    assert causal_mask(6)[0, 0].equal(ones.tril().bool())
    band = ones.tril(1) * ones.triu(-1)
    assert window_mask(6, width=2)[0, 0].equal(band.bool())
    assert sliding_mask(6)[0, 0].equal((ones.tril() * ones.triu(-3)).bool())


@every_square
def test_a_mask_is_made_where_it_is_asked_for_and_never_too_small(mask):
    assert mask(6, device="meta").is_meta
    assert mask(0).shape == (1, 1, 0, 0)
    with pytest.raises(ValueError, match="-1 positions are not possible"):
        mask(-1)
    with pytest.raises(ValueError, match="width=0 .* use 1 or more"):
        window_mask(6, width=0)

"""Sums, and what is one where two are meant: residual connections, modules,
words, padding, views."""

import torch

from shapewatch.properties import (
    padding_invariance,
    provenance,
    repeatable,
)
from tests.helpers.strangers import GPT, IDS, PADDED


class KeepsMask(GPT):
    """The mask of an earlier batch of the same shape stays."""

    mask = None

    def forward(self, ids):
        if self.mask is None or self.mask.shape != ids.shape:
            self.mask = ids == 1
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(self.norm(x))


class SeesBlanks(GPT):
    """What stands at padding is 0, and no mask hides it."""

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        x = (x * (ids != 1)[..., None]).flip(1)
        for block in self.blocks:
            x = block(x) * (ids.flip(1) != 1)[..., None]
        return self.head(self.norm(x.flip(1)))


class Viewed(GPT):
    """A view is taken for a transpose."""

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return x @ self.tokens.weight.view(16, 50)


def test_a_mask_that_is_kept_is_found():
    finding = repeatable(KeepsMask().eval(), PADDED, pad=1)
    assert finding.holds is False
    assert "after one of other rows" in finding.says
    assert repeatable(GPT(pads=True).eval(), PADDED, pad=1).holds


def test_one_more_padding_moves_nothing():
    finding = padding_invariance(
        SeesBlanks(), PADDED, pad=1, causal=False, positions=7
    )
    assert finding.holds is False
    assert "when one more padding stands at the end" in finding.says


def test_a_view_is_no_transpose():
    finding = provenance(Viewed(), IDS)
    assert finding.holds is False
    assert "a matrix (50, 16) is viewed as (16, 50)" in finding.says

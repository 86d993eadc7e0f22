"""Models that mask their padding with large numbers, as many do."""

import pytest
import torch
from torch import nn

from shapewatch.properties import (
    exact_gradients,
    past,
    source_coverage,
)
from tests.helpers.strangers import GPT

LEFT = torch.tensor([[1, 1, 4, 5, 6], [2, 8, 3, 9, 4]])
RIGHT = LEFT.flip(1)


class Masked(nn.Module):
    """Keys that are padding, and later ones, get the smallest number."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(12, 8)
        self.parts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, ids):
        x = self.embed(ids)
        q, k, v = (part(x) for part in self.parts[:3])
        later = torch.ones(ids.shape[1], ids.shape[1]).triu(1) > 0
        hidden = later | (ids == 1)[:, None]
        scores = q @ k.mT / 8**0.5
        scores = scores + hidden.to(x) * torch.finfo(x.dtype).min
        return self.parts[3](scores.softmax(-1) @ v)


def test_where_a_mask_swallows_all_scores_no_slope_is_measured():
    assert exact_gradients(Masked(), LEFT, pad=1).holds
    assert not exact_gradients(Masked(), LEFT).holds  # nobody said it is one


class Silenced(Masked):
    """Its rows at padding are 0."""

    def forward(self, ids):
        return super().forward(ids) * (ids != 1)[..., None]


def test_words_of_one_id_that_nobody_hears_may_be_padding():
    assert past(Silenced(), RIGHT, pad=1).holds
    finding = past(Silenced(), RIGHT)
    assert finding.level == "unusual"
    assert finding.says.startswith("Row 0: position 3 has no effect")
    assert "give pad=1;" in finding.says


@pytest.mark.slow
def test_what_is_not_padding_is_still_broken():
    class Deaf(GPT):
        def forward(self, ids):
            x = super().forward(ids)
            return torch.cat([x[:, :-1], 0 * x[:, -1:]], 1)

    ids = torch.tensor([[4, 5, 6, 7], [3, 8, 2, 9]])
    assert past(Deaf(), ids).level == "broken"


class Translator(Masked):
    def forward(self, src, tgt):
        q, k, v = (
            part(self.embed(x)) for part, x in zip(self.parts, (tgt, src, src))
        )
        scores = (q @ k.mT).masked_fill((src == 1)[:, None], -1e9)
        return self.embed(tgt) + self.parts[3](scores.softmax(-1) @ v)


def test_a_source_of_which_one_id_is_not_heard_may_have_padding():
    tgt = torch.tensor([[3, 4, 5], [6, 7, 8]])
    assert source_coverage(Translator(), RIGHT, tgt, pad=1).holds
    finding = source_coverage(Translator(), RIGHT, tgt)
    assert finding.level == "unusual"
    assert "source position 3 has no effect" in finding.says

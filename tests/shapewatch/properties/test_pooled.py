"""Classifiers, which give one output for all positions: right, and wrong."""

import pytest
import torch
from torch import nn

from shapewatch.properties import causality, past, report
from tests.helpers.strangers import Encoder

# Three sentences of nine ids, two with padding behind.
IDS = torch.randint(2, 50, (3, 9), generator=torch.Generator().manual_seed(0))
IDS[1, 6:] = IDS[2, 4:] = 1


def first(x, real):
    return x[:, 0]


def mean(x, real):
    return (x * real).sum(1) / real.sum(1)


def mean_with_padding(x, real):
    return x.mean(1)


class Classifier(Encoder):
    """An encoder, what is made of all its positions, a head:
    (B, T) -> (B, K)."""

    def __init__(self, pool=first, masked=True, placed=True, rows_first=True):
        super().__init__(nested=False)
        self.pool, self.masked, self.placed = pool, masked, placed
        for layer in self.encoder.layers:
            layer.self_attn.batch_first = rows_first
        self.head = nn.Linear(16, 4)

    def forward(self, ids):
        real = ids != 1
        mask = ~real if self.masked else None
        x = self.embed(ids) if self.placed else self.tokens(ids)
        x = self.encoder(x, src_key_padding_mask=mask)
        return self.head(self.pool(x, real[..., None]))


# What is wrong with a model, and the check that says so.
WRONG = {
    "no padding mask": ("padding_invariance", {"masked": False}),
    "padding in the mean": ("padding_invariance", {"pool": mean_with_padding}),
    "rows for positions": (
        "batch_independence",
        {"masked": False, "rows_first": False},
    ),
    "no places": ("order_sensitivity", {"pool": mean, "placed": False}),
}


@pytest.mark.full
@pytest.mark.parametrize("known", [{"pad": 1}, {}], ids=["pad", "no pad"])
def test_a_right_one_is_not_called_broken(known):
    found = report(Classifier(), IDS, **known)
    assert found.ok, found


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_broken_one_is_found_out(name):
    check, options = WRONG[name]
    found = report(Classifier(**options), IDS, pad=1)
    assert check in found.broken, found
    assert "does not run" not in str(found)


def test_whom_a_position_hears_is_not_asked():
    for check in causality, past:
        finding = check(Classifier(), IDS, pad=1)
        assert finding.holds is None
        assert finding.says.startswith("There is one output for a whole")

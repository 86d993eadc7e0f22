"""Classifiers, which give one output for all positions: right, and wrong."""

import pytest
import torch
from torch import Tensor, nn

from shapewatch.properties import causality, past, report

PAD = 0
# Three sentences of nine ids, two with padding behind.
IDS = torch.randint(2, 50, (3, 9), generator=torch.Generator().manual_seed(0))
IDS[1, 6:] = IDS[2, 4:] = PAD


def first(x: Tensor, real: Tensor) -> Tensor:
    return x[:, 0]


def mean(x: Tensor, real: Tensor) -> Tensor:
    return (x * real).sum(1) / real.sum(1)


def mean_with_padding(x: Tensor, real: Tensor) -> Tensor:
    return x.mean(1)


class Classifier(nn.Module):
    """An encoder of PyTorch's, what is made of all its positions, a head:
    (B, T) -> (B, K)."""

    def __init__(self, pool=first, masked=True, places=True, rows_first=True):
        super().__init__()
        torch.manual_seed(0)
        self.pool, self.masked = pool, masked
        self.tokens = nn.Embedding(50, 16)
        rows = torch.randn(1, 12, 16)
        self.places = nn.Parameter(rows) if places else torch.zeros(1, 12, 16)
        sizes = {"dropout": 0.0, "batch_first": rows_first}
        layer = nn.TransformerEncoderLayer(16, 2, 32, **sizes)
        self.encoder = nn.TransformerEncoder(
            layer, 2, enable_nested_tensor=False
        )
        self.head = nn.Linear(16, 4)

    def forward(self, ids: Tensor) -> Tensor:
        real = ids != PAD
        x = self.tokens(ids) + self.places[:, : ids.shape[1]]
        mask = ~real if self.masked else None
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
    "no places": ("order_sensitivity", {"pool": mean, "places": False}),
}


@pytest.mark.full
@pytest.mark.parametrize("known", [{"pad": PAD}, {}], ids=["pad", "no pad"])
def test_a_right_one_is_not_called_broken(known):
    found = report(Classifier(), IDS, **known)
    assert found.ok, found


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_broken_one_is_found_out(name):
    check, options = WRONG[name]
    found = report(Classifier(**options), IDS, pad=PAD)
    assert check in found.broken, found
    assert "does not run" not in str(found)


def test_whom_a_position_hears_is_not_asked():
    for check in causality, past:
        finding = check(Classifier(), IDS, pad=PAD)
        assert finding.holds is None
        assert finding.says.startswith("There is one output for a whole")

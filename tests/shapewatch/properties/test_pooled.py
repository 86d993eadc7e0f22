"""Classifiers, which give one output for all positions: right, and wrong."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from shapewatch.properties import causality, past, report

PAD = 0


def sentences_of_ids() -> Tensor:
    """Three sentences of nine ids, two with padding behind: (3, 9)."""
    seeded = torch.Generator().manual_seed(0)
    ids = torch.randint(2, 50, (3, 9), generator=seeded)
    ids[1, 6:] = ids[2, 4:] = PAD
    return ids


def first(x: Tensor, real: Tensor) -> Tensor:
    return x[:, 0]


def mean(x: Tensor, real: Tensor) -> Tensor:
    return (x * real).sum(1) / real.sum(1)


def largest(x: Tensor, real: Tensor) -> Tensor:
    return x.masked_fill(~real, -1e9).amax(1)


def last(x: Tensor, real: Tensor) -> Tensor:
    return x[torch.arange(len(x)), real[..., 0].sum(1) - 1]


def mean_with_padding(x: Tensor, real: Tensor) -> Tensor:
    return x.mean(1)


def share_of_all(x: Tensor, real: Tensor) -> Tensor:
    return (x * real).sum(1) / real.sum()


class Classifier(nn.Module):
    """An encoder of PyTorch's, what is made of all its positions, a head:
    (B, T) -> (B, K), or (B) with no classes."""

    def __init__(
        self,
        pool: Callable = first,
        masked: bool = True,
        places: bool = True,
        rows_first: bool = True,
        classes: int = 4,
    ):
        super().__init__()
        torch.manual_seed(0)
        self.pool, self.masked, self.classes = pool, masked, classes
        self.tokens = nn.Embedding(50, 16)
        self.places = nn.Parameter(torch.randn(1, 12, 16)) if places else None
        layer = nn.TransformerEncoderLayer(
            16, 2, 32, dropout=0.0, batch_first=rows_first
        )
        self.encoder = nn.TransformerEncoder(
            layer, 2, enable_nested_tensor=False
        )
        self.head = nn.Linear(16, classes or 1)

    def forward(self, ids: Tensor) -> Tensor:
        real = ids != PAD
        x = self.tokens(ids)
        if self.places is not None:
            x = x + self.places[:, : ids.shape[1]]
        mask = ~real if self.masked else None
        x = self.encoder(x, src_key_padding_mask=mask)
        out = self.head(self.pool(x, real[..., None]))
        return out if self.classes else out[:, 0]


class WordMean(nn.Module):
    """The mean of words, in any order, through two layers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.tokens = nn.Embedding(50, 16, padding_idx=PAD)
        self.layers = nn.Sequential(
            nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3)
        )

    def forward(self, ids: Tensor) -> Tensor:
        real = (ids != PAD)[..., None]
        return self.layers(mean(self.tokens(ids), real))


RIGHT: dict[str, Callable[[], nn.Module]] = {
    "the first": Classifier,
    "the last": partial(Classifier, last),
    "a mean of words": WordMean,
}
# Models by the check that says what is wrong with them.
WRONG: dict[str, dict[str, Callable[[], nn.Module]]] = {
    "padding_invariance": {
        "no padding mask": partial(Classifier, masked=False),
        "padding in the mean": partial(Classifier, mean_with_padding),
    },
    "batch_independence": {
        "divided by the batch": partial(Classifier, share_of_all),
        "rows for positions": partial(
            Classifier, masked=False, rows_first=False
        ),
    },
    "order_sensitivity": {
        "no places": partial(Classifier, mean, places=False)
    },
}


@pytest.mark.full
@pytest.mark.parametrize("known", [{"pad": PAD}, {}], ids=["pad", "no pad"])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_is_not_called_broken(name, known):
    found = report(RIGHT[name](), sentences_of_ids(), **known)
    assert found.ok, found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "name"), [(x, name) for x in WRONG for name in WRONG[x]]
)
def test_a_broken_one_is_found_out(check, name):
    found = report(WRONG[check][name](), sentences_of_ids(), pad=PAD)
    assert check in found.broken, found


def test_whom_a_position_hears_is_not_asked():
    for check in causality, past:
        finding = check(Classifier(), sentences_of_ids(), pad=PAD)
        assert finding.holds is None
        assert finding.says.startswith("There is one output for a whole")

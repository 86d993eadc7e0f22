"""What is odd in right models of strangers raises no alarm, and what is
near it, and wrong, does."""

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize

from shapewatch.properties import finite, identity, norm_statistics
from tests.helpers.strangers import GPT, IDS, Attention
from tformer_lite import report

ROWS = torch.randn(2, 7, 16, generator=torch.Generator().manual_seed(0))


class HeadNorm(nn.Module):
    """RMSNorm with gains for each head."""

    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.rand(4, 4) + 0.5)

    def forward(self, x):
        return normalize(x, dim=-1) * 2 * self.gamma


class HalvedNorm(HeadNorm):
    """It forgets the root of D."""

    def forward(self, x):
        return super().forward(x) / 2


class NormedHeads(Attention):
    """Queries and keys are normalised by head."""

    kind = HeadNorm

    def __init__(self):
        super().__init__()
        self.query_norm, self.key_norm = self.kind(), self.kind()

    def shape(self, q, k):
        return self.query_norm(q) / q.shape[-1] ** 0.5, self.key_norm(k)


class Broken(NormedHeads):
    kind = HalvedNorm


class NoNorm(nn.Module):
    """It only scales, as its name says."""

    def __init__(self, c):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(c))

    def forward(self, x):
        return x * self.weight


class ForgetfulNorm(NoNorm):
    """It does the same, though its name says otherwise."""


class Doubled(Attention):
    """Writes into its weights after the softmax."""

    def weigh(self, scores):
        weights = scores.softmax(-1).clone()
        weights[0] *= 2
        return weights


class DoubledLater(Attention):
    """Writes into its weights when they have been used."""

    def forward(self, x, hidden=None):
        mixed = super().forward(x, hidden)
        self.used *= 2
        return mixed

    def weigh(self, scores):
        self.used = scores.softmax(-1).clone()
        return self.used


@pytest.mark.slow
def test_weights_that_are_written_by_index_are_seen():
    torch.manual_seed(0)
    assert "weight_rows" in report(GPT(attention=Doubled), IDS).broken
    later = report(GPT(attention=DoubledLater), IDS)
    assert later["weight_rows"].holds, later["weight_rows"]


@pytest.mark.parametrize("kind", [NormedHeads, Broken])
def test_heads_may_have_gains_of_their_own(kind):
    torch.manual_seed(0)
    finding = norm_statistics(GPT(attention=kind), IDS)
    assert finding.holds is (kind is NormedHeads), finding


@pytest.mark.parametrize("kind", [NoNorm, ForgetfulNorm])
def test_what_says_that_it_is_no_norm_is_none(kind):
    torch.manual_seed(0)
    found = norm_statistics(GPT(norm=kind), IDS)
    assert found.level == ("not judged" if kind is NoNorm else "broken")


class TimeFirst(nn.Module):
    """A post-norm block whose layers read positions first: (T, B, C)."""

    def __init__(self, adds=True):
        super().__init__()
        self.norm, self.adds = nn.LayerNorm(16), adds
        self.layers = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16))

    def forward(self, x):
        made = self.layers(x.transpose(0, 1)).transpose(0, 1)
        return self.norm(x + made if self.adds else made)


def test_layers_of_a_block_may_read_positions_first():
    assert identity(nn.Sequential(TimeFirst(), TimeFirst()), ROWS).holds
    finding = identity(nn.Sequential(TimeFirst(), TimeFirst(False)), ROWS)
    assert finding.level == "broken"


class PairNorm(nn.LayerNorm):
    """Gives the factor of its numbers, too, as quantised models do."""

    def forward(self, x):
        return super().forward(x), torch.ones(())


class Paired(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = PairNorm(16)
        self.layers = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16))

    def forward(self, x):
        return x + self.layers(self.norm(x)[0])


def test_a_norm_may_give_more_than_vectors():
    assert identity(nn.Sequential(Paired(), Paired()), ROWS).holds


class Exponent(nn.Module):
    def forward(self, x):
        return x.exp()


def deep(layers, end):
    torch.manual_seed(0)
    between = (nn.Linear(16, 16) for _ in range(layers))
    return nn.Sequential(*between, end)


def test_many_layers_may_make_large_numbers_and_no_power_of_e():
    assert finite(deep(40, nn.Identity()), ROWS).holds
    assert finite(deep(2, Exponent()), ROWS).level == "unusual"

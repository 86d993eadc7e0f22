"""Models with one thing odd, which is right, or wrong: what a check says."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize
from torch.testing import assert_close

from gallery import bug
from shapewatch.properties import (
    finite,
    identity,
    live_parameters,
    logits,
    norm_statistics,
    order_sensitivity,
    padding_invariance,
    past,
    provenance,
    repeatable,
    score_scale,
    source_coverage,
)
from tests.helpers.places import TwoSides
from tests.helpers.strangers import GPT, IDS, PADDED, Attention
from tests.helpers.writers import StartsWithOne
from tformer_lite import report, running_example

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))


class Hears(nn.Module):
    """Each word hears those that a matrix (T, T) says."""

    def __init__(self, weights):
        super().__init__()
        self.table, self.weights = nn.Embedding(50, 12), weights

    def forward(self, ids):
        t = ids.shape[1]
        return self.weights[:t, :t] @ self.table(ids)


@pytest.mark.slow
def test_of_all_positions_one_that_hears_nobody_is_found():
    for t in range(1, 7):
        weights = torch.ones(7, 7).tril()
        weights[t, :t] = 0
        says = past(Hears(weights), IDS).says
        assert (
            f"position {t} does not depend on any position before it" in says
        )


class Small(GPT):
    """T5's start: queries are smaller by the root of D."""

    def __init__(self, factor):
        super().__init__(attention=Unscaled)
        for block in self.blocks:
            block.attention.qkv.weight.data[:16] *= factor
            block.attention.qkv.bias.data.zero_()


class Unscaled(Attention):
    def shape(self, q, k):
        return q, k


def level(model):
    torch.manual_seed(0)
    return score_scale(model(), IDS).level


def test_a_missing_scale_is_made_up_for_by_the_start_alone():
    assert level(lambda: Small(0.5)) == "unusual"
    assert level(lambda: Small(1.0)) == "broken"
    assert level(lambda: GPT(attention=Unscaled)) == "broken"


def test_a_gain_that_is_no_parameter_is_unusual():
    class OddNorm(nn.Module):
        def __init__(self, gain):
            super().__init__()
            self.gain = gain

        def forward(self, x):
            return self.gain * x / x.square().mean(-1, keepdim=True).sqrt()

    assert (
        norm_statistics(nn.Sequential(OddNorm(3.0)), ROWS).level == "unusual"
    )
    assert norm_statistics(nn.Sequential(OddNorm(1.0)), ROWS).holds


@pytest.mark.slow
def test_what_nothing_reads_outside_of_the_blocks_is_unusual():
    model = GPT()
    model.pooler = nn.Linear(16, 16)
    finding = live_parameters(model, IDS)
    assert finding.level == "unusual"
    assert "They change no output" in finding.says
    model.blocks[0].spare = nn.Linear(16, 16)
    assert live_parameters(model, IDS).level == "broken"


WIDE = torch.randn(2, 7, 16, generator=torch.Generator().manual_seed(0))


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
    assert identity(nn.Sequential(Paired(), Paired()), WIDE).holds


class Exponent(nn.Module):
    def forward(self, x):
        return x.exp()


def deep(layers, end):
    torch.manual_seed(0)
    between = (nn.Linear(16, 16) for _ in range(layers))
    return nn.Sequential(*between, end)


def test_many_layers_may_make_large_numbers_and_no_power_of_e():
    assert finite(deep(40, nn.Identity()), WIDE).holds
    assert finite(deep(2, Exponent()), WIDE).level == "unusual"


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


def test_padding_that_is_no_vector_has_weight():
    finding = padding_invariance(
        SeesBlanks(), PADDED, pad=1, causal=False, positions=7
    )
    assert finding.holds is False
    assert "when padding stands on the right of the input" in finding.says


def test_a_view_is_no_transpose():
    finding = provenance(Viewed(), IDS)
    assert finding.holds is False
    assert "a matrix (50, 16) is viewed as (16, 50)" in finding.says


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


class Silenced(Masked):
    """Its rows at padding are 0."""

    def forward(self, ids):
        return super().forward(ids) * (ids != 1)[..., None]


def test_words_of_one_id_that_nobody_hears_may_be_padding():
    assert past(Silenced(), RIGHT, pad=1).holds
    finding = past(Silenced(), RIGHT)
    assert finding.level == "unusual"
    assert finding.says.startswith("Sequence 0: position 3 has no effect")
    assert "give pad=1;" in finding.says


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


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 7])
def test_each_side_has_places_of_its_own(count):
    """Sources are as long as the target, or shorter."""
    given = IDS.roll(2, 1)[:, :count], IDS
    assert order_sensitivity(TwoSides(), *given).holds
    finding = order_sensitivity(TwoSides(target=False), *given)
    assert finding.level == "unusual"
    assert finding.says.startswith("The target has no positions")
    finding = order_sensitivity(TwoSides(source=False), *given)
    assert finding.level == "broken"
    assert finding.says.startswith("When source positions 0 and 1 change")


THIRD = torch.arange(6)[:, None] == 2


class Exponential(nn.Module):
    """exp of weights, which overflows at 88.7 in float32, and of biases."""

    def __init__(self, weight: float, bias: float):
        super().__init__()
        self.weight = nn.Parameter(torch.full((1, 1), weight))
        self.bias = nn.Parameter(torch.full((1,), bias))

    def forward(self, x):
        return (self.weight + self.bias).exp() + x


@pytest.mark.parametrize(
    ("weight", "bias", "holds"),
    [(2.9, 0.0, True), (3.0, 0.0, False), (0.0, 40.0, True)],
)
def test_weights_become_thirty_times_as_large_and_biases_stay(
    weight, bias, holds
):
    assert finite(Exponential(weight, bias), ROWS).holds is holds


def test_the_positions_that_have_no_numbers_are_shown():
    seen = finite(lambda x: x.masked_fill(THIRD, math.nan), ROWS).seen
    assert seen.equal(1 - THIRD[:, 0].float().expand(2, 6))
    model, pair = bug("no_key_left").model(), running_example()[:2]
    seen = finite(model, *pair).seen
    assert seen.equal(torch.tensor([[0.0], [1.0]]).expand(2, 8))


@pytest.mark.parametrize(
    ("side", "inputs", "name"),
    [(0, 1, "input (words)"), (0, 2, "source (words)"), (1, 2, "(answer)")],
)
def test_ids_that_a_run_writes_into_are_named(side, inputs, name):
    given = [torch.tensor([[5, 3, 8], [1, 2, 7]]) for _ in range(inputs)]
    finding = repeatable(StartsWithOne(side), *given)
    assert finding.level == "broken"
    assert f"{name}: whoever" in finding.says
    assert finding.seen.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert given[side].tolist() == [[5, 3, 8], [1, 2, 7]]


@pytest.mark.parametrize(
    ("rows", "holds"),
    [
        ([[0.5, 0.5], [0.9, 0.1]], False),
        ([[1.0, 0.0], [0.9, 0.1]], False),  # one is certain
        ([[0.2, 0.3, 0.5]], False),  # a single position
        ([[0.5, 0.5], [0.9, 0.6]], True),  # no sum of 1
        ([[2.0, -1.0], [0.5, 0.5]], True),  # sums of 1, but no shares
        ([[1.0], [1.0]], True),  # one channel has no softmax
    ],
)
def test_probabilities_are_shares_of_one(rows, holds):
    outputs = torch.tensor([rows] * 2)
    finding = logits(lambda x: outputs, torch.zeros_like(outputs))
    assert finding.holds is holds
    assert_close(finding.seen, outputs.sum(-1))


class NormOf(nn.Module):
    """A norm whose rows have any mean square; a part of it is no norm."""

    def __init__(self, square: float):
        super().__init__()
        self.factor, self.dropout = square**0.5, nn.Dropout(0.0)

    def forward(self, x):
        unit = x / x.square().mean(-1, keepdim=True).sqrt()
        return self.dropout(unit * self.factor)


@pytest.mark.parametrize("square", [0.8, 0.85, 1.05, 1.5])
def test_a_norm_gives_a_mean_square_of_one(square):
    finding = norm_statistics(nn.Sequential(NormOf(square)), ROWS)
    assert finding.holds is (0.825 < square < 1.1)
    assert_close(finding.seen, torch.full((2, 6), square))

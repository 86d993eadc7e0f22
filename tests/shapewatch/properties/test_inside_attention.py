"""What a check sees of attention, in every layout."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.functional import pad
from torch.testing import assert_close

from shapewatch.properties import (
    norm_statistics,
    order_sensitivity,
    past,
    score_scale,
    source_coverage,
    weight_rows,
)
from shapewatch.properties.attention_parts import AttentionParts, Operand
from shapewatch.properties.provenance import joined_in_order, split_in_order
from tests.helpers.heads import Own
from tests.helpers.layouts import LAYOUTS, Layer, powers_and_sum
from tests.helpers.strangers import GPT, IDS
from tformer_lite import (
    MultiHeadAttention,
    causal_mask,
    dot_product_attention,
    join_heads,
    report,
    running_example,
    running_model,
    split_heads,
    tiny_translator,
    trace,
)

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
HEADS = split_heads(ROWS, 3)
PAIR = running_example()[:2]


@pytest.mark.parametrize(
    ("heads", "right"),
    [
        (HEADS, True),
        (2 * HEADS, True),  # as the factor says
        (ROWS.unflatten(-1, (4, 3)).permute(0, 3, 1, 2), True),
        (ROWS.view(2, 3, 6, 4), False),  # several positions, out of order
        (torch.cat((HEADS[..., :5, :2], HEADS[..., 1:, 2:]), -1), False),
        (HEADS.flip(-2), False),  # positions from the last to the first
        (HEADS[..., [0, 0, 1, 2, 3, 4], :], False),  # one position twice
        (HEADS * (1 + 4e-5), True),  # as others round
        (HEADS + 1, None),  # computed anew: nobody knows from what
    ],
)
def test_a_head_is_the_same_channels_of_position_after_position(heads, right):
    factor = 2.0 if torch.equal(heads, 2 * HEADS) else 1.0
    move = split_in_order(Operand(heads, ROWS, factor))
    assert (move and move.in_order) == right


def joined(mixed, joined):
    """An attention of which only the end is of interest."""
    return AttentionParts("", *[None] * 5, mixed=mixed, joined=joined)


@pytest.mark.parametrize(
    ("rows", "right"),
    [
        (ROWS, True),
        (HEADS.reshape(2, 6, 12), False),  # several positions in a row
        (ROWS.unflatten(-1, (3, 4)).flip(2).flatten(2), True),
        (
            torch.stack([ROWS[:, 0], *ROWS[:, 1:].roll(4, -1).unbind(1)], 1),
            False,
        ),
        (ROWS + 1, None),  # computed anew
        (HEADS, None),  # not joined at all
    ],
)
def test_a_joined_row_is_all_heads_in_one_order(rows, right):
    move = joined_in_order(joined(HEADS, rows))
    assert (move and move.in_order) == right


def test_windows_may_be_between_heads_and_positions():
    mixed = HEADS.unflatten(2, (2, 3))
    rows = mixed.permute(0, 2, 3, 1, 4).reshape(2, 6, 12)
    assert joined_in_order(joined(mixed, rows)).in_order


class HalfDeaf(MultiHeadAttention):
    """Keys from the source, and values from one's own stream."""

    def forward(self, x, source, mask=None):
        parts = self.query(x), self.key(source), self.value(x)
        q, k, v = (split_heads(part, self.n_heads) for part in parts)
        return self.output(join_heads(dot_product_attention(q, k, v, mask)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MultiHeadAttention, HalfDeaf])
def test_keys_and_values_must_both_be_the_sources(kind):
    model = running_model(replace(tiny_translator, n_layers=2))
    for block in model.decoder.blocks:
        block.cross_attention = kind(12, 3)
    finding = source_coverage(model, *PAIR)
    assert finding.holds is (kind is MultiHeadAttention)
    assert ("keys and values both" in finding.says) is (kind is HalfDeaf)


class Joint(nn.Module):
    """A picture (B, S, C) and ids (B, T) in one stream; or a picture that
    is added, or that asks the ids."""

    def __init__(self, how):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.how = nn.Embedding(50, 12), how
        self.places, self.mix = nn.Embedding(16, 12), MultiHeadAttention(12, 3)

    def forward(self, src, tgt):
        t = tgt.shape[1]
        x = self.table(tgt) + self.places(torch.arange(t))
        if self.how == "asks":
            return x + self.mix(src, x).mean(1, True)
        if self.how == "is added":
            x = x + src.mean(1, True)
        else:
            x = torch.cat((src, x), 1)
        may = causal_mask(x.shape[1])
        return (x + self.mix(x, x, may))[:, -t:]


@pytest.mark.parametrize("how", ["comes first", "is added", "asks"])
def test_a_source_need_not_be_asked_by_cross_attention(how):
    finding = source_coverage(Joint(how), ROWS, IDS)
    assert finding.holds is (how != "asks")
    assert ("In mix, queries come from" in finding.says) is (how == "asks")
    assert order_sensitivity(Joint(how), ROWS, IDS).level != "broken"


class Moving(Own):
    """Keys and values (B, H, T, D) are moved, and a mask (T, S) chosen."""

    def __init__(self, move, mask=None):
        super().__init__(fused=True)
        self.move, self.mask = move, mask or torch.Tensor.tril

    def split(self, x):
        q, *rest = super().split(x)
        return q, *self.move(*rest)

    def seen(self, t, s):
        return self.mask(torch.ones(t, s)) > 0


def each(change):
    return lambda k, v: (change(k), change(v))


AS_IT_IS = each(lambda x: x)
BEFORE = torch.randn(1, 4, 3, 4, generator=torch.Generator().manual_seed(0))
NOT_THERE = {
    "repeated": each(lambda x: x.repeat_interleave(3, 2)),
    "shifted": each(lambda x: pad(x[:, :, :-1], (0, 0, 1, 0))),
    "turned round": each(lambda x: x.flip(2)),
    "keys alone": lambda k, v: (k.roll(1, 2), v),
    "values alone": lambda k, v: (k, v.flip(2)),
}
THERE = {
    "as it is": (AS_IT_IS, None),
    "a memory": (
        each(lambda x: torch.cat((BEFORE.expand(len(x), -1, -1, -1), x), 2)),
        lambda may: may.tril(3),
    ),
    "summaries": (each(lambda x: x.unfold(2, 2, 1).mean(-1)), torch.ones_like),
    "a window": (AS_IT_IS, lambda may: may.tril().triu(-1)),
}
SECONDS = torch.arange(7)[:, None] % 2 == torch.arange(7) % 2
MEANT = {
    "every second": (lambda may: may.tril() * SECONDS, "masks hide it"),
    "not itself": (lambda may: may.tril(-1), "no position attends to itself"),
}


def moving(*how, layer=None):
    """A GPT of which all layers, or one, have such attention."""
    model = GPT()
    for n in range(2) if layer is None else [layer]:
        model.blocks[n].attention = Moving(*how)
    return model


@pytest.mark.parametrize("layer", [None, 1])
@pytest.mark.parametrize("name", NOT_THERE)
def test_the_value_of_a_position_stands_in_its_row(name, layer):
    finding = past(moving(NOT_THERE[name], layer=layer), IDS)
    assert finding.level == "broken"
    assert f"In blocks.{layer or 0}.attention, " in finding.says
    if name == "repeated":
        assert "6 attends to values of positions 0 to 2 only" in finding.says


@pytest.mark.parametrize("name", THERE)
def test_keys_that_are_more_or_fewer_than_positions_are_right(name):
    assert past(moving(*THERE[name]), IDS).holds


@pytest.mark.parametrize("name", MEANT)
def test_a_mask_may_hide_neighbours_on_purpose(name):
    mask, says = MEANT[name]
    finding = past(moving(AS_IT_IS, mask), IDS)
    assert finding.level == "unusual"
    assert says in finding.says


@pytest.mark.parametrize("factor", [0.0, 1.0, 2.0])
def test_a_row_of_padding_may_be_empty_but_not_sum_to_two(factor):
    table = nn.Embedding(10, 12)

    def reads(ids):
        x = table(ids)
        weights = (x @ x.mT / 12**0.5).softmax(-1)
        return weights * torch.where(ids == 1, factor, 1.0)[..., None] @ x

    ids = torch.tensor([[2, 5, 6, 7, 1, 1], [2, 8, 9, 5, 4, 1]])
    assert weight_rows(reads, ids, pad=1).holds is (factor < 2)
    assert weight_rows(reads, ids).holds is (factor == 1)


every = pytest.mark.parametrize("attend", LAYOUTS, ids=lambda f: f.__name__)


@pytest.mark.slow
@every
def test_a_report_finds_what_a_trace_finds_and_nothing_to_object(attend):
    layer = Layer(attend)
    found = report(layer, ROWS)
    loud = ["finite"] if attend is powers_and_sum else []  # it overflows
    assert found.broken == loud
    assert len(trace(layer, ROWS, keep=True).attention()) == 1
    assert found["weight_rows"].says.endswith("sums to 1, in 1 attention.")
    assert found["score_scale"].holds
    assert found["provenance"].holds


@pytest.mark.slow
@every
def test_a_wrong_scale_is_found_in_every_layout(attend):
    says = score_scale(Layer(attend, loud=2.0), ROWS).says
    assert "times 1.00, where 1/√4 is 0.50" in says


@pytest.mark.parametrize("factor", [0.5, 2.0, 3.0])
@pytest.mark.parametrize("where", ["q", "k", "scores"])
def test_a_wrong_scale_is_measured_wherever_it_is_put(where, factor):
    q, k, v = (nn.Linear(12, 12) for _ in range(3))
    by = {name: factor if name == where else 1.0 for name in "qk"}

    def attend(x):
        scores = q(x) * by["q"] @ (k(x) / by["k"] ** -1).mT / 12**0.5
        if where == "scores":
            scores = scores * factor
        return scores.softmax(-1) @ v(x)

    finding = score_scale(attend, ROWS)
    assert finding.holds is False
    assert f"variance {factor**2:.2f}" in finding.says
    assert_close(finding.seen, torch.tensor([[factor**2]]))
    attend.config = SimpleNamespace(query_scalar=12 / factor**2)
    assert score_scale(attend, ROWS).level == "unusual"


def test_gains_and_offsets_are_not_held_against_a_norm():
    norm = nn.Sequential(nn.LayerNorm(12))
    assert norm_statistics(norm, ROWS).holds
    nn.init.constant_(norm[0].weight, 5.0)
    nn.init.constant_(norm[0].bias, 2.0)
    finding = norm_statistics(norm, 3 * ROWS + 1)
    assert finding.holds
    assert_close(finding.seen, torch.ones(2, 6), rtol=1e-3, atol=0)


@pytest.mark.slow
def test_the_report_has_each_finding_by_name():
    found = report(running_model(), *PAIR)
    assert found["causality"].name == "causality"
    for finding in found.findings:
        seen = finding.seen is not None and finding.seen.ndim == 2
        assert seen is bool(finding.holds), finding.name
    with pytest.raises(KeyError, match="there are finite, repeatable"):
        found["speed"]

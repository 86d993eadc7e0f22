"""What a check sees inside attention, with tensors made for the purpose."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from shapewatch.properties import (
    provenance,
    score_scale,
    source_dependence,
    weight_rows,
)
from shapewatch.properties.attention import (
    AttentionParts,
    Operand,
    joined_in_order,
    nobody,
    split_in_order,
)
from tformer_lite import (
    MultiHeadAttention,
    dot_product_attention,
    join_heads,
    running_example,
    running_model,
    split_heads,
    tiny_translator,
)

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
HEADS = split_heads(ROWS, 3)


@pytest.mark.parametrize(
    ("heads", "right"),
    [
        (HEADS, True),
        (2 * HEADS, True),  # as the factor says
        (HEADS.flatten(0, 1), True),
        (ROWS.unflatten(-1, (4, 3)).permute(0, 3, 1, 2), True),
        (ROWS.view(2, 3, 6, 4), False),  # several positions, out of order
        (torch.cat((HEADS[..., :5, :2], HEADS[..., 1:, 2:]), -1), False),
        (HEADS.flip(-2), False),  # positions from the last to the first
        (HEADS.transpose(1, 2).flatten(1, 2)[:, None, ::4], False),
        (HEADS.mT.reshape(2, 3, 6, 4), False),
        (HEADS[..., [0, 0, 1, 2, 3, 4], :], False),  # one position twice
        (HEADS * (1 + 4e-5), True),  # as others round
        (HEADS + 4e-7, True),
        (HEADS + 1, None),  # computed anew: nobody knows from what
    ],
)
def test_a_head_is_the_same_channels_of_position_after_position(heads, right):
    factor = 2.0 if torch.equal(heads, 2 * HEADS) else 1.0
    found = split_in_order(Operand(heads, ROWS, factor))
    assert (found and found.in_order) == right


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
    found = joined_in_order(joined(HEADS, rows))
    assert (found and found.in_order) == right


def test_empty_rows_are_excused_by_the_padding_of_either_input():
    """Of just as many positions as the rows have."""
    early, late = torch.arange(6) > 1, torch.arange(6) < 4
    other = torch.zeros(2, 4) > 0
    sums = torch.zeros(2, 3, 6)
    for real in ([early, late], [late, early]):
        subject = SimpleNamespace(real=[x.expand(2, 6) for x in real])
        excused = (~early | ~late).expand(2, 3, 6)
        assert nobody(subject, sums).equal(excused)
    assert not nobody(
        SimpleNamespace(real=[other]), torch.zeros(2, 2, 8)
    ).any()


def by_view(which):
    """Heads of which some are cut out of the rows without a transpose."""

    def attend(x):
        parts = {n: x @ w for n, w in zip("qkv", WEIGHTS)}
        heads = [
            y.view(2, 3, 6, 4) if n == which else split_heads(y, 3)
            for n, y in parts.items()
        ]
        return join_heads(dot_product_attention(*heads))

    return attend


WEIGHTS = torch.randn(3, 12, 12, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("which", "name"), [("q", "queries"), ("k", "keys"), ("v", "values")]
)
def test_the_split_that_mixes_is_named(which, name):
    says = provenance(by_view(which), ROWS).says
    assert says.startswith(f"In the model, the split {name} mix positions")


@pytest.mark.parametrize("variance", [0.75, 0.85, 1.2, 1.3])
def test_a_variance_near_one_will_do(variance):
    def attend(x):
        q, k, v = (split_heads(x @ w, 3) for w in WEIGHTS)
        return join_heads(dot_product_attention(q * variance**0.5, k, v))

    assert score_scale(attend, ROWS).holds is (0.8 < variance < 1.25)


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
    finding = source_dependence(model, *running_example()[:2])
    assert finding.holds is (kind is MultiHeadAttention)
    assert ("both keys and values" in finding.says) is (kind is HalfDeaf)


@pytest.mark.parametrize("factor", [0.0, 1.0, 2.0])
def test_a_row_of_padding_may_be_empty_but_not_sum_to_two(factor):
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 12)

        def forward(self, ids):
            x = self.table(ids)
            weights = (x @ x.mT / 12**0.5).softmax(-1)
            weights = weights * torch.where(ids == 1, factor, 1.0)[..., None]
            return weights @ x

    ids = torch.tensor([[2, 5, 6, 7, 1, 1], [2, 8, 9, 5, 4, 1]])
    assert weight_rows(Reader(), ids, pad=1).holds is (factor < 2)
    assert weight_rows(Reader(), ids).holds is (factor == 1)

"""Attention is found with its operands, its scale and its end, however the
lines around it are written."""

import pytest
import torch

from shapewatch.properties import provenance, score_scale, weight_rows
from tests.helpers.layouts import Layer
from tformer_lite import dot_product_attention, join_heads, split_heads

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
WEIGHTS = (
    torch.randn(3, 12, 12, generator=torch.Generator().manual_seed(1)) / 4
)


def heads(x):
    """Queries, keys and values of three heads."""
    return [split_heads(x @ w, 3) for w in WEIGHTS]


def beside(x):
    """Something else is moved before the heads are joined."""
    mixed = dot_product_attention(*heads(x))
    x.transpose(1, 2)
    return join_heads(mixed)


def afterwards(x):
    """What was joined is read by a layer, and then moved as well."""
    joined = join_heads(dot_product_attention(*heads(x)))
    return joined @ WEIGHTS[0] + joined.mT.sum()


@pytest.mark.slow
@pytest.mark.parametrize("attend", [beside, afterwards])
def test_the_end_of_an_attention_is_what_the_next_step_reads(attend):
    finding = provenance(attend, ROWS)
    assert finding.holds
    assert finding.seen.equal(torch.arange(6)[:, None].expand(6, 12))


def spaced(q, k, v, mask):
    scores = torch.einsum("b t h d, b s h d -> b h t s", q, k / 2)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return torch.einsum("b h t s, b s h d -> b t h d", weights, v)


def by_baddbmm(q, k, v, mask):
    q, k, v = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))
    scores = (q @ k.mT / 2).masked_fill(~mask, -torch.inf)
    mixed = torch.baddbmm(torch.zeros(()), scores.softmax(-1), v)
    return mixed.unflatten(0, (2, -1)).transpose(1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("attend", [spaced, by_baddbmm])
def test_a_product_may_be_written_otherwise(attend):
    torch.manual_seed(0)
    layer = Layer(attend)
    assert weight_rows(layer, ROWS).says.endswith("to 1, in 1 attention.")
    assert score_scale(layer, ROWS).holds
    assert provenance(layer, ROWS).holds

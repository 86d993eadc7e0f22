"""No property objects to a layout, and none is blind in one."""

import pytest
import torch

from shapewatch.properties import (
    score_scale,
    weight_rows,
)
from tests.helpers.layouts import LAYOUTS, Layer, powers_and_sum
from tformer_lite import report, trace

X = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
every = pytest.mark.parametrize("attend", LAYOUTS, ids=lambda f: f.__name__)


def built(attend, **options):
    torch.manual_seed(0)
    return Layer(attend, **options)


@pytest.mark.slow
@every
def test_a_report_finds_what_a_trace_finds_and_nothing_to_object(attend):
    layer = built(attend)
    found = report(layer, X)
    loud = ["finite"] if attend is powers_and_sum else []  # it overflows
    assert found.broken == loud
    assert len(trace(layer, X, keep=True).attention()) == 1
    assert found["weight_rows"].says.endswith("sums to 1, in 1 attention.")
    assert found["score_scale"].holds
    assert found["provenance"].holds


@pytest.mark.slow
@every
def test_a_wrong_scale_is_found_in_every_layout(attend):
    says = score_scale(built(attend, loud=2.0), X).says
    assert "times 1.00, where 1/√4 is 0.50" in says


def test_a_softmax_over_queries_is_found_where_keys_come_first():
    def attend(q, k, v, mask):
        weights = torch.einsum("bshd,bthd->bsth", k, q / 2).softmax(2)
        return torch.einsum("bsth,bshd->bthd", weights, v)

    assert weight_rows(built(attend), X).holds is False


def test_attention_without_a_product_is_not_seen_by_either():
    """A limit: here a sum of products is no product of matrices."""

    def attend(q, k, v, mask):
        scores = (q[:, :, None] * k[:, None]).sum(-1).permute(0, 3, 1, 2)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return torch.einsum("bhts,bshd->bthd", weights, v)

    assert trace(built(attend), X, keep=True).attention() == []
    assert weight_rows(built(attend), X).holds is None

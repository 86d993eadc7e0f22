"""What is added to the scores: by distance, with its sign, and heard."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from tests.helpers.strangers import IDS
from tests.properties.test_heads import Own
from tests.properties.test_order import Nameless
from tformer_lite.properties import order_sensitivity, relative_positions

HEADS, MOST = 4, 8
APART = torch.arange(MOST)[:, None] - torch.arange(MOST)
SLOPES = 2.0 ** -torch.arange(1, 1 + HEADS)[:, None, None]
SEEN = APART >= 0


class Biased(Own):
    """Something (H, T, T) is added to the scores, which may be handed to one
    call with the mask."""

    def __init__(self, bias, fused=False, causal=True):
        super().__init__()
        self.bias, self.fused, self.causal = bias, fused, causal
        self.table = nn.Parameter(torch.randn(MOST, MOST, HEADS))

    def forward(self, x, hidden=None):
        t = x.shape[1]
        bias = self.bias(self.table[:t, :t], APART[:t, :t])
        hidden = ~SEEN[:t, :t] & self.causal
        q, k, v = self.split(x)
        if self.fused:
            mask = bias.expand(HEADS, t, t).masked_fill(hidden, -torch.inf)
            made = scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = (q @ k.mT / 2 + bias).masked_fill(hidden, -torch.inf)
            made = scores.softmax(-1) @ v
        return self.out(self.join(made))


def alibi(table, apart):
    return -SLOPES * apart.abs()


def by_key(table, apart):
    """As BLOOM has it: a row of numbers of positions for each head."""
    return SLOPES * torch.arange(len(apart))


def buckets(table, apart):
    """A table (2 T, H) of distances, as T5 has it."""
    rows = table.flatten(0, 1)[apart.clamp(-5, 5) + 5]
    return rows.permute(2, 0, 1)


def free(table, apart):
    return table.permute(2, 0, 1)


def viewed(table, apart):
    rows = table.flatten(0, 1)[apart.clamp(-5, 5) + 5]
    return rows.reshape(HEADS, *apart.shape)


def on_grid(table, apart):
    """Words stand in rows of 3."""
    at = torch.arange(len(apart))
    rows, columns = (x[:, None] - x for x in (at // 3, at % 3))
    return table[rows + 3, columns + 3].permute(2, 0, 1)


def one_head_looks_far(table, apart):
    return alibi(table, apart) * torch.tensor([-1, 1, 1, 1])[:, None, None]


def turned(table, apart):
    return -alibi(table, apart)


def by_query(table, apart):
    return -SLOPES * torch.arange(len(apart))[:, None]


def for_all(table, apart):
    """The same number everywhere in a head."""
    return SLOPES.expand(HEADS, *apart.shape)


def made(*options):
    return Nameless(lambda: Biased(*options))


def asked(check, *options):
    torch.manual_seed(0)
    return check(made(*options), IDS)


RIGHT = alibi, by_key, buckets, free, on_grid, one_head_looks_far


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("bias", RIGHT)
def test_what_depends_on_positions_is_heard(bias, fused):
    for causal in (True, False):
        finding = asked(relative_positions, bias, fused, causal)
        assert finding.holds is None, finding
        assert asked(order_sensitivity, bias, fused, causal).holds


@pytest.mark.parametrize("fused", [False, True])
def test_a_sign_that_prefers_the_far_is_unusual(fused):
    for causal in (True, False):
        finding = asked(relative_positions, turned, fused, causal)
        assert finding.level == "unusual"
        assert finding.says.endswith("Look at its sign.")
        assert finding.seen.shape == (7, 7)


@pytest.mark.parametrize("causal", [False, True])
def test_a_view_in_place_of_a_permutation_is_broken(causal):
    finding = asked(relative_positions, viewed, False, causal)
    assert finding.level == "broken"
    assert "added to the scores (4, 7, 7) depends" in finding.says


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("bias", [by_query, for_all])
def test_what_the_softmax_takes_out_is_no_position(bias, fused):
    finding = asked(order_sensitivity, bias, fused)
    assert finding.level == "unusual"
    assert finding.says.startswith("The input has no positions")

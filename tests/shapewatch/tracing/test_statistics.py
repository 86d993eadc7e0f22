"""Minimum, mean, maximum and deviation of what was kept."""

import math

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0]])


class Part(nn.Module):
    def forward(self, x):
        doubled = x * 2
        return doubled - 1


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Part(), Part()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        total = x.sum()
        return total, x


def seen(keep=True):
    return trace(Two(), X, keep=keep)


def test_a_row_has_the_four_numbers_of_a_value():
    sheet = seen().statistics("layers.0:doubled")
    (row,) = sheet.rows
    deviation = (2 * X).double().std(correction=0).item()
    assert row[3:] == pytest.approx((2, 8, 18, deviation))
    assert str(sheet).splitlines() == [
        "value             call   shape     minimum  mean  maximum  deviation",
        "layers.0:doubled  x * 2  (2?, 3?)        2     8       18      5.164",
    ]


@pytest.mark.parametrize(
    ("pattern", "many"),
    [("*:*", 5), ("*:doubled", 2), (":total", 1), ("layers", 4), ("", 1)],
)
def test_patterns_name_variables_or_modules(pattern, many):
    assert len(seen().statistics(pattern).rows) == many


def test_only_what_was_kept_is_listed():
    sheet = seen(keep="*:doubled").statistics()
    kept = [row.value for row in sheet.rows]
    assert kept == ["layers.0:doubled", "layers.1:doubled"]
    with pytest.raises(KeyError, match="called ':total': there are layers.0:"):
        seen(keep="*:doubled").statistics(":total")
    with pytest.raises(KeyError, match="no value was kept: trace with keep"):
        seen(keep=False).statistics()


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (torch.tensor([True, False]), (0, 0.5, 1, 0.5)),
        (torch.tensor([2, 4]), (2, 3, 4, 1)),
        (torch.tensor([60000.0] * 4).half(), (60000, 60000, 60000, 0)),
        (torch.tensor([3 + 4j, 0]), (0, 2.5, 5, 2.5)),
        (torch.tensor([0.0, 6.0]).to_sparse(), (0, 3, 6, 3)),
        (torch.tensor([-math.inf, 2, 3]), (-math.inf, 2.5, 3, 0.5)),
    ],
)
def test_numbers_of_every_kind_are_counted(x, expected):
    sheet = trace(lambda y: y.clone(), x, keep=True).statistics()
    assert sheet.rows[0][3:] == expected
    said = ["mean and deviation are those of the finite numbers"]
    assert sheet.notes == said * (expected[0] == -math.inf)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_has_no_numbers_has_none_in_its_row(device):
    x = torch.ones(0 if device == "cpu" else 2, device=device)
    (row,) = trace(lambda y: y.clone(), x, keep=True).statistics().rows
    assert math.isnan(row.minimum)
    assert math.isnan(row.mean)

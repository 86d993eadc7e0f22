"""Minimum, mean, maximum and deviation of what was kept."""

import math

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0]])


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Part(), Part()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        total = x.sum()
        return total, x


class Part(nn.Module):
    def forward(self, x):
        doubled = x * 2
        return doubled - 1


def seen(**options):
    return trace(Two(), X, **{"keep": True} | options)


def test_a_row_has_the_four_numbers_of_a_value():
    sheet = seen().statistics("layers.0:doubled")
    (row,) = sheet.rows
    assert row[:2] == ("layers.0:doubled", "x * 2")
    numbers = (2 * X).double()
    assert row[3:] == pytest.approx(
        (2, 8, 18, numbers.std(correction=0).item())
    )
    assert str(sheet).splitlines() == [
        "value             call   shape     minimum  mean  maximum  deviation",
        "layers.0:doubled  x * 2  (2?, 3?)        2     8       18      5.164",
    ]


@pytest.mark.parametrize(
    ("pattern", "many"),
    [
        ("*:*", 5),
        ("*:doubled", 2),
        (":total", 1),
        ("layers.1", 2),
        ("layers", 4),
        ("layers.*", 4),
        ("", 1),
    ],
)
def test_patterns_name_variables_or_modules(pattern, many):
    assert len(seen().statistics(pattern).rows) == many


def test_only_what_was_kept_is_listed():
    sheet = seen(keep="*:doubled").statistics()
    assert {row.value for row in sheet.rows} == {
        "layers.0:doubled",
        "layers.1:doubled",
    }
    with pytest.raises(KeyError, match="called ':total': there are layers.0:"):
        seen(keep="*:doubled").statistics(":total")
    with pytest.raises(
        KeyError, match="no value was kept: trace with keep=True"
    ):
        seen(keep=False).statistics()


def row_of(x):
    return trace(lambda y: y.clone(), x, keep=True).statistics().rows[0]


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (torch.tensor([True, False]), (0, 0.5, 1, 0.5)),
        (torch.tensor([2, 4]), (2, 3, 4, 1)),
        (torch.tensor(7.0), (7, 7, 7, 0)),
        (torch.tensor([60000.0] * 4).half(), (60000, 60000, 60000, 0)),
        (torch.tensor([3 + 4j, 0]), (0, 2.5, 5, 2.5)),
        (torch.tensor([0.0, 6.0]).to_sparse(), (0, 3, 6, 3)),
    ],
)
def test_numbers_of_every_kind_are_counted(x, expected):
    row = row_of(x)
    found = row.minimum, row.mean, row.maximum, row.deviation
    assert found == expected


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_has_no_numbers_has_none_in_its_row(device):
    row = row_of(torch.ones(0 if device == "cpu" else 2, device=device))
    assert math.isnan(row.minimum)
    assert math.isnan(row.mean)

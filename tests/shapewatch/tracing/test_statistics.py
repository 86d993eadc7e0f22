"""Minimum, mean, maximum and deviation of what was kept."""

import math

import pytest
import torch
from torch import nn

from shapewatch.tracing import load_trace, trace

NAN, INF = float("nan"), float("inf")
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


def test_infinity_shows_at_the_ends_and_not_in_the_mean():
    sheet = trace(
        lambda x: x.masked_fill(x > 4, -INF), X, keep=True
    ).statistics()
    last = sheet.rows[-1]
    assert last.minimum == -INF
    assert last.mean == 2.5
    assert sheet.notes == [
        "mean and deviation are those of the finite numbers"
    ]
    assert seen().statistics().notes == []


def test_nan_shows_at_the_ends():
    row = row_of(torch.tensor([1.0, NAN, 3.0]))
    assert math.isnan(row.minimum)
    assert row.mean == 2


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


def test_each_of_several_values_has_a_row():
    sheet = trace(lambda x: x.split([1, 2], 1), X, keep=True).statistics()
    assert [row.maximum for row in sheet.rows] == [4, 9]


def test_a_saved_trace_has_the_same(tmp_path):
    live = seen()
    live.save(tmp_path / "two.pt")
    saved = load_trace(tmp_path / "two.pt")
    assert str(saved.statistics()) == str(live.statistics())
    assert str(saved.statistics("layers.1")) == str(
        live.statistics("layers.1")
    )

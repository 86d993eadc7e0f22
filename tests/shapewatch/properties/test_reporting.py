"""A report is all right or not, says where a model fails, and how far it is
where somebody looks on."""

import io
import sys

import pytest
import torch
from packaging.version import Version
from torch import nn

from shapewatch.properties import causality, report, reporting
from shapewatch.properties.finding import (
    FailedReport,
    Finding,
    Report,
)
from shapewatch.properties.reporting import CHECKS
from tests.helpers.strangers import GPT, IDS

ROWS = torch.randn(2, 5, 8)


def of(*levels, kind=Report):
    """A report with findings of these levels."""
    return kind([Finding(x, None, "So.", None, x) for x in levels])


def test_all_is_well_unless_something_is_broken():
    assert of("holds", "unusual", "expected", "not judged").ok
    assert of().ok
    assert not of("holds", "broken").ok
    assert not of("expected", kind=FailedReport).ok


class Wrong(nn.Module):
    """Fails in a layer of PyTorch's, in a part of its own."""

    def __init__(self):
        super().__init__()
        self.wrong = nn.Linear(3, 3)

    def forward(self, x):
        return self.wrong(x)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Identity(), Wrong()])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


def test_a_model_that_does_not_run_says_so_once_and_where():
    seen = report(Outer(), ROWS)
    (line,) = str(seen).splitlines()
    says = "model               ✗ broken      The model does not run: RuntimeE"
    assert line.startswith(says)
    n = Wrong.forward.__code__.co_firstlineno + 1
    place = f"in parts.1.wrong, at test_reporting.py:{n}: return self.wrong(x)"
    assert line.endswith(place)
    assert seen._repr_html_().count("✗ broken") == 1
    assert not seen.ok
    assert [finding.name for finding in seen.findings] == [
        check.__name__ for check in CHECKS
    ]
    assert seen["past"].says in line


def test_of_a_library_s_line_and_the_reader_s_own_the_reader_s_is_said():
    says = report(lambda x: Version("none"), ROWS)["past"].says
    assert says.endswith(
        'report(lambda x: Version("none"), ROWS)["past"].says'
    )


def slow(seen, monkeypatch, patience=0.0):
    """Report on a model, and give what stderr got."""
    monkeypatch.setattr(sys, "stderr", seen)
    monkeypatch.setattr(reporting, "PATIENCE", patience)
    assert report(GPT(), IDS).ok
    return seen.getvalue()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.slow
def test_a_terminal_shows_one_line_that_is_wiped_away(monkeypatch):
    said = slow(Terminal(), monkeypatch)
    assert "\n" not in said
    lines = said.split("\r")
    nth = 1 + CHECKS.index(causality)
    says = f"report: causality ({nth} of {len(CHECKS)})"
    assert any(x.startswith(says) for x in lines)
    assert lines[-2].strip() == lines[-1] == ""
    assert len(lines[-2]) >= len(lines[-3].rstrip())
    assert max(map(len, lines)) < 60


@pytest.mark.slow
def test_a_short_report_and_a_pipe_show_nothing(monkeypatch):
    assert slow(Terminal(), monkeypatch, patience=1e6) == ""
    assert slow(io.StringIO(), monkeypatch) == ""

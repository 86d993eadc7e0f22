"""Findings, reports and assertions: what is printed, and when one fails."""

import io
import sys

import pytest
import torch
from packaging.version import Version
from torch import nn

from shapewatch.properties import (
    NotJudgedError,
    assert_holds,
    causality,
    padding_invariance,
    report,
    reporting,
    score_scale,
)
from shapewatch.properties.finding import FailedReport, Finding, Report
from shapewatch.properties.reporting import CHECKS
from tests.helpers.strangers import GPT, IDS, Attention

REPORT = Report(
    [
        Finding("finite", True, "Fine."),
        Finding("past", False, "Row <0>."),
        Finding("provenance", None, "No heads."),
    ]
)


def test_a_finding_is_a_line():
    assert [str(f) for f in REPORT.findings] == [
        "finite: ✓ holds. Fine.",
        "past: ✗ broken. Row <0>.",
        "provenance: – not judged. No heads.",
    ]
    assert repr(REPORT["past"]) == "past: ✗ broken. Row <0>."


def test_a_report_is_a_table_with_a_line_for_each():
    assert str(REPORT).splitlines() == [
        "finite              ✓ holds       Fine.",
        "past                ✗ broken      Row <0>.",
        "provenance          – not judged  No heads.",
    ]
    assert repr(REPORT) == str(REPORT)


class Unscaled(Attention):
    def shape(self, q, k):
        return q, k


@pytest.mark.slow
def test_a_finding_that_was_expected_has_its_reason():
    why = {"score_scale": "T5 scales at initialisation", "past": "Never."}
    torch.manual_seed(0)
    model = GPT(attention=Unscaled)
    plain, found = report(model, IDS), report(model, IDS, expect=why)
    assert plain.broken == ["score_scale"]
    assert found.broken == []
    one = found["score_scale"]
    assert one.level == "expected"
    assert one.holds is False
    assert one.says == f"{why['score_scale']}. {plain['score_scale'].says}"
    assert plain["past"].holds
    assert found["past"].holds
    assert found["past"].says.startswith(f"{plain['past'].says} (It was exp")


def test_only_a_check_can_be_expected_to_find_something():
    with pytest.raises(ValueError, match="no check 'speed': there are finite"):
        report(GPT(), IDS, expect={"speed": "It is slow."})


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
    place = f"in parts.1.wrong, at test_reports.py:{n}: return self.wrong(x)"
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


def test_what_is_broken_fails_with_its_sentence():
    with pytest.raises(AssertionError) as caught:
        assert_holds(causality, lambda x: x + x.mean(1, keepdim=True), ROWS)
    says = "causality: ✗ broken. Sequence 0: position 0 moves when position 1"
    assert str(caught.value).startswith(says)


class SmallQueries(nn.Module):
    """Scores of small queries have no scale: that is unusual, as in T5."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.qkv.weight.data[:16] /= 4

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        hidden = torch.ones(x.shape[1], x.shape[1]).triu(1) > 0
        return (q @ k.mT).masked_fill(hidden, -torch.inf).softmax(-1) @ v


def test_what_is_unusual_does_not_hold_either():
    torch.manual_seed(0)
    with pytest.raises(AssertionError, match="score_scale: ! unusual. In the"):
        assert_holds(score_scale, SmallQueries(), torch.randn(2, 7, 16))


def test_what_cannot_be_judged_does_not_pass_in_silence():
    with pytest.raises(NotJudgedError) as caught:
        assert_holds(padding_invariance, GPT(), IDS)
    assert not isinstance(caught.value, AssertionError)
    assert "There is no padding: give padded rows" in str(caught.value)
    with pytest.raises(TypeError, match="'casual': is 'causal' meant"):
        assert_holds(causality, GPT(), IDS, casual=True)

"""Findings, reports and assertions: what is printed, and when one fails."""

import html
import inspect
import re
from pathlib import Path

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
    score_scale,
)
from shapewatch.properties.finding import FailedReport, Finding, Report
from shapewatch.properties.reporting import CHECKS, LOSS_CHECKS
from tests.helpers.strangers import GPT, IDS, Small, Unscaled
from tformer_lite import running_example, running_model

REPORT = Report(
    [
        Finding("finite", True, "Fine."),
        Finding("past", False, "Row <0>."),
        Finding("provenance", None, "No heads."),
    ]
)


def test_a_finding_is_a_line_and_a_report_a_table():
    assert [*map(repr, REPORT.findings)] == [
        "finite: ✓ holds. Fine.",
        "past: ✗ broken. Row <0>.",
        "provenance: – not judged. No heads.",
    ]
    assert repr(REPORT) == str(REPORT)
    assert str(REPORT).splitlines() == [
        "finite              ✓ holds       Fine.",
        "past                ✗ broken      Row <0>.",
        "provenance          – not judged  No heads.",
    ]


@pytest.mark.slow
def test_a_finding_that_was_expected_has_its_reason():
    why = {"score_scale": "T5 scales at initialisation", "past": "Never."}
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


def test_a_check_tells_what_it_changes_looks_at_and_says():
    for check in CHECKS + LOSS_CHECKS:
        lines = re.findall(r"^- (.+?): ", inspect.getdoc(check), re.M)
        assert lines == ["Changes", "Looks at", "Says"], check.__name__


ROWS = torch.randn(2, 5, 8)


def of(*levels, kind=Report):
    """A report with findings of these levels."""
    return kind([Finding(x, None, "So.", None, x) for x in levels])


def test_all_is_well_unless_something_is_broken():
    assert of("holds", "unusual", "expected", "not judged").ok
    assert of().ok
    assert not of("holds", "broken").ok
    assert not of("expected", kind=FailedReport).ok


def crash(x):
    """A model that does not run."""
    raise ZeroDivisionError("too many <b>cooks</b>\nand more")


class Wrong(nn.Module):
    """Fails in a layer of PyTorch's, in a part of its own."""

    def __init__(self):
        super().__init__()
        self.wrong = nn.Linear(3, 3)

    def forward(self, x):
        return self.wrong(x)


ODD = {
    "crashes": crash,
    "gives nothing": lambda x: None,
    "gives a number": lambda x: x[0, 0, 0],
    "gives a list": lambda x: x.tolist(),
    "does not fit": Wrong(),
    "mixes nothing": nn.ReLU(),
}


@pytest.mark.parametrize("model", ODD.values(), ids=ODD)
def test_whatever_the_model_does_there_is_a_report(model):
    found = report(model, ROWS)
    assert [x.name for x in found.findings] == [x.__name__ for x in CHECKS]
    assert all(finding.says for finding in found.findings)


@pytest.mark.parametrize(
    ("model", "says", "path", "line"),
    [
        (crash, "ZeroDivisionError: too many <b>cooks</b>", "", 2),
        (
            nn.Sequential(nn.Identity(), Wrong()),
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (10x8 "
            "and 3x3)",
            ", in 1.wrong",
            1,
        ),
    ],
)
def test_a_model_that_does_not_run_says_so_once_and_where(
    model, says, path, line
):
    code = (crash if model is crash else Wrong.forward).__code__
    n = code.co_firstlineno + line
    text = Path(__file__).read_text().splitlines()[n - 1].strip()
    says = f"The model does not run: {says}{path}, at test_reports.py:{n}: "
    found = report(model, ROWS)
    assert str(found) == f"model               ✗ broken      {says}{text}"
    assert {x.says for x in found.findings} == {says + text}
    assert {"causality", "finite", "past"} <= set(found.broken)
    assert not found.ok
    page = found._repr_html_()  # it is read without style or script
    assert page.count("✗ broken") == 1
    assert html.escape(says + text) in page
    assert "<b>" not in page


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_check_says_the_same_where_gradients_are_switched_off(check):
    model, pair = running_model(), running_example()[:2]
    with torch.no_grad():
        found = check(model, *pair)
        assert found == check(model, *pair)
        assert found.holds is not False


def test_of_a_library_s_line_and_the_reader_s_own_the_reader_s_is_said():
    says = report(lambda x: Version("none"), ROWS)["past"].says
    assert says.endswith(
        'report(lambda x: Version("none"), ROWS)["past"].says'
    )


def test_what_is_broken_fails_with_its_sentence():
    with pytest.raises(AssertionError) as caught:
        assert_holds(causality, lambda x: x + x.mean(1, keepdim=True), ROWS)
    says = "causality: ✗ broken. Sequence 0: position 0 moves when position 1"
    assert str(caught.value).startswith(says)


def test_what_is_unusual_does_not_hold_either():
    with pytest.raises(AssertionError, match="score_scale: ! unusual. In blo"):
        assert_holds(score_scale, Small(0.5), IDS)


def test_what_cannot_be_judged_does_not_pass_in_silence():
    with pytest.raises(NotJudgedError) as caught:
        assert_holds(padding_invariance, GPT(), IDS)
    assert not isinstance(caught.value, AssertionError)
    assert "There is no padding: give padded rows" in str(caught.value)

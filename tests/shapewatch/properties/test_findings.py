"""A finding is a line, and a report is a table."""

import pytest
import torch

from shapewatch.properties.finding import Finding, Report
from tests.helpers.strangers import GPT, IDS, Attention
from tformer_lite import report

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


def test_a_page_has_a_real_table():
    page = REPORT._repr_html_()
    for cell in (
        '<th scope="col">property</th>',
        '<th scope="col">verdict</th>',
        '<th scope="col">what was seen</th>',
        '><span class="whole">past</span></th>',
        '<td><span class="whole">✗ broken</span></td>',
        "<td>Row &lt;0&gt;.</td>",
    ):
        assert cell in page, page


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

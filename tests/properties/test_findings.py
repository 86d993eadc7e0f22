"""A finding is a line, and a report is a table."""

import pytest

from tformer_lite.properties.finding import Finding, Report

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


def test_a_finding_is_found_by_its_name():
    assert REPORT.broken == ["past"]
    with pytest.raises(KeyError) as caught:
        REPORT["speed"]
    says = "no check 'speed': there are finite, past, provenance"
    assert caught.value.args == (says,)

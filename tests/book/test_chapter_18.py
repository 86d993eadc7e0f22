"""Chapter 18 counts what it treats: each repair answers a fault."""

import re

import nbformat
import pytest

from tests.helpers.project import ROOT


@pytest.fixture(scope="module")
def cells():
    """What each cell of the chapter says, and what it printed."""
    path = ROOT / "chapters" / "18_repair_clinic.ipynb"
    code = nbformat.read(path, as_version=4).cells
    return [
        (cell.source, "".join(map(printed, cell.outputs)))
        for cell in code
        if cell.cell_type == "code"
    ]


def printed(output) -> str:
    """What an output says, in plain text."""
    return output.get("text") or output["data"]["text/plain"]


@pytest.fixture(scope="module")
def chart(cells):
    """The table of faults that the chapter ends with."""
    (shown,) = (said for code, said in cells if code == "chart")
    widths = slice(0, 20), slice(20, 35), slice(35, 53), slice(53, None)
    return [[line[w].strip() for w in widths] for line in shown.splitlines()]


def test_each_repair_answers_an_error_or_a_finding(chart):
    assert len({(wrong, showed) for wrong, showed, *_ in chart}) >= 20
    for wrong, showed, found, right in chart:
        silent = showed == "nothing"
        assert silent or showed.endswith("Error"), wrong
        assert silent == (found not in ("message", "trace's note")), wrong
        assert right != wrong


def test_the_repaired_class_translates_and_so_do_silent_faults(cells):
    (said,) = (said for code, said in cells if "of 320 right" in code)
    found = dict(re.findall(r"^(.+?) +(\d+) of 320 right", said, re.MULTILINE))
    assert found["as repaired"] == found["shares(scores)"] == "320"
    assert int(found["scores + mask"]) > 300
    assert int(found["split_heads(x,"]) < 10
    assert said.count("broken: nothing") == 1

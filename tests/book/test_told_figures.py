"""What two chapters print, against what it is measured by: the figures of
source 003 in chapter 16, and the sentences that chapter 18's faults leave
right. That 16 goes on without torchinfo, test_colab.py says."""

import re

import nbformat

from tests.helpers.printed_003 import COUNTERPARTS, TABLE
from tests.helpers.project import ROOT, printed

COLUMNS = re.compile(r"(.+?)  +((?:\d+ ?)+)  +(.+?)  +(\(.+?\))  +(.+)")


def shown(chapter: str) -> str:
    """All that a chapter prints."""
    file = ROOT / "chapters" / f"{chapter}.ipynb"
    return printed(nbformat.read(file, as_version=4).cells)


def test_the_chapter_compares_all_95_shapes_in_the_sources_order():
    """Ours are equal, but for those that have a counterpart."""
    found = map(COLUMNS.fullmatch, shown("16_paper_size").splitlines())
    rows = [match.groups() for match in found if match]
    for (*key, sizes), row in zip(TABLE, rows, strict=True):
        other = COUNTERPARTS.get(tuple(key), "")
        verdict = f"no: {' '.join(map(str, other))}" if other else "yes"
        assert row[0] == key[1]
        assert row[1].split() == [*map(str, sizes)], key
        assert row[-1] == verdict, key


def test_the_chapter_measures_each_figure_of_the_sources_summary():
    figures = ["51,200", "61,440", "1,050,624", "2,099,712", "1,024"]
    figures += ["61,560", "44.28"]
    figures += ["134.54 MB", "177.25 MB", "311.79 MB"]
    figures += ["44,312,696 of 44,312,696 parameters"]
    figures += ["9,557,606,400 multiply-adds, 19,115,212,800 FLOPs"]
    said = shown("16_paper_size")
    assert [figure for figure in figures if figure not in said] == []


def test_the_repaired_class_translates_and_so_do_silent_faults():
    said = shown("18_repair_clinic")
    found = dict(re.findall(r"^(.+?) +(\d+) of 612 right", said, re.MULTILINE))
    assert found["as it should be"] == "612"
    assert found["largest not subtracted"] == "612"
    assert int(found["mask added"]) > 590
    assert int(found["projections not applied"]) < 10

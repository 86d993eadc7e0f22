"""Chapter 16 shows every shape and figure that source 003 prints, measured.
That it goes on without torchinfo, which Colab lacks, test_colab.py says."""

import re

import nbformat
import pytest

from tests.helpers.printed_003 import COUNTERPARTS, TABLE
from tests.helpers.project import ROOT

CHAPTER = ROOT / "chapters" / "16_paper_size.ipynb"
COLUMNS = re.compile(r"(.+?)  +((?:\d+ ?)+)  +(.+?)  +(\(.+?\))  +(.+)")


@pytest.fixture(scope="module")
def shown() -> str:
    """All that the chapter prints."""
    cells = nbformat.read(CHAPTER, as_version=4).cells
    outputs = [o for cell in cells for o in cell.get("outputs", [])]
    texts = [o.get("text") or o["data"]["text/plain"] for o in outputs]
    return "\n".join(texts)


def test_the_chapter_compares_all_95_shapes_in_the_sources_order(shown):
    """Ours are equal, but for those that have a counterpart."""
    found = map(COLUMNS.fullmatch, shown.splitlines())
    rows = [match.groups() for match in found if match]
    for (*key, sizes), row in zip(TABLE, rows, strict=True):
        other = COUNTERPARTS.get(tuple(key), "")
        verdict = f"no: {' '.join(map(str, other))}" if other else "yes"
        assert row[0] == key[1]
        assert row[1].split() == [*map(str, sizes)], key
        assert row[-1] == verdict, key


def test_the_chapter_measures_each_figure_of_the_sources_summary(shown):
    figures = [
        "51,200",
        "61,440",
        "1,050,624",
        "2,099,712",
        "1,024",
        "61,560",
        "44.28",
    ]
    figures += ["134.54 MB", "177.25 MB", "311.79 MB"]
    figures += ["44,312,696 of 44,312,696 parameters"]
    figures += ["9,557,606,400 multiply-adds, 19,115,212,800 FLOPs"]
    assert [figure for figure in figures if figure not in shown] == []

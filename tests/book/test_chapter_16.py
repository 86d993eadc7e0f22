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


@pytest.fixture(scope="module")
def rows(shown) -> list[tuple]:
    """The lines of its tables: label, shape, place, axes, and verdict."""
    found = map(COLUMNS.fullmatch, shown.splitlines())
    return [match.groups() for match in found if match]


def test_the_chapter_shows_all_95_shapes_in_the_sources_order(rows):
    printed = [(label, " ".join(map(str, s))) for _, label, s in TABLE]
    assert [(label, shape.strip()) for label, shape, *_ in rows] == printed


def test_ours_are_equal_but_for_those_that_have_a_counterpart(rows):
    for (block, label, _), (*_, verdict) in zip(TABLE, rows, strict=True):
        other = COUNTERPARTS.get((block, label))
        sizes = " ".join(map(str, other or []))
        assert verdict == (f"no: {sizes}" if other else "yes"), (block, label)


def test_the_letters_are_those_of_the_side_that_a_codeblock_builds(rows):
    """Others would show that a look-up went astray: what is the encoder's
    has S alone, what is the decoder's own has T."""
    for (block, *_), (label, _, place, axes, _) in zip(TABLE, rows):
        sides = {4: "S", 5: "T", 12: "S", 17: "S", 19: "S", 21: "S", 23: "T"}
        assert set(re.findall("[ST]", axes)) <= set(sides.get(block, "ST")), (
            f"{block}: {label} at {place} is {axes}"
        )


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

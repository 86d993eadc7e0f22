"""The page of benchmarks: its figures are the stored ones, and who speaks
of speed links to it."""

import json
import re

import pytest

from benchmarks import measure, rounds
from benchmarks.page import FIGURES, PAGE, PLACE, WRITERS, comparison, filled
from tests.helpers.project import ROOT

TEXT = PAGE.read_text("utf8")
STORED = json.loads(FIGURES.read_text("utf8"))
TYPED = re.compile(r"\d+\s*(?:%|(?:ms|s|MB|seconds|minutes|times)\b)")
SPEED = re.compile(r"\b(faster|quicker|an? minute)\b")
LINK = re.compile(r"\bbenchmarks\.(?:html|md)#([\w-]+)")
ROW = {"name": "a plain run", "rounds": 2}
TEXTS = [
    *(ROOT / "chapters").glob("*.md"),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]


def test_the_figures_of_the_page_are_those_that_were_stored():
    """`PYTHONPATH=. .venv/bin/python -m benchmarks.page` does it."""
    assert filled(TEXT, STORED) == TEXT


def test_the_page_shows_every_section_that_is_measured():
    sections = {job.section for job in measure.JOBS}
    assert {place[1] for place in PLACE.finditer(TEXT)} == {
        *WRITERS,
        *sections,
    }
    assert STORED.keys() == {"made", *sections}


def typed(page: str) -> list[str]:
    """The figures of a page outside of its tables."""
    return [found[0] for found in TYPED.finditer(PLACE.sub("", page))]


def test_no_figure_is_typed_by_hand():
    assert typed(TEXT) == []
    assert typed(TEXT + "\nIt takes 7 seconds.") == ["7 seconds"]


def silent(text: str) -> list[str]:
    """The paragraphs that claim a speed and link to no figure."""
    parts = re.sub(r"(?ms)^```.*?^```$", "", text).split("\n\n")
    return [p for p in parts if SPEED.search(p) and "benchmarks." not in p]


@pytest.mark.slow
@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_a_claim_of_speed_links_to_its_figures(file):
    text = file.read_text("utf8")
    assert silent(text) == []
    titles = re.findall(r"^##+ (.*)$", TEXT, re.MULTILINE)
    anchors = {
        re.sub(r"[^\w ]", "", t).lower().replace(" ", "-") for t in titles
    }
    assert set(LINK.findall(text)) <= anchors


def test_runs_take_turns_and_the_first_is_the_measure_of_all():
    done = []
    runs = {name: lambda name=name: done.append(name) for name in "ab"}
    rows = rounds.rows_in_turns(runs, budget=0)
    assert "".join(done).startswith("abaabb")
    assert [row["rounds"] for row in rows] == [rounds.LEAST] * 2
    assert rows[0]["ratio"] == [1, 1, 1]


def test_a_tool_that_fails_loses_only_its_own_row(monkeypatch):
    def fails(*_):
        raise RuntimeError("no module | here")

    monkeypatch.setattr(measure, "alone", fails)
    (row,) = measure.rows_of(measure.JOBS[0])
    good = ROW | {"seconds": [0.001, 0.002, 0.003], "ratio": [1, 1, 1]}
    written = comparison([good, row]).splitlines()
    assert written[2].startswith("| a plain run | 2.00 (1.00–3.00) ms |")
    assert "| fails: no module   here |" in written[3]

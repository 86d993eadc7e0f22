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
ROW = {"name": "a plain run", "rounds": 2}
TEXTS = [
    *(ROOT / "chapters").glob("*.md"),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]


def test_the_page_shows_what_is_measured_with_the_stored_figures():
    """`PYTHONPATH=. .venv/bin/python -m benchmarks.page` does it."""
    assert filled(TEXT, STORED) == TEXT
    sections = {job.section for job in measure.JOBS}
    assert {place[1] for place in PLACE.finditer(TEXT)} == {
        *WRITERS,
        *sections,
    }
    assert STORED.keys() == {"made", *sections}


def test_no_figure_is_typed_by_hand():
    outside = PLACE.sub("", TEXT)
    assert [found[0] for found in TYPED.finditer(outside)] == []


@pytest.mark.slow
@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_a_claim_of_speed_links_to_its_figures(file):
    text = re.sub(r"(?ms)^```.*?^```$", "", file.read_text("utf8"))
    claims = filter(SPEED.search, text.split("\n\n"))
    assert [part for part in claims if "benchmarks." not in part] == []


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

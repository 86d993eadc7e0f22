"""`python -m classroom`: what an instructor types, and what comes of it."""

import csv
import json

import pytest

from classroom.__main__ import main
from classroom.commands import TO_TRY, read
from tests.helpers.attacks import HONEST
from tests.helpers.commands import examples, refusal

TRUST = "--trust-submissions"


@pytest.fixture
def week(tmp_path, monkeypatch):
    """A folder with an assignment and an honest notebook."""
    monkeypatch.chdir(tmp_path)
    words = ["dealt_out", "alibi_bias", "--points", "4", "--seed", "autumn"]
    assert main(["assign", *words]) == 0
    (tmp_path / "submissions").mkdir()
    hand_in(tmp_path, "asha", HONEST)
    return tmp_path


def hand_in(folder, name, *cells):
    cells = [{"cell_type": "code", "source": [cell]} for cell in cells]
    file = folder / "submissions" / f"{name}.ipynb"
    file.write_text(json.dumps({"cells": cells}), "utf8")


def grades(folder):
    with (folder / "grades.csv").open(encoding="utf8") as stream:
        return {row["Student"]: row for row in csv.DictReader(stream)}


def refused(capsys, words):
    return refusal(capsys, *words.split(), main=main)


@pytest.mark.parametrize("command", TO_TRY)
def test_help_gives_examples_that_can_be_typed(command, capsys):
    commands = examples(capsys, *command.split(), main=main)
    assert len(commands) >= 2
    for words in commands:
        assert words[: len(command.split())] == command.split()
        assert read(words).run


@pytest.mark.slow
def test_what_is_assigned_is_graded_with_its_points(week, capsys):
    key = json.loads((week / "exercises.json").read_text("utf8"))
    assert key["points"] == {"dealt_out": 4, "alibi_bias": 4}
    assert main(["grade", "submissions", TRUST]) == 0
    assert grades(week)["asha"]["Exercises"] == "4"
    said = capsys.readouterr().out
    assert "asha: 4 of 8" in said
    assert "1 █ not written" in said
    sheet = (week / "grades-sheets" / "asha.html").read_text("utf8")
    assert "4 of 8 points" in sheet


def test_what_an_instructor_gets_wrong_is_answered_in_a_line(week, capsys):
    for words, says in {
        "assign dealtout": "near are dealt_out",
        "assign 5 --out week.json": "ends in .ipynb",
        "grade nowhere": "nowhere is not a folder",
        "grade submissions --assignment exercises.ipynb": "not an assignment",
        f"grade submissions {TRUST} --roster no.csv": "no.csv",
        "gradescope --assignment no.json": "no.json",
    }.items():
        assert says in refused(capsys, words)
    marks = week / "grades-marks.csv"
    marks.write_text("Student,exercise\nasha,alibi_bias\n")
    words = f"grade submissions {TRUST}"
    assert "a row needs Student" in refused(capsys, words)

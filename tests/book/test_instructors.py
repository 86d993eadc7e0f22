"""The guide for instructors: its commands, run, print what it shows."""

import csv
import re

import pytest

from classroom.__main__ import main
from classroom.exercise import exercises
from tests.helpers.course_week import CLASS, GUIDE, commands, hand_in, marks
from tests.helpers.sandboxes import needs_bubblewrap


@pytest.mark.full
@needs_bubblewrap
def test_the_commands_of_the_guide_print_what_it_shows(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for command, shown in commands():
        if "grade" in command and not (tmp_path / "submissions").exists():
            hand_in(tmp_path / "week3.ipynb", tmp_path / "submissions")
        if "--marks" in command:
            (tmp_path / "marks.csv").write_text(marks(), "utf8")
        assert main(command) == 0, capsys.readouterr().err
        assert capsys.readouterr().out == shown, command
    with (tmp_path / "grades.csv").open(encoding="utf8") as stream:
        rows = [*csv.DictReader(stream)]
    assert [row["Student"] for row in rows] == [*CLASS]
    assert rows[0]["Week 3"] == "25"
    names = {file.name for file in (tmp_path / "grades-sheets").iterdir()}
    assert names == {f"{name}.html" for name in (*CLASS, "the-class")}


def test_the_syllabi_name_exercises_that_there_are():
    text = GUIDE.read_text("utf8").partition("## Two syllabi")[2]
    named = re.findall(r"`(\w+)`", text.partition("(all-exercises)=")[0])
    assert named
    assert {*named} <= {*exercises()}

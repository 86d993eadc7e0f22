"""The guide for instructors: its commands, run in the week of a course that
it walks through, print what it shows."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from classroom.__main__ import main
from classroom.exercise import exercises
from tests.helpers.answers import written_answers
from tests.helpers.project import ROOT
from tests.helpers.sandboxes import needs_bubblewrap

GUIDE = ROOT / "book" / "instructors.md"
CONSOLE = re.compile(r"```console\n\$ (.*?)\n(.*?)```", re.DOTALL)
MARKS = re.compile(r"```text\n(.*?)```", re.DOTALL)
WHY = 'why_columns = """A row belongs to a query position."""'
LOOP = "while True:\n    pass"
# What each student hands in: which of the written answers to what, or code.
CLASS = {
    "student-1": {"prefix_mask": "right", "decoder_mask": "right"},
    "student-2": {"prefix_mask": "wrong 0", "decoder_mask": "right"},
    "student-3": {"prefix_mask": "wrong 1", "decoder_mask": "wrong 0"},
    "student-4": {"prefix_mask": LOOP, "decoder_mask": "right"},
    "student-5": {},
}


def hand_in(notebook: Path, folder: Path) -> None:
    """Let each student answer the students' notebook."""
    folder.mkdir()
    for name, work in CLASS.items():
        content = json.loads(notebook.read_text("utf8"))
        for cell in content["cells"]:
            checked = re.search(r'check\("(\w+)"', cell["source"])
            if checked and cell["cell_type"] == "code":
                cell["source"] = answered(checked[1], work, cell["source"])
        (folder / f"{name}.ipynb").write_text(json.dumps(content), "utf8")


def answered(exercise: str, work: dict[str, str], stub: str) -> str:
    """What a student writes into a cell."""
    if work and exercise == "why_columns":
        return WHY
    what = work.get(exercise)
    if what is None or what == LOOP:
        return what or stub
    kind, _, number = what.partition(" ")
    own = [
        a
        for a in written_answers()
        if a.exercise == exercise and a.right == (kind == "right")
    ]
    return own[int(number or 0)].code


@pytest.mark.full
@needs_bubblewrap
def test_the_commands_of_the_guide_print_what_it_shows(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    guide = GUIDE.read_text("utf8")
    for line, shown in CONSOLE.findall(guide):
        command = shlex.split(line)[3:]
        if "grade" in command and not (tmp_path / "submissions").exists():
            hand_in(tmp_path / "week3.ipynb", tmp_path / "submissions")
        if "--marks" in command:
            marks = MARKS.search(guide)[1]
            (tmp_path / "marks.csv").write_text(marks, "utf8")
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

"""The guide for instructors: its commands, run in the week of a course that
it walks through, print what it shows."""

import csv
import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from classroom.__main__ import main
from classroom.exercise import exercises
from classroom.judging import RULE
from tests.helpers.answers import answers_to
from tests.helpers.project import ROOT
from tests.helpers.sandboxes import needs_bubblewrap

GUIDE = ROOT / "book" / "instructors.md"
CONSOLE = re.compile(r"```console\n\$ (.*?)\n(.*?)```", re.DOTALL)
MARKS = re.compile(r"```text\n(.*?)```", re.DOTALL)
FAILS = "prefix_mask = past | within_prefix"
PATIENCE = ["--seconds", "600"]  # on a machine that does other things, too
ROWS = """\
Nobody attends to a column that is hidden, so no word takes anything from
the padding. The row of the padding takes something, but nobody reads it. If
the rows were hidden instead, words would attend to the padding.
"""
COLUMNS = """\
The columns are the keys. A hidden key gets no weight, so the padding says
nothing to anybody.
"""
SHAPES = "Because the mask must have the shape (B, 1, T, T)."
# What each student hands in: which of the written answers to what, or code.
RIGHT = {"decoder_mask": "right"}
CLASS = {
    "student-1": RIGHT | {"prefix_mask": "right", "why_columns": ROWS},
    "student-2": RIGHT | {"prefix_mask": "wrong 0", "why_columns": COLUMNS},
    "student-3": {
        "decoder_mask": "wrong 0",
        "prefix_mask": "wrong 0",
        "why_columns": SHAPES,
    },
    "student-4": RIGHT | {"prefix_mask": FAILS, "why_columns": COLUMNS},
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
    what = work.get(exercise)
    kind, _, number = (what or "").partition(" ")
    if what is None or what == FAILS:
        return what or stub
    if kind not in ("right", "wrong"):
        return f'{exercise} = """\n{what}"""'
    return answers_to(exercise, right=kind == "right")[int(number or 0)].code


def week(guide: str, folder: Path, printed: Callable[[], str]) -> Iterator:
    """Go through the week: each command as the guide shows it, what the
    guide shows of it, and what it prints in a folder, where we are."""
    for line, shown in CONSOLE.findall(guide):
        command = shlex.split(line)[3:]
        marks = folder / "grades-marks.csv"
        if "grade" in command and not (folder / "submissions").exists():
            hand_in(folder / "week3.ipynb", folder / "submissions")
        elif "grade" in command:
            typed = MARKS.search(guide)[1]
            assert untyped(typed) == marks.read_text("utf8")
            marks.write_text(typed, "utf8")
        more = PATIENCE if "grade" in command else []
        assert main([*command, *more]) == 0, printed()
        yield line, shown, printed()
    assert marks.read_text("utf8") == typed


def untyped(marks: str) -> str:
    """A file of marks before anything was typed into it."""
    head, *rows = csv.reader(marks.splitlines())
    new = [[*row[:2], "", row[3], ""] for row in rows]
    return "".join(f"{','.join(row)}\n" for row in [head, *new])


@pytest.mark.full
@needs_bubblewrap
def test_the_commands_of_the_guide_print_what_it_shows(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    guide = GUIDE.read_text("utf8")
    for command, shown, printed in week(
        guide, tmp_path, lambda: "".join(capsys.readouterr())
    ):
        assert printed == shown, command
    with (tmp_path / "grades.csv").open(encoding="utf8") as stream:
        rows = [*csv.DictReader(stream)]
    assert [row["Student"] for row in rows] == [*CLASS]
    assert [row["Week 3"] for row in rows][-1] == "0"
    files = {file.name for file in tmp_path.iterdir()}
    pages = {file.name for file in (tmp_path / "grades-sheets").iterdir()}
    assert pages == {f"{name}.html" for name in CLASS} | {
        "the-class.html",
        "to-read.html",
    }
    named = [name for name in files | pages if "student" not in name]
    assert not [name for name in named if name not in guide]


def test_the_guide_and_the_notebook_say_the_same_rule():
    quoted = re.findall(r"^> (.*)", GUIDE.read_text("utf8"), re.MULTILINE)
    assert RULE in " ".join(quoted)


def test_the_syllabi_name_exercises_that_there_are():
    text = GUIDE.read_text("utf8").partition("## Two syllabi")[2]
    named = re.findall(r"`(\w+)`", text.partition("(all-exercises)=")[0])
    assert named
    assert {*named} <= {*exercises()}

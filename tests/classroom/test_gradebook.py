"""Marks, from a verdict to the gradebook, the sheets and Gradescope."""

import csv
import io
import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from classroom import gradescope, sheets
from classroom.assignment import (
    Assignment,
    find_exercises,
    load_assignment,
    parse_points,
    student_notebook,
)
from classroom.exercise import exercises
from classroom.grading import Grade, Mark, mistakes, read_outcome
from classroom.judging import Verdict, try_answer
from classroom.submissions import Submission, submissions
from tests.helpers.small_exercises import SPLIT, right_split

WEEK = Assignment("Week 5", "autumn", {"dealt_out": 10.0})


def done(student: str, share: float | None = 1.0, *wrong: str) -> Grade:
    verdict = Verdict("dealt_out", share, "said", wrong)
    points = None if share is None else 10 * share
    mark = Mark("dealt_out", 10, points, verdict)
    return Grade(Submission(student), (mark,))


def table(rows) -> list[dict]:
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def test_a_gradebook_has_the_columns_that_canvas_reads():
    (row,) = table(sheets.gradebook([done("asha", 0.5)], WEEK))
    assert tuple(row)[:5] == sheets.HEADERS
    assert row["Student"] == row["SIS Login ID"] == "asha"
    assert row["dealt_out"] == row["Week 5"] == "5"
    (row,) = table(sheets.gradebook([done("asha", None)], WEEK))
    assert row["dealt_out"] == row["Week 5"] == ""


CANVAS = [
    ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"],
    ["    Points Possible", "", "", "", ""],
    ["Thapa, Asha", "4711", "S-9", "athapa", "Mon"],
    ["Rai, Bina", "4712", "S-10", "brai", "Mon"],
    ["Rai, Binod", "4713", "S-11", "brai2", "Mon"],
]
BOTH = "Asha Thapa", "Bina Rai"
MOODLE = [
    ["First name", "Last name", "ID number", "Email address"],
    ["Asha", "Thapa", "9", "asha@example.org"],
    ["Bina", "Rai", "10", "bina@example.org"],
]


@pytest.mark.parametrize(
    ("roster", "names"),
    [
        (CANVAS, ["thapaasha_4711_88_week5", "rai_LATE_4712_99_week5"]),
        (CANVAS, ["athapa", "brai"]),
        (MOODLE, [f"{name}_7_assignsubmission_file" for name in BOTH]),
        (MOODLE, [*BOTH]),
        (MOODLE, ["asha@example.org", "bina@example.org"]),
    ],
)
def test_a_submission_goes_to_its_row_of_the_roster(roster, names):
    asha, bina = names
    rows = sheets.gradebook([done(asha), done(bina, 0.0)], WEEK, roster)
    found = {"".join(row[:2]): row[-1] for row in rows[1:]}
    marked = {name: points for name, points in found.items() if points}
    assert len(rows) == len(roster)
    assert sorted(marked.values()) == ["0", "10"]
    assert next(p for n, p in marked.items() if "Asha" in n) == "10"
    assert rows[0][: len(roster[0])] == roster[0]


@pytest.mark.parametrize(
    "names",
    [
        ["nobody"],
        ["adamsal_99_1_athapa"],  # an id of nobody, and another's name
        ["Mon"],  # a section
        ["s10_4711x"],
        ["raibina_4711_3_w", "thapaasha_4711_4_w"],  # two for one
    ],
)
def test_nobody_gets_what_could_be_another_s(names):
    rows = sheets.gradebook([done(name) for name in names], WEEK, CANVAS)
    assert all(row[-1] == "" for row in rows[1 : len(CANVAS)])
    assert [row[0] for row in rows[len(CANVAS) :]] == names
    assert rows[-1][-1] == "10"


def test_students_of_one_name_are_told_apart_by_their_ids_alone():
    twins = [CANVAS[0], ["Lee, Kim", "1", "", ""], ["Lee, Kim", "2", "", ""]]
    grades = [done("leekim_2_50_w"), done("Kim Lee", 0.0)]
    rows = sheets.gradebook(grades, WEEK, twins)
    assert [row[-1] for row in rows[1:]] == ["", "10", "0"]


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1", "@x"])
def test_a_spreadsheet_takes_no_name_for_a_formula(name, tmp_path):
    file = tmp_path / "grades.csv"
    sheets.write_rows(file, sheets.gradebook([done(name)], WEEK))
    rows = [*csv.reader(io.StringIO(file.read_text("utf8")))]
    assert rows[1][0] == f"'{name}"


def test_a_sheet_shows_what_students_wrote_and_runs_none_of_it():
    evil = "<script>alert(1)</script>"
    verdict = Verdict("dealt_out", 0, evil)
    mark = Mark("dealt_out", 10, 0, verdict)
    graded = Grade(Submission(evil), (mark,), (evil,))
    for page in (
        sheets.sheet(graded, WEEK),
        sheets.class_page([graded], WEEK),
    ):
        assert "<script" not in page
    assert "&lt;script" in sheets.sheet(graded, WEEK)


def test_files_of_students_with_like_names_are_kept_apart():
    taken = set()
    names = ["../../etc/passwd", "ASHA", "asha", "", ".", "आशा", "a/b", "a\\b"]
    files = [sheets.file_name(name, taken) for name in names]
    assert len({file.casefold() for file in files}) == len(names)
    assert all("/" not in file and file[0] != "." for file in files)


def test_the_class_s_mistakes_are_counted():
    swapped = try_answer(SPLIT, lambda x, n: x.unflatten(-1, (n, -1)))
    marks = [Mark("dealt_out", 10, 5.0, swapped)] * 2
    marks.append(Mark("dealt_out", 10, 10.0, try_answer(SPLIT, right_split)))
    all_graded = [Grade(Submission(str(i)), (m,)) for i, m in enumerate(marks)]
    counts = mistakes(all_graded)["dealt_out"]
    assert counts["right"] == 1
    assert counts.most_common()[0] == (swapped.mistakes[0], 2)
    assert swapped.mistakes[0] in sheets.class_page(all_graded, WEEK)
    assert "  2 ██ H and T" in "\n".join(
        sheets.class_lines(mistakes(all_graded))
    )


@pytest.mark.parametrize(
    "line",
    [
        [],
        [{"pickle": ""}, "", "", [], 0],
        [{"tensor": [10**400], "shape": [1], "dtype": "torch.int64"}]
        + [""] * 4,
        [1, "", "", ["a"], 0],
        [1, "", "", [], "many"],
    ],
)
def test_what_cannot_be_read_is_an_outcome_that_failed(line):
    assert read_outcome(line).error == "Unreadable"


# --- what is handed out ---------------------------------------------------


def test_a_chapter_stands_for_its_exercises_without_a_solution():
    for name, each in exercises().items():
        if each.assignable:
            assert name in find_exercises([str(each.chapter)])
    assert find_exercises(["dealt_out", "dealt_out"]) == ["dealt_out"]
    for words in ["99"], ["dealtout"], ["5", "-1"]:
        with pytest.raises(ValueError, match="exercise"):
            find_exercises(words)


def test_points_are_for_all_or_by_name():
    names = ["dealt_out", "alibi_bias"]
    assert parse_points(names, "5") == dict.fromkeys(names, 5.0)
    assert parse_points(names, "alibi_bias=2.5")["alibi_bias"] == 2.5
    assert parse_points(names, "4,dealt_out=1") == dict(zip(names, (1, 4)))
    for words in "no", "0", "-1", "nan", "inf", "dealt_out=", "other=3":
        with pytest.raises(ValueError, match="--points"):
            parse_points(names, words)


def test_a_student_s_notebook_is_a_notebook_and_has_a_check_for_each():
    import nbformat

    week = Assignment("Week", "s", {"dealt_out": 4, "alibi_bias": 6})
    notebook = student_notebook(week)
    nbformat.validate(nbformat.from_dict(notebook))
    text = json.dumps(notebook)
    for words in "| `alibi_bias` | 6 |", "Save a copy in Drive", "# Week":
        assert words in text
    assert text.count("# @title Setup") == 1
    assert '"outputs": []' in text


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"points": 3}', "no"])
def test_a_file_that_is_no_assignment_is_refused(text, tmp_path):
    file = tmp_path / "week.json"
    file.write_text(text)
    with pytest.raises(ValueError, match="is no assignment"):
        load_assignment(file)
    file.write_text(WEEK.text())
    assert load_assignment(file) == WEEK


def test_files_of_one_stem_are_kept_apart_and_dots_above_do_no_harm(
    tmp_path, monkeypatch
):
    course = tmp_path / ".course" / "week"
    (course / "anna").mkdir(parents=True)
    cell = {"cell_type": "code", "source": "x = 1"}
    text = json.dumps({"cells": [cell]})
    files = "anna.ipynb", "anna/b.ipynb", "anna/a.ipynb", "bo.ipynb"
    for name in files:
        (course / name).write_text(text)
    (course / "anna.py").write_text("x = 1")
    monkeypatch.chdir(course)
    found = {s.name: s for s in submissions(Path("../week"))}
    assert {*found} == {"anna", "anna.ipynb", "anna.py", "bo"}
    assert all(s.cells == ("x = 1",) for s in found.values())
    assert found["anna"].wrong == "of 2 files, a.ipynb was graded"


# --- Gradescope -----------------------------------------------------------


def test_results_are_as_gradescope_reads_them():
    right, part, read = done("a"), done("b", 0.5, "x"), done("c", None)
    (test,) = gradescope.results(right)["tests"]
    assert test == {
        "name": "dealt_out",
        "output": "said",
        "output_format": "text",
        "visibility": "visible",
        "score": 10.0,
        "max_score": 10,
    }
    assert gradescope.results(part)["tests"][0]["score"] == 5
    assert "score" not in gradescope.results(read)["tests"][0]


@pytest.mark.slow
def test_the_zip_has_what_the_container_asks_for(tmp_path):
    file = tmp_path / "autograder.zip"
    gradescope.write_autograder(WEEK, file)
    with zipfile.ZipFile(file) as packed:
        names = packed.namelist()
        assert {"setup.sh", "run_autograder"} <= {*names}
        assert "classroom/exercises/chapter_05.py" in names
        assert not any("__pycache__" in name for name in names)
        assert packed.getinfo("run_autograder").external_attr >> 16 & 0o111
        packed.extractall(tmp_path / "source")
    for script in "setup.sh", "run_autograder":
        check = ["bash", "-n", str(tmp_path / "source" / script)]
        subprocess.run(check, check=True)
    assert load_assignment(tmp_path / "source" / "assignment.json") == WEEK

"""Marks, from a verdict to the gradebook, the sheets and Gradescope."""

import csv
import html
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from classroom import assignment, gradescope, pages, sheets
from classroom.assignment import (
    Assignment,
    find_exercises,
    load_assignment,
    parse_points,
    student_notebook,
)
from classroom.commands import strangers, with_typed, write_pages
from classroom.exercise import exercises
from classroom.grading import Grade, Mark, mark, mistakes, read_outcome
from classroom.judging import RULE, Verdict, try_answer
from classroom.submissions import Submission, submissions
from tests.helpers.browser import DESK, PHONE, SCHEMES, computed
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
OLDER_MOODLE = [["First name", "Surname", *MOODLE[0][2:]], *MOODLE[1:]]


@pytest.mark.parametrize(
    ("roster", "names"),
    [
        (CANVAS, ["thapaasha_4711_88_week5", "rai_LATE_4712_99_week5"]),
        (CANVAS, ["athapa", "brai"]),
        (MOODLE, [f"{name}_7_assignsubmission_file" for name in BOTH]),
        (OLDER_MOODLE, [*BOTH]),
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


def test_files_of_students_with_like_names_are_kept_apart():
    names = ["../../etc/passwd", "ASHA", "asha", "", ".", "a/b", "a\\b"]
    names += ["आशा", "विनोद श्रेष्ठ", "to-read", "the-class", "a" * 300]
    files = pages.file_names(names)
    ours = {pages.TO_READ, pages.CLASS}
    assert len({*ours, *map(str.casefold, files)}) == len(names) + len(ours)
    assert all("/" not in file and file[0] != "." for file in files)
    assert files[7:9] == ["आशा.html", "विनोद_श्रेष्ठ.html"]


# --- pages ----------------------------------------------------------------

EVIL = "<script>alert(1)</script>"
ESSAY = f"First {EVIL} line.\n\n\tसबै गर्\u200dयो \x07\u202e"
TWO = Assignment("Week", "s", {"dealt_out": 10, "why_columns": 5})


def essay(student: str, text: str = ESSAY, share: float = 1.0) -> Grade:
    """A student with an answer in code, and an explanation."""
    came = [[text, "", "", []]]
    verdict = Verdict("dealt_out", share, "said", ("x",) * (share < 1))
    code = Mark("dealt_out", 10, 10 * share, verdict)
    why = mark(exercises()["why_columns"], 5, "s", came)
    return Grade(Submission(student), (code, why))


def page_text(page: str) -> str:
    body = page.partition("<body")[2].replace("<wbr>", "")
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def test_a_mark_has_the_text_of_an_explanation_in_its_own_lines():
    text = essay("asha").marks[1].text
    assert text == f"First {EVIL} line.\n\n    सबै गर्\u200dयो "
    code = mark(exercises()["dealt_out"], 5, "s", [[ESSAY, "", "", []]])
    assert code.text == ""
    long = essay("asha", "a" * 30_000).marks[1].text
    assert long == "a" * 20_000 + "\n… (and 10,000 characters more)"
    for came in None, [], [[{"tensor": 1}, "", "", []]], [7], [[3]]:
        assert mark(exercises()["why_columns"], 5, "s", came).text == ""


def test_pages_show_what_students_wrote_and_run_none_of_it(tmp_path):
    verdict = Verdict("dealt_out", 0, EVIL, (EVIL,))
    bad = Mark("dealt_out", 10, 0, verdict, comment=EVIL)
    graded = Grade(Submission(EVIL), (bad, essay("a").marks[1]), (EVIL,))
    file = tmp_path / "marks.csv"
    sheets.add_rows(file, [graded], {})
    typed = sheets.typed_marks(file, TWO)
    for page in (
        pages.sheet(graded, TWO),
        pages.class_page([graded], TWO, [f"{EVIL}.html"]),
        pages.reading_page([graded], typed, TWO, file),
    ):
        assert "<script" not in page
        assert EVIL in page_text(page)


def test_a_sheet_says_the_rule_and_what_the_reader_says():
    graded = essay("asha", share=0.5)
    page = page_text(pages.sheet(graded, TWO))
    assert "5 of 15 points so far; a person reads the rest." in page
    assert "? of 5" in page
    assert RULE in page
    read = replace(graded.marks[1], points=3.5, comment="Say who asks.")
    page = page_text(pages.sheet(replace(graded, marks=(read,)), TWO))
    assert "3.5 of 5" in page
    assert "Say who asks." in page


def test_all_explanations_stand_on_one_page_in_the_order_of_their_rows(
    tmp_path,
):
    names = [f"student-{i}" for i in range(9)]
    grades = [*map(essay, names), essay("nothing", "...")]
    file = tmp_path / "marks.csv"
    sheets.add_rows(file, grades, {})
    typed = sheets.typed_marks(file, TWO)
    page = pages.reading_page(grades, typed, TWO, file)
    shown = page_text(page)
    for words in (
        "In your mask, the columns of the padding are hidden",
        *exercises()["why_columns"].rubric,
        "No text from: nothing",
        "marks.csv",
    ):
        assert words in shown
    assert html.escape(essay("x").marks[1].text) in page
    order = [row[0] for row in sheets.read_rows(file)[1:]]
    articles = re.findall(r"row (\d+) · \? of 5 · (\S+)", shown)
    assert articles == [(str(n), name) for n, name in enumerate(order, 2)]
    assert sorted(order) == names != order


def test_the_class_stands_in_a_matrix_the_worst_first():
    shares = {"asha": 1.0, "bina": 0.0, "chandra": 0.5, "dil": 0.5}
    grades = [essay(name, share=share) for name, share in shares.items()]
    grades[0] = replace(
        grades[0],
        marks=(grades[0].marks[0], replace(grades[0].marks[1], points=1.0)),
    )
    page = pages.class_page(grades, TWO, pages.file_names([*shares]))
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    assert [page_text(f"<body>{row}").lstrip("> ") for row in rows] == [
        "student total dealt_out of 10 why_columns of 5",
        "bina 0+ 0 ?",
        "chandra 5+ 5 ?",
        "dil 5+ 5 ?",
        "asha 11 10 1",
    ]
    assert "mean 5.2 5.0 –" in page_text(page)
    assert "submissions: 4, median 5 of 15 so far" in page_text(page)
    assert "3 x bina · chandra · dil 1 right asha" in page_text(page)
    lost = re.findall(r"--share: ([\d.]+)", page)
    assert lost == ["1.0", "0.0", "0.5", "0.0", "0.5", "0.0", "0.0", "0.8"]


def test_the_class_s_mistakes_are_counted():
    swapped = try_answer(SPLIT, lambda x, n: x.unflatten(-1, (n, -1)))
    marks = [Mark("dealt_out", 10, 5.0, swapped)] * 2
    right = Mark("dealt_out", 10, 10.0, try_answer(SPLIT, right_split))
    marks = [right, right, right, *marks]
    all_graded = [Grade(Submission(str(i)), (m,)) for i, m in enumerate(marks)]
    students = mistakes(all_graded)["dealt_out"]
    assert [*students.items()] == [
        (swapped.mistakes[0], ["3", "4"]),
        ("right", ["0", "1", "2"]),
    ]
    lines = [*pages.class_lines(all_graded, WEEK)]
    assert lines[:3] == [
        "submissions: 5, median 10 of 10.",
        "lowest: 3 5, 4 5, 0 10",
        "dealt_out: mean 8.0 of 10",
    ]
    assert lines[3].startswith("    2 ██ H and T")
    assert lines[4:] == ["    3 ███ right"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_class_of_30_is_seen_on_one_screen_and_a_sheet_on_a_phone(
    scheme, chromium, tmp_path
):
    names = [n for n, each in exercises().items() if each.assignable][:11]
    week = Assignment("W", "s", dict.fromkeys([*names, "why_columns"], 10))
    long = "RuntimeError: " + "a_long_name_of_a_tensor[-1]." * 20
    verdict = Verdict("dealt_out", 0.5, long, (long,))
    marks = [Mark(name, 10, 5, verdict) for name in names]
    marks.append(replace(essay("a", "b" * 5000).marks[1], most=10))
    grades = [Grade(Submission(f"{i} {long}"), (*marks,)) for i in range(30)]
    file = tmp_path / "marks.csv"
    write_pages(tmp_path / "sheets", grades, week, file)
    for width, height in (PHONE, 844), (DESK, 800):
        page = chromium.new_page(
            color_scheme=scheme, viewport={"width": width, "height": height}
        )
        for place in sorted((tmp_path / "sheets").iterdir())[-3:]:
            page.goto(place.as_uri())
            size = "document.documentElement.scrollWidth"
            assert page.evaluate(size) == width, place
        page.goto((tmp_path / "sheets" / pages.CLASS).as_uri())
        table = page.locator(".matrix").bounding_box()
        assert table["y"] + table["height"] < 800
        for total in 'th:text-is("total")', "tr:last-child td >> nth=0":
            left = page.locator(total).bounding_box()
            page.evaluate("document.querySelector('.matrix').scrollBy(99, 0)")
            assert left == page.locator(total).bounding_box()
        page.goto(sorted((tmp_path / "sheets").iterdir())[0].as_uri())
        (ink,) = computed(page, "body", "color")
        assert (sum(ink) > 384) == (scheme == "dark")
        page.close()


# --- points that a person types -------------------------------------------


def test_typed_points_stay_and_what_is_new_is_added_below(tmp_path):
    file = tmp_path / "marks.csv"
    grades = [essay("asha"), essay("=bina"), essay("chandra", "...")]
    sheets.add_rows(file, grades, sheets.typed_marks(file, TWO))
    head, *rows = sheets.read_rows(file)
    assert tuple(head) == sheets.MARKS
    assert sorted(rows) == [
        ["'=bina", "why_columns", "", "5", ""],
        ["asha", "why_columns", "", "5", ""],
    ]
    rows = [[*row[:2], "3,5", "5", 'He said "a";\nb'] for row in rows]
    rows += [[], ["asha", "dealt_out", "", "10", "Well done."]]
    text = io.StringIO()
    csv.writer(text, delimiter=";").writerows([head, *rows])
    typed_by_hand = text.getvalue().rstrip().encode("utf-8-sig")
    file.write_bytes(typed_by_hand)
    typed = sheets.typed_marks(file, TWO)
    grades = [with_typed(each, typed) for each in [*grades, essay("dil")]]
    assert [each.total for each in grades] == [13.5, 13.5, 10, 10]
    assert grades[1].marks[1].comment == 'He said "a";\nb'
    assert grades[0].marks[0] == replace(
        essay("asha").marks[0], comment="Well done."
    )
    assert [each.to_read for each in grades] == [[], [], [], ["why_columns"]]
    sheets.add_rows(file, grades, typed)
    before, after = file.read_bytes(), typed_by_hand
    assert before == after + b"\ndil;why_columns;;5;\n"
    typed = sheets.typed_marks(file, TWO)
    assert typed["dil", "why_columns"].row == 6
    sheets.add_rows(file, grades, typed)
    assert file.read_bytes() == before


def test_points_for_somebody_who_handed_in_nothing_are_told():
    typed = {("chandra", "why_columns"): sheets.TypedMark(2, 4.0, "Good.")}
    assert strangers(["asha"], [], typed) == ["nobody handed in as chandra"]
    assert strangers(["chandra"], [], typed) == []
    on_no_row = "on no row of the roster, or on several: nobody"
    assert strangers(["nobody", "athapa"], CANVAS, {}) == [on_no_row]


@pytest.mark.parametrize(
    "row",
    [
        "asha,why_columns,6",
        "asha,why_columns,nan",
        "asha,why_columns,many",
        "asha,other,1",
        "asha",
        "asha,dealt_out,1\nasha,dealt_out,2",
    ],
)
def test_a_row_that_cannot_be_is_named(row, tmp_path):
    file = tmp_path / "marks.csv"
    file.write_text(f"Student,exercise,points\nbina,dealt_out,1\n{row}\n")
    number = 3 + row.count("\n")
    with pytest.raises(ValueError, match=rf"marks.csv, row {number} \(asha"):
        sheets.typed_marks(file, TWO)


@pytest.mark.parametrize(
    "line",
    [
        [],
        [{"pickle": ""}, "", "", []],
        [{"tensor": [10**400], "shape": [1], "dtype": "torch.int64"}]
        + [""] * 3,
        [1, "", "", ["a"]],
    ],
)
def test_what_cannot_be_read_is_an_outcome_that_failed(line):
    assert read_outcome(line).error == "Unreadable"


# --- what is handed out ---------------------------------------------------


def test_a_chapter_stands_for_its_exercises_without_a_solution():
    for name, each in exercises().items():
        if each.assignable and not each.points:
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
    assert RULE in text
    assert "a person" not in text
    assert "a person" in json.dumps(student_notebook(TWO))
    assert text.count("# @title Setup") == 1
    assert '"outputs": []' in text


def test_an_exercise_without_a_section_is_answered_in_a_line(tmp_path):
    place = str(tmp_path / "05_heads.md")
    each = replace(exercises()["dealt_out"], file=place)
    with pytest.raises(ValueError, match="run this in a copy of the book"):
        assignment.exercise_cells(each)
    assert assignment.statement(each) == each.teaches
    (tmp_path / "05_heads.ipynb").write_text('{"cells": []}')
    with pytest.raises(ValueError, match="dealt_out has no section in .*"):
        assignment.exercise_cells(each)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"points": 3}', "no"])
def test_a_file_that_is_no_assignment_is_refused(text, tmp_path):
    file = tmp_path / "week.json"
    file.write_text(text)
    with pytest.raises(ValueError, match="is not an assignment"):
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
    by_name = {s.name: s for s in submissions(Path("../week"))}
    assert {*by_name} == {"anna", "anna.ipynb", "anna.py", "bo"}
    assert all(s.cells == ("x = 1",) for s in by_name.values())
    assert by_name["anna"].wrong == "of 2 files, a.ipynb was graded"


# --- Gradescope -----------------------------------------------------------


def test_results_are_as_gradescope_reads_them():
    about = gradescope.results(done("a"))
    (test,) = about.pop("tests")
    both = {"output_format": "text", "score": 10.0}
    assert about == both | {"output": ""}
    test_alone = {"name": "dealt_out", "visibility": "visible"}
    assert test == both | test_alone | {"output": "said", "max_score": 10}
    (part,) = gradescope.results(done("b", 0.5, "x"))["tests"]
    assert part["score"] == 5
    assert "score" not in gradescope.results(done("c", None))["tests"][0]


def test_an_explanation_can_be_read_on_gradescope_where_a_cell_has_it():
    for text, shown in (ESSAY, True), ("First", False):
        said = essay("asha")
        sent = replace(said.submission, cells=(f'a = """{text}"""',))
        (_, test) = gradescope.results(replace(said, submission=sent))["tests"]
        assert said.marks[1].verdict.says in test["output"]
        assert (said.marks[1].text in test["output"]) == shown

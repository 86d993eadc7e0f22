"""What one can type: hand exercises out, and grade what comes back."""

import json
import secrets
import shutil
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from classroom import gradescope, pages, sheets
from classroom.assignment import (
    Assignment,
    find_exercises,
    load_assignment,
    parse_points,
    stranger,
    student_notebook,
)
from classroom.exercise import exercise
from classroom.grading import Grade, grade_all
from classroom.packing import pack_homework
from classroom.rehearsal import rehearse
from classroom.sandbox import Sandbox
from classroom.submissions import submissions
from shapewatch.commands.parsing import Parser, add_commands, count


def assign(args: Namespace) -> None:
    """Write the notebook that students get, and beside it the .json that
    grading needs. Give exercises by name, or a chapter's number for all of
    its exercises that have no solution in the book; or one of the four
    assignments, such as build."""
    points = parse_points(find_exercises(args.exercises), args.points)
    seed = args.seed or secrets.token_hex(4)
    assignment = Assignment(args.title, str(seed), points)
    notebook, key = Path(args.out), Path(args.out).with_suffix(".json")
    if notebook.suffix != ".ipynb":
        raise ValueError(
            f"--out {notebook}: a notebook's name ends in .ipynb."
        )
    text = json.dumps(student_notebook(assignment), indent=1) + "\n"
    notebook.write_text(text, "utf8")
    key.write_text(assignment.text(), "utf8")
    for each in assignment.exercises:
        print(f"{points[each.name]:4g} points  {each.name}: {each.title}")
    minutes = sum(each.minutes for each in assignment.exercises)
    print(f"{assignment.most:4g} points, about {minutes} minutes")
    print(f"{notebook}: for the students")
    print(f"{key}: for you; `classroom grade` reads it")
    for hunt in (x for x in assignment.exercises if x.kind == "hunt"):
        file = notebook.with_name("stranger.py")
        file.write_text(stranger(hunt) + "\n", "utf8")
        print(f"{file}: for the students, and in {notebook}; it is wrong in")
        for edit in hunt.edits:
            print(f"  {edit[1]}\n    {edit[-1]}")


def grade_folder(args: Namespace) -> None:
    """Grade the notebooks in a folder: a gradebook, a sheet a student, the
    class on a page, and what a person has to read. Each runs under
    bubblewrap."""
    assignment = load_assignment(Path(args.assignment))
    came = submissions(Path(args.folder), assignment.points)
    out = Path(args.out)
    file = out.with_name(f"{out.stem}-marks.csv")
    typed = sheets.typed_marks(file, assignment)
    roster = sheets.read_rows(Path(args.roster)) if args.roster else []
    sandbox = Sandbox(args.trust_submissions, seconds=args.seconds)
    grades: list[Grade] = []
    for each in grade_all(came, assignment, sandbox):
        grades.append(with_typed(each, typed))
        print(grade_line(grades[-1], assignment), flush=True)
    book = sheets.gradebook(grades, assignment, roster)
    news = strangers([each.name for each in came], roster, typed)
    files = out.with_name(f"{out.stem}-diagnoses.csv")
    folder = out.with_name(f"{out.stem}-sheets")
    sheets.write_rows(out, book)
    sheets.write_rows(files, sheets.diagnoses(grades))
    sheets.add_rows(file, grades, typed)
    write_pages(folder, grades, assignment, file)
    for text in (*pages.class_lines(grades, assignment), *news):
        print(text)
    typed_into = f"{file}, " if file.exists() else ""
    print(f"{out}, {files}, {typed_into}{folder}/")


def write_pages(
    folder: Path, grades: Sequence[Grade], assignment: Assignment, file: Path
) -> None:
    """Write a page for each student, one for the class, and where there are
    explanations, one with all of them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = pages.file_names([each.submission.name for each in grades])
    texts = {n: pages.sheet(g, assignment) for n, g in zip(names, grades)}
    texts[pages.CLASS] = pages.class_page(grades, assignment, names)
    if any(each.rubric for each in assignment.exercises):
        typed = sheets.typed_marks(file, assignment)
        page = pages.reading_page(grades, typed, assignment, file)
        texts[pages.TO_READ] = page
    for name, text in texts.items():
        (folder / name).write_text(text, "utf8")


def grade_line(each: Grade, assignment: Assignment) -> str:
    """Write a line for a submission."""
    waiting = f", {len(each.to_read)} to be read" if each.to_read else ""
    notes = f" ({each.notes[0]})" if each.notes else ""
    name = each.submission.name
    return f"{name}: {each.total:g} of {assignment.most:g}{waiting}{notes}"


def with_typed(each: Grade, typed: sheets.TypedMarks) -> Grade:
    """Put points that a person typed in the place of those measured, and
    the comments beside them."""
    marks = []
    student = sheets.safe(each.submission.name)
    for mark in each.marks:
        if row := typed.get((student, mark.exercise)):
            points = mark.points if row.points is None else row.points
            mark = replace(mark, points=points, comment=row.comment)
        marks.append(mark)
    return replace(each, marks=tuple(marks))


def strangers(
    names: Sequence[str], roster: sheets.Rows, typed: sheets.TypedMarks
) -> list[str]:
    """Say whose submissions are on no row of a roster, if there is one, and
    for whom points were typed who handed in nothing."""
    owned = sheets.owners(names, roster).values()
    out = [name for name in names if roster and name not in owned]
    gone = {student for student, _ in typed} - {*map(sheets.safe, names)}
    return [
        *(f"on no row of the roster, or on several: {name}" for name in out),
        *(f"nobody handed in as {name}" for name in sorted(gone)),
    ]


def write_gradescope(args: Namespace) -> None:
    """Write the zip that Gradescope asks for as an autograder."""
    assignment, out = load_assignment(Path(args.assignment)), Path(args.out)
    gradescope.write_autograder(assignment, out, args.packages)
    print(f"{out}: upload it at Configure Autograder")


def try_exercise(args: Namespace) -> None:
    """Try an exercise of your own on twenty seeds: what is drawn, whether
    its right code passes, and whether each mistake gets its sentence."""
    for line in rehearse(exercise(args.exercise)):
        print(line, flush=True)


def pack(args: Namespace) -> None:
    """Pack the tables of homework in a folder into one file, and draw the
    inputs on which notebooks judge answers to it."""
    for file in pack_homework(Path(args.folder)):
        print(f"{file}: {file.stat().st_size // 1000} kB")


PROGRAM = "python -m classroom"
ABOUT = "Hand exercises out, and grade what comes back."
COMMANDS = {
    "assign": assign,
    "grade": grade_folder,
    "gradescope": write_gradescope,
    "try": try_exercise,
    "pack": pack,
}
TO_TRY = {
    "": ["assign 5 7", "grade submissions"],
    "assign": ["5 7", "dealt_out 7 --points 5 --seed autumn", "build"],
    "grade": ["submissions", "submissions --roster canvas.csv"],
    "gradescope": ["", "--packages matplotlib,seaborn"],
    "try": ["decoder_mask", "alibi_bias"],
    "pack": ["_build/homework", "homework"],
}
WHICH = "a name, an assignment's, or a chapter's number for its homework"
KEY_FILE = "the .json that `classroom assign` wrote (default: %(default)s)"
ROSTER = "a CSV of your course, as Canvas or Moodle exports it"
OUTPUTS = {
    "assign": "exercises.ipynb",
    "grade": "grades.csv",
    "gradescope": "autograder.zip",
}
ONLY_YOURS = "run without bubblewrap: only what you wrote yourself"


def read(argv: Sequence[str] | None = None) -> Namespace:
    """Read what was typed."""
    top, parsers = add_commands(PROGRAM, ABOUT, COMMANDS, TO_TRY)
    add_assign_options(parsers["assign"])
    add_grade_options(parsers["grade"])
    text = "what students import besides torch and numpy"
    parsers["gradescope"].add(
        "--packages", text, default="", type=str, metavar="TEXT"
    )
    for name in "grade", "gradescope":
        parsers[name].add("--assignment", KEY_FILE, default="exercises.json")
    for name, file in OUTPUTS.items():
        text = "the file to write (default: %(default)s)"
        parsers[name].add("--out", text, default=file)
    parsers["try"].add("exercise", "its name", metavar="EXERCISE")
    text = "with tables of homework"
    parsers["pack"].add("folder", text, metavar="FOLDER")
    return top.parse_args(argv)


def add_assign_options(parser: Parser) -> None:
    """Let `assign` be told which exercises, and how they are handed out."""
    parser.add("exercises", WHICH, nargs="+", metavar="EXERCISE")
    text = "of each, or name=10,other=5 (default: 10, or an assignment's)"
    parser.add("--points", text, default="")
    text = "a word that draws the inputs (default: a random one)"
    parser.add("--seed", text)
    text = "what stands above the exercises (default: %(default)s)"
    parser.add("--title", text, default="Exercises")


def add_grade_options(parser: Parser) -> None:
    """Let `grade` be told whose notebooks, and how they are run."""
    parser.add("folder", "the students' notebooks", metavar="FOLDER")
    parser.add("--roster", ROSTER)
    text = "time for one submission (default: %(default)s)"
    parser.add("--seconds", text, type=count, default=20)
    parser.add("--trust-submissions", ONLY_YOURS, action="store_true")

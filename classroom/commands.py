"""What one can type: hand exercises out, and grade what comes back."""

import json
import shutil
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from classroom import gradescope, sheets
from classroom.assignment import (
    Assignment,
    chosen,
    load,
    pointed,
    student_notebook,
)
from classroom.exercise import KINDS, exercises
from classroom.grading import Graded, graded, mistakes
from classroom.roster import owners, read_rows
from classroom.sandbox import Sandbox
from classroom.submissions import submissions
from shapewatch.commands.parsing import (
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    Command,
    Options,
    Program,
    read_command,
)
from shapewatch.tracing.tables import text_line

IDENTITY = 4  # columns that tell students apart
COLUMNS = 24, 2, 3, 25, 0


def list_exercises(args: Namespace) -> None:
    """List the exercises: name, chapter, kind, minutes, and whether the book
    has a solution; of one chapter, when it is named."""
    print(text_line(("exercise", "ch", "min", "kind", ""), COLUMNS).rstrip())
    for name, each in exercises().items():
        if args.chapter is None or each.chapter == args.chapter:
            use = "no solution in the book" if each.assignable else ""
            numbers = str(each.chapter), str(each.minutes)
            cells = name, *numbers, KINDS[each.kind], use
            print(text_line(cells, COLUMNS).rstrip())


def assign(args: Namespace) -> None:
    """Write the notebook that students get, and beside it the .json that
    grading needs. Give exercises by name, or a chapter's number for all of
    its exercises that have no solution in the book."""
    points = pointed(chosen(args.exercises), args.points)
    assignment = Assignment(args.title, str(args.seed), points)
    notebook, key = Path(args.out), Path(args.out).with_suffix(".json")
    if notebook.suffix != ".ipynb":
        raise ValueError(
            f"--out {notebook}: a notebook's name ends in .ipynb."
        )
    text = json.dumps(student_notebook(assignment), indent=1) + "\n"
    notebook.write_text(text, "utf8")
    key.write_text(assignment.text(), "utf8")
    minutes = sum(each.minutes for each in assignment.exercises)
    total = sum(assignment.points.values())
    for each in assignment.exercises:
        print(f"{points[each.name]:4g} points  {each.name}: {each.title}")
    print(f"{total:4g} points, about {minutes} minutes")
    print(f"{notebook}: for the students")
    print(f"{key}: for you; `classroom grade` reads it")


def grade(args: Namespace) -> None:
    """Grade the notebooks in a folder: a gradebook, a sheet a student, and
    which mistakes the class made. Each runs under bubblewrap."""
    assignment = load(Path(args.assignment))
    came = submissions(Path(args.folder))
    names = [each.name for each in came]
    marks = read_marks(args.marks, names, assignment.points)
    roster = read_rows(Path(args.roster)) if args.roster else []
    sandbox = Sandbox(args.trust_submissions, seconds=args.seconds)
    done: list[Graded] = []
    for each in graded(came, assignment, sandbox):
        each = with_marks(each, marks)
        print(line(each, assignment), flush=True)
        done.append(each)
    out = Path(args.out)
    book = sheets.gradebook(done, assignment, roster)
    told = changes(out, book)
    sheets.write_rows(out, book)
    write_beside(out, done, assignment)
    own = owners(names, roster) if roster else {}
    told += [
        f"on no row of the roster, or on several: {name}"
        for name in names
        if roster and name not in own.values()
    ]
    for text in (*sheets.class_lines(mistakes(done)), *told):
        print(text)
    print(f"{out}, {diagnoses_file(out)}, {sheets_folder(out)}/")


def diagnoses_file(out: Path) -> Path:
    """Name the file with all diagnoses."""
    return out.with_name(f"{out.stem}-diagnoses.csv")


def sheets_folder(out: Path) -> Path:
    """Name the folder with the sheets."""
    return out.with_name(f"{out.stem}-sheets")


def write_beside(
    out: Path, done: Sequence[Graded], assignment: Assignment
) -> None:
    """Write beside the gradebook the diagnoses, the sheets and the class's."""
    sheets.write_rows(diagnoses_file(out), sheets.diagnoses(done))
    folder = sheets_folder(out)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    taken = {"the-class"}
    for each in done:
        name = sheets.file_name(each.submission.name, taken)
        text = sheets.sheet(each, assignment)
        (folder / name).write_text(text, "utf8")
    text = sheets.class_page(done, assignment)
    (folder / "the-class.html").write_text(text, "utf8")


def line(each: Graded, assignment: Assignment) -> str:
    """Write a line for a submission."""
    most = sum(assignment.points.values())
    waiting = f", {len(each.to_read)} to be read" if each.to_read else ""
    notes = f" ({each.notes[0]})" if each.notes else ""
    name = each.submission.name
    return f"{name}: {each.total:g} of {most:g}{waiting}{notes}"


Marks = Mapping[tuple[str, str], float]


def read_marks(
    name: str | None, students: Sequence[str], points: Mapping[str, float]
) -> Marks:
    """Read points given by hand: a CSV with Student, exercise and points.

    Raises ValueError for a row that is nobody's, or gives too many.
    """
    found: dict[tuple[str, str], float] = {}
    head, *rows = read_rows(Path(name)) if name else [[]]
    for row in rows:
        cells = dict(zip(head, row))
        try:
            key = cells["Student"], cells["exercise"]
            given = float(cells["points"])
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"{name}: {', '.join(row)}: a row needs Student, exercise "
                "and points, and a header that names them."
            ) from error
        if key[0] not in students or not 0 <= given <= points.get(key[1], -1):
            raise ValueError(
                f"{name}: {', '.join(row)}: the student should be named as in "
                "the lines above, the exercise be assigned, and the points "
                "lie between 0 and what it is worth."
            )
        found[key] = given
    return found


def with_marks(each: Graded, marks: Marks) -> Graded:
    """Put points given by hand in the place of those measured."""
    student = each.submission.name
    own = tuple(
        replace(one, points=marks.get((student, one.exercise), one.points))
        for one in each.marks
    )
    return replace(each, marks=own)


def changes(out: Path, rows: Sequence[Sequence[str]]) -> list[str]:
    """Say whose points are others than in the file that is there."""
    if not out.exists():
        return []
    old = {tuple(row[:IDENTITY]): row[-1] for row in read_rows(out)[1:]}
    pairs = [(row, old.get(tuple(row[:IDENTITY]))) for row in rows[1:]]
    changed = [
        f"changed: {row[0]}, {before or '–'} to {row[-1] or '–'}"
        for row, before in pairs
        if before is not None and before != row[-1]
    ]
    return changed or ["no total has changed"]


def pack(args: Namespace) -> None:
    """Write the zip that Gradescope asks for as an autograder."""
    assignment = load(Path(args.assignment))
    gradescope.pack(assignment, Path(args.out))
    print(f"{args.out}: upload it at Configure Autograder")


WHICH = "a name, or a chapter's number for those without a solution"
OPTIONS: Options = {
    "chapter": (NUMBER, "the exercises of this chapter alone"),
    "points": (TEXT, "10 for each, or name=10,other=5"),
    "seed": (TEXT, "any word: it draws what answers are tried on"),
    "title": (TEXT, "what stands above the exercises"),
    "out": (TEXT, "the file to write"),
    "assignment": (TEXT, "the .json that `classroom assign` wrote"),
    "roster": (TEXT, "a CSV of your course, as Canvas or Moodle exports it"),
    "marks": (TEXT, "a CSV of points given by hand"),
    "seconds": (COUNT, "time for one submission"),
    "trust-submissions": (
        FLAG,
        "run without bubblewrap: only what you wrote yourself",
    ),
}
ASSIGNING = {
    "points": "10",
    "seed": "0",
    "title": "Exercises",
    "out": "exercises.ipynb",
}
GRADING = {
    "assignment": "exercises.json",
    "out": "grades.csv",
    "roster": None,
    "marks": None,
    "seconds": 20,
    "trust-submissions": False,
}
PACKING = {"assignment": "exercises.json", "out": "autograder.zip"}
TO_TRY = {
    "": ["list", "assign 5 7", "grade submissions"],
    "list": ["", "--chapter 7"],
    "assign": ["5 7", "dealt_out 7 --points 5 --seed autumn"],
    "grade": ["submissions", "submissions --roster canvas.csv"],
    "gradescope": ["", "--assignment week.json"],
}
NAME = "python -m classroom"
COMMAND_LINE = Program(
    name=NAME,
    about="Hand exercises out, and grade what comes back.",
    commands={
        "list": Command(list_exercises, {"chapter": None}),
        "assign": Command(assign, ASSIGNING, ("exercises", "+", WHICH)),
        "grade": Command(
            grade, GRADING, ("folder", None, "the students' notebooks")
        ),
        "gradescope": Command(pack, PACKING),
    },
    options=OPTIONS,
    examples=TO_TRY,
)
read = partial(read_command, COMMAND_LINE)

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
    find_exercises,
    load_assignment,
    parse_points,
    student_notebook,
)
from classroom.exercise import KINDS, exercises
from classroom.grading import Grade, grade_all, mistakes
from classroom.sandbox import Sandbox
from classroom.submissions import submissions
from shapewatch.commands.parsing import (
    COUNT,
    FLAG,
    TEXT,
    WHOLE_NUMBER,
    Command,
    Options,
    Program,
    read_command,
)
from shapewatch.tracing.tables import text_line

IDENTITY = 4  # columns that tell students apart
COLUMNS = 24, 2, 3, 25, 0

Points = Mapping[tuple[str, str], float]


def list_exercises(args: Namespace) -> None:
    """List the exercises: name, chapter, kind, minutes, and whether the book
    has a solution; of one chapter, when it is named."""
    rows = [("exercise", "ch", "min", "kind", "")]
    for name, each in exercises().items():
        if args.chapter is None or each.chapter == args.chapter:
            use = "no solution in the book" if each.assignable else ""
            numbers = str(each.chapter), str(each.minutes)
            rows.append((name, *numbers, KINDS[each.kind], use))
    for row in rows:
        print(text_line(row, COLUMNS).rstrip())


def assign(args: Namespace) -> None:
    """Write the notebook that students get, and beside it the .json that
    grading needs. Give exercises by name, or a chapter's number for all of
    its exercises that have no solution in the book."""
    points = parse_points(find_exercises(args.exercises), args.points)
    assignment = Assignment(args.title, str(args.seed), points)
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
    print(f"{sum(points.values()):4g} points, about {minutes} minutes")
    print(f"{notebook}: for the students")
    print(f"{key}: for you; `classroom grade` reads it")


def grade_folder(args: Namespace) -> None:
    """Grade the notebooks in a folder: a gradebook, a sheet a student, and
    which mistakes the class made. Each runs under bubblewrap."""
    assignment = load_assignment(Path(args.assignment))
    came = submissions(Path(args.folder))
    names = [each.name for each in came]
    by_hand = read_points(args.marks, names, assignment.points)
    roster = sheets.read_rows(Path(args.roster)) if args.roster else []
    sandbox = Sandbox(args.trust_submissions, seconds=args.seconds)
    grades: list[Grade] = []
    for each in grade_all(came, assignment, sandbox):
        grades.append(with_points(each, by_hand))
        print(grade_line(grades[-1], assignment), flush=True)
    out = Path(args.out)
    book = sheets.gradebook(grades, assignment, roster)
    told = changes(out, book) + strangers(names, roster)
    files = out.with_name(f"{out.stem}-diagnoses.csv")
    folder = out.with_name(f"{out.stem}-sheets")
    sheets.write_rows(out, book)
    sheets.write_rows(files, sheets.diagnoses(grades))
    write_sheets(folder, grades, assignment)
    for text in (*sheets.class_lines(mistakes(grades)), *told):
        print(text)
    print(f"{out}, {files}, {folder}/")


def write_sheets(
    folder: Path, grades: Sequence[Grade], assignment: Assignment
) -> None:
    """Write a page for each student, and one for the class."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    taken = {"the-class"}
    for each in grades:
        name = sheets.file_name(each.submission.name, taken)
        text = sheets.sheet(each, assignment)
        (folder / name).write_text(text, "utf8")
    text = sheets.class_page(grades, assignment)
    (folder / "the-class.html").write_text(text, "utf8")


def grade_line(each: Grade, assignment: Assignment) -> str:
    """Write a line for a submission."""
    most = sum(assignment.points.values())
    waiting = f", {len(each.to_read)} to be read" if each.to_read else ""
    notes = f" ({each.notes[0]})" if each.notes else ""
    name = each.submission.name
    return f"{name}: {each.total:g} of {most:g}{waiting}{notes}"


def read_points(
    name: str | None, students: Sequence[str], most: Mapping[str, float]
) -> Points:
    """Read points given by hand: a CSV with Student, exercise and points.

    Raises ValueError for a row that is nobody's, or gives too many.
    """
    found: dict[tuple[str, str], float] = {}
    head, *rows = sheets.read_rows(Path(name)) if name else [[]]
    for row in rows:
        cells, where = dict(zip(head, row)), f"{name}: {', '.join(row)}"
        try:
            key = cells["Student"], cells["exercise"]
            given = float(cells["points"])
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"{where}: a row needs Student, exercise and points, and a "
                "header that names them."
            ) from error
        if key[0] not in students or not 0 <= given <= most.get(key[1], -1):
            raise ValueError(
                f"{where}: the student should be named as in the lines above, "
                "the exercise be assigned, and the points lie between 0 and "
                "what it is worth."
            )
        found[key] = given
    return found


def with_points(each: Grade, by_hand: Points) -> Grade:
    """Put points given by hand in the place of those measured."""
    student = each.submission.name
    own = tuple(
        replace(one, points=by_hand.get((student, one.exercise), one.points))
        for one in each.marks
    )
    return replace(each, marks=own)


def changes(out: Path, rows: Sequence[Sequence[str]]) -> list[str]:
    """Say whose points are others than in the file that is there."""
    if not out.exists():
        return []
    old = {tuple(row[:IDENTITY]): row[-1] for row in sheets.read_rows(out)[1:]}
    pairs = [(row, old.get(tuple(row[:IDENTITY]))) for row in rows[1:]]
    changed = [
        f"changed: {row[0]}, {before or '–'} to {row[-1] or '–'}"
        for row, before in pairs
        if before is not None and before != row[-1]
    ]
    return changed or ["no total has changed"]


def strangers(names: Sequence[str], roster: sheets.Rows) -> list[str]:
    """Say whose submissions are on no row of a roster, if there is one."""
    own = sheets.owners(names, roster).values()
    return [
        f"on no row of the roster, or on several: {name}"
        for name in names
        if roster and name not in own
    ]


def write_gradescope(args: Namespace) -> None:
    """Write the zip that Gradescope asks for as an autograder, and try it
    out: some half a minute."""
    assignment, out = load_assignment(Path(args.assignment)), Path(args.out)
    gradescope.write_autograder(assignment, out, args.packages)
    print(gradescope.check_autograder(assignment, out))
    print(f"{out}: upload it at Configure Autograder")


WHICH = "a name, or a chapter's number for those without a solution"
ONLY_YOURS = "run without bubblewrap: only what you wrote yourself"
OPTIONS: Options = {
    "chapter": (WHOLE_NUMBER, "the exercises of this chapter alone"),
    "points": (TEXT, "10 for each, or name=10,other=5"),
    "seed": (TEXT, "any word: it draws what answers are tried on"),
    "title": (TEXT, "what stands above the exercises"),
    "out": (TEXT, "the file to write"),
    "assignment": (TEXT, "the .json that `classroom assign` wrote"),
    "roster": (TEXT, "a CSV of your course, as Canvas or Moodle exports it"),
    "marks": (TEXT, "a CSV of points given by hand"),
    "packages": (TEXT, "what students import besides torch and numpy"),
    "seconds": (COUNT, "time for one submission"),
    "trust-submissions": (FLAG, ONLY_YOURS),
}
# Of each command: what it calls, its options' defaults, and its operand.
# fmt: off
ASSIGN = {
    "points": "10", "seed": "0", "title": "Exercises", "out": "exercises.ipynb"
}
GRADE = {
    "assignment": "exercises.json", "out": "grades.csv", "roster": None,
    "marks": None, "seconds": 20, "trust-submissions": False,
}
GRADESCOPE = {
    "assignment": "exercises.json", "out": "autograder.zip", "packages": "",
}
# fmt: on
FOLDER = "folder", None, "the students' notebooks"
TO_TRY = {
    "": ["list", "assign 5 7", "grade submissions"],
    "list": ["", "--chapter 7"],
    "assign": ["5 7", "dealt_out 7 --points 5 --seed autumn"],
    "grade": ["submissions", "submissions --roster canvas.csv"],
    "gradescope": ["", "--packages matplotlib,seaborn"],
}
COMMAND_LINE = Program(
    name="python -m classroom",
    about="Hand exercises out, and grade what comes back.",
    commands={
        "list": Command(list_exercises, {"chapter": None}),
        "assign": Command(assign, ASSIGN, ("exercises", "+", WHICH)),
        "grade": Command(grade_folder, GRADE, FOLDER),
        "gradescope": Command(write_gradescope, GRADESCOPE),
    },
    options=OPTIONS,
    examples=TO_TRY,
)
read = partial(read_command, COMMAND_LINE)

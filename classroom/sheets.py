"""What an instructor gets as tables: the gradebook, the diagnoses, and the
points that are typed in; and whose submission is whose, by a course's list."""

import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from classroom.assignment import Assignment
from classroom.grading import Grade, is_shown

# As Canvas exports and imports them; Moodle asks which column is whose.
HEADERS = "Student", "ID", "SIS User ID", "SIS Login ID", "Section"
DIAGNOSES = "Student", "exercise", "points", "of", "mistakes", "diagnosis"
MARKS = "Student", "exercise", "points", "of", "comment"
# What Canvas and Moodle call the columns that tell students apart.
IDS = {"id", "sis user id", "sis login id", "id number", "username"}
IDS |= {"email", "email address", "e-mail address"}
NAMES = "student", "student name", "name", "full name"
# How they name the files: doejane_LATE_4711_88_week3, and
# Jane Doe_1234_assignsubmission_file.
CANVAS = re.compile(r"[^_]+_(?:LATE_)?(\d+)_\d+(?:_.*)?")
MOODLE = re.compile(r"(.+?)_\d+_assignsubmission_.*")
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")

Rows = Sequence[Sequence[str]]


class TypedMark(NamedTuple):
    """What a person typed into a row: points, None where there are none yet,
    and a comment. Rows are counted as in a spreadsheet, the header is 1."""

    row: int
    points: float | None
    comment: str


TypedMarks = Mapping[tuple[str, str], TypedMark]  # by student and exercise


# --- Tables ---------------------------------------------------------------


def read_rows(file: Path) -> list[list[str]]:
    """Read a CSV, with commas or semicolons; ValueError for what is none."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
        stream = io.StringIO(text, newline="")
        rows = [*csv.reader(stream, delimiter=delimiter_of(text))]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(
            f"{file} is not a CSV in UTF-8: save it as one."
        ) from error
    if not any(map(any, rows)):
        raise ValueError(f"{file} is empty: it needs a header at least.")
    return rows


def delimiter_of(text: str) -> str:
    """Find out what stands between the cells of a header."""
    return max(",;", key=text.partition("\n")[0].count)


def write_rows(file: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV."""
    with file.open("w", newline="", encoding="utf8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def gradebook(
    grades: Sequence[Grade], assignment: Assignment, roster: Rows = ()
) -> list[list[str]]:
    """Lay out the gradebook: a row a student, a column an exercise.

    `roster` is a list that Canvas or Moodle exported, with its header. Its
    columns stay, and each submission goes to the row of its student. What
    is not on it comes last.
    """
    names = [*assignment.points]
    head = list(roster[0]) if roster else list(HEADERS)
    left = {each.submission.name: each for each in grades}
    owner_of = owners([*left], roster)
    rows = []
    for number, row in enumerate(roster[1:], 1):
        blank = [""] * (len(head) - len(row))
        each = left.pop(owner_of[number]) if number in owner_of else None
        rows.append([*row, *blank, *points_of(each, names)])
    for name, each in left.items():
        identity = [safe(name), *[""] * (len(head) - 1)]
        if not roster:
            identity[3] = safe(name)
        rows.append([*identity, *points_of(each, names)])
    return [[*head, *names, assignment.title], *rows]


def points_of(each: Grade | None, names: Sequence[str]) -> list[str]:
    """Write the points of each exercise, "" where it is to be read or nobody
    handed in; and of all."""
    marks = each.marks if each else ()
    points = {mark.exercise: points_text(mark.points) for mark in marks}
    total = points_text(each.total) if each and not each.to_read else ""
    return [*(points.get(name, "") for name in names), total]


def points_text(points: float | None) -> str:
    """Write points."""
    return "" if points is None else f"{points:g}"


def diagnoses(grades: Iterable[Grade]) -> list[Sequence[str]]:
    """List a row for each student and exercise."""
    rows: list[Sequence[str]] = [DIAGNOSES]
    for each in grades:
        for mark in each.marks:
            student, verdict = safe(each.submission.name), mark.verdict
            points = points_text(mark.points), f"{mark.most:g}"
            what = safe("; ".join(verdict.mistakes)), safe(verdict.text)
            rows.append((student, mark.exercise, *points, *what))
    return rows


def safe(text: str) -> str:
    """Keep a spreadsheet from taking a text for a formula."""
    text = "".join(filter(is_shown, text))
    return f"'{text}" if FORMULA.match(text) else text


# --- Points that a person types -------------------------------------------


def typed_marks(file: Path, assignment: Assignment) -> TypedMarks:
    """Read what a person typed: a CSV with Student, exercise, points, which
    may be empty, and comment; nothing, where there is no file yet. Raises
    ValueError for a row that cannot be."""
    typed: dict[tuple[str, str], TypedMark] = {}
    head, *rows = read_rows(file) if file.exists() else [[]]
    for number, row in enumerate(rows, 2):
        cells = dict(zip(map(str.casefold, head), map(str.strip, row)))
        try:
            key = cells["student"], cells["exercise"]
            text, most = cells["points"], assignment.points[key[1]]
            points = float(text.replace(",", ".")) if text else None
            if key in typed or not 0 <= (points or 0) <= most:
                raise ValueError
        except (KeyError, ValueError) as error:
            if not any(row):
                continue
            raise ValueError(
                f"{file}, row {number} ({', '.join(row)}): a row needs "
                "Student, exercise and points, below a header that names "
                "them: an exercise of the assignment, once for each student, "
                "and a number from 0 to what it is worth, or nothing yet."
            ) from error
        typed[key] = TypedMark(number, points, cells.get("comment", ""))
    return typed


def add_rows(file: Path, grades: Sequence[Grade], typed: TypedMarks) -> None:
    """Add a row for each explanation that has none, question by question,
    and the students of each in an order of its own. What stands there is
    not touched."""
    rows = []
    for marks in zip(*(each.marks for each in grades)):
        new = [
            (safe(each.submission.name), mark.exercise, "", f"{mark.most:g}")
            for each, mark in zip(grades, marks)
            if mark.for_a_reader
        ]
        Random(marks[0].exercise).shuffle(new)
        rows += [row for row in new if row[:2] not in typed]
    if rows and not file.exists():
        write_rows(file, [MARKS])
    if rows:
        text, head = file.read_text("utf-8-sig"), read_rows(file)[0]
        with file.open("a", newline="", encoding="utf8") as stream:
            stream.write("" if text.endswith("\n") else "\n")
            writer = csv.writer(
                stream, delimiter=delimiter_of(text), lineterminator="\n"
            )
            for row in rows:
                cells = dict(zip(map(str.casefold, MARKS), row))
                writer.writerow(cells.get(x.casefold(), "") for x in head)


# --- Whose it is ----------------------------------------------------------


def owners(names: Sequence[str], roster: Rows) -> dict[int, str]:
    """Give each row of a roster, by its number, the one submission that is
    that student's. Where several could be, or one could be several's, nobody
    has it."""
    head = [column.casefold() for column in roster[0]] if roster else []
    rows = [dict(zip(head, row)) for row in roster[1:]]
    rows_of = {
        name: [n for n, row in enumerate(rows, 1) if belongs(name, row)]
        for name in names
    }
    alone = {
        name: numbers[0]
        for name, numbers in rows_of.items()
        if len(numbers) == 1
    }
    times = Counter(alone.values())
    return {row: name for name, row in alone.items() if times[row] == 1}


def belongs(name: str, row: Mapping[str, str]) -> bool:
    """Tell whether a file's name is a student's: by the id that Canvas puts
    there, the name that Moodle does, or by any of them as a whole."""
    if canvas := CANVAS.fullmatch(name):
        return row.get("id") == canvas[1]
    moodle = MOODLE.fullmatch(name)
    letters = letters_of(moodle[1] if moodle else name)
    ids = () if moodle else IDS
    ids_in_row = {letters_of(row.get(column, "")) for column in ids}
    return bool(letters) and letters in ids_in_row.union(full_names(row))


def full_names(row: Mapping[str, str]) -> Iterator[str]:
    """Write a student's name in the ways that it may be written."""
    first = row.get("first name")
    last = row.get("last name") or row.get("surname")  # as older Moodles say
    pair = f"{last}, {first}" if first and last else ""
    for text in (pair, *(row.get(column, "") for column in NAMES)):
        before, _, after = text.partition(",")
        yield from (letters_of(text), letters_of(after + before))


def letters_of(text: str) -> str:
    """Leave letters, their marks and digits of a name, in small letters."""
    return "".join(filter(is_letter, text.casefold()))


def is_letter(character: str) -> bool:
    """Tell whether it is a letter, the mark of one, or a digit."""
    return unicodedata.category(character)[0] in "LMN"

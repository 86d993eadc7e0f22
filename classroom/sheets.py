"""What an instructor gets: the gradebook, a sheet a student, the class; and
whose submission is whose, by the list of a course."""

import csv
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from classroom.assignment import Assignment
from classroom.exercise import exercise
from classroom.grading import Grade, Mark, mistakes

# As Canvas exports and imports them; Moodle asks which column is whose.
HEADERS = "Student", "ID", "SIS User ID", "SIS Login ID", "Section"
DIAGNOSES = "Student", "exercise", "points", "of", "mistakes", "diagnosis"
# What Canvas and Moodle call the columns that tell students apart.
IDS = {"id", "sis user id", "sis login id", "id number", "username"}
IDS |= {"email", "email address", "e-mail address"}
NAMES = {"student", "student name", "name", "full name"}
PARTS = ("first name", "last name"), ("last name", "first name")
# How they name the files: doejane_LATE_4711_88_week3, and
# Jane Doe_1234_assignsubmission_file.
CANVAS = re.compile(r"[^_]+_(?:LATE_)?(\d+)_\d+(?:_.*)?")
MOODLE = re.compile(r"(.+?)_\d+_assignsubmission_.*")
LONGEST_NAME = 80  # bytes of a file's name
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: 0 0 1.5rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem;
  border-bottom: 1px solid #8888; }
td.n { text-align: right; white-space: nowrap; }
code { white-space: nowrap; }
.bar { display: inline-block; height: .8em; background: #3b76c4; }
.right { background: #4a8f5c; }
"""
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")

Rows = Sequence[Sequence[str]]


# --- Tables ---------------------------------------------------------------


def read_rows(file: Path) -> list[list[str]]:
    """Read a CSV, with commas or semicolons; ValueError for what is none."""
    try:
        lines = file.read_bytes().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is no CSV in UTF-8: save it as one."
        ) from error
    many = lines and lines[0].count(";") > lines[0].count(",")
    rows = csv.reader(lines, delimiter=";" if many else ",")
    found = [row for row in rows if any(row)]
    if not found:
        raise ValueError(f"{file} is empty: it needs a header at least.")
    return found


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
    own = owners([*left], roster)
    rows = []
    for number, row in enumerate(roster[1:], 1):
        points = [""] * (len(names) + 1)
        if number in own:
            points = points_of(left.pop(own[number]), names)
        rows.append([*row, *[""] * (len(head) - len(row)), *points])
    for name, each in left.items():
        identity = [safe(name), *[""] * (len(head) - 1)]
        if not roster:
            identity[3] = safe(name)
        rows.append([*identity, *points_of(each, names)])
    return [[*head, *names, assignment.title], *rows]


def points_of(each: Grade, names: Sequence[str]) -> list[str]:
    """Write the points of each exercise, "" where it is to be read; and of
    all."""
    points = {mark.exercise: points_text(mark.points) for mark in each.marks}
    total = "" if each.to_read else points_text(each.total)
    return [*(points[name] for name in names), total]


def points_text(points: float | None) -> str:
    """Write points."""
    return "" if points is None else f"{points:g}"


def diagnoses(grades: Iterable[Grade]) -> list[Sequence[str]]:
    """List a row for each student and exercise."""
    rows: list[Sequence[str]] = [DIAGNOSES]
    for each in grades:
        for one in each.marks:
            student, verdict = safe(each.submission.name), one.verdict
            points = points_text(one.points), f"{one.most:g}"
            what = safe("; ".join(verdict.mistakes)), safe(verdict.says)
            rows.append((student, one.exercise, *points, *what))
    return rows


def safe(text: str) -> str:
    """Keep a spreadsheet from taking a text for a formula."""
    text = "".join(c for c in text if c.isprintable() or c == "\n")
    return f"'{text}" if FORMULA.match(text) else text


# --- Whose it is ----------------------------------------------------------


def owners(names: Sequence[str], roster: Rows) -> dict[int, str]:
    """Give each row of a roster, by its number, the one submission that is
    that student's. Where several could be, or one could be several's, nobody
    has it."""
    found: dict[int, list[str]] = {}
    for name in names:
        rows = [
            number
            for number, row in enumerate(roster[1:], 1)
            if belongs(name, dict(zip(map(str.casefold, roster[0]), row)))
        ]
        if len(rows) == 1:
            found.setdefault(rows[0], []).append(name)
    return {n: own[0] for n, own in found.items() if len(own) == 1}


def belongs(name: str, row: dict[str, str]) -> bool:
    """Tell whether a file's name is a student's: by the id that Canvas puts
    there, the name that Moodle does, or by any of them as a whole."""
    if canvas := CANVAS.fullmatch(name):
        return row.get("id") == canvas[1]
    moodle = MOODLE.fullmatch(name)
    own = letters_of(moodle[1] if moodle else name)
    ids = set() if moodle else {row.get(column, "") for column in IDS}
    return bool(own) and own in {*map(letters_of, ids), *full_names(row)}


def full_names(row: dict[str, str]) -> set[str]:
    """Write a student's name in the ways that it may be written."""
    found = {letters_of(row.get(column, "")) for column in NAMES}
    for column in NAMES:  # Doe, Jane
        last, comma, first = row.get(column, "").partition(",")
        found |= {letters_of(first + last)} if comma else set()
    pairs = ([row.get(part, "") for part in parts] for parts in PARTS)
    return found | {letters_of("".join(pair)) for pair in pairs if all(pair)}


def letters_of(text: str) -> str:
    """Leave letters, their marks and digits of a name, in small letters."""
    return "".join(
        c for c in text.casefold() if unicodedata.category(c)[0] in "LMN"
    )


# --- Pages ----------------------------------------------------------------


def sheet(each: Grade, assignment: Assignment) -> str:
    """Write a student's sheet."""
    most = sum(assignment.points.values())
    rows = "\n".join(map(sheet_row, each.marks))
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in each.notes)
    waiting = " so far; a person reads the rest" if each.to_read else ""
    return html_page(
        f"{assignment.title}: {each.submission.name}",
        f"<p>{each.total:g} of {most:g} points{waiting}.</p>\n"
        "<table><tr><th>exercise</th><th>points</th><th>what was seen</th>"
        f"</tr>\n{rows}</table>\n{f'<ul>{notes}</ul>' if notes else ''}",
    )


def sheet_row(one: Mark) -> str:
    """Write the row of an exercise."""
    title = html.escape(exercise(one.exercise).title)
    points = points_text(one.points) or "to be read"
    return (
        f"<tr><td>{title}<br><code>{one.exercise}</code></td>"
        f'<td class="n">{points} of {one.most:g}</td>'
        f"<td>{html.escape(one.verdict.says)}</td></tr>"
    )


def class_page(grades: Sequence[Grade], assignment: Assignment) -> str:
    """Write what the class as a whole did: how often each mistake was made,
    with a bar and the number beside it."""
    parts = []
    for name, counts in mistakes(grades).items():
        most = max(counts.values())
        rows = [
            f"<tr><td>{html.escape(mistake)}</td><td class='n'>{n}</td><td>"
            f'<span class="bar{" right" if mistake == "right" else ""}" '
            f'style="width: {10 * n / most:.1f}rem"></span></td></tr>'
            for mistake, n in counts.most_common()
        ]
        title = html.escape(exercise(name).title)
        parts.append(f"<h2>{title}</h2>\n<table>{''.join(rows)}</table>")
    body = f"<p>{len(grades)} submissions.</p>\n" + "\n".join(parts)
    return html_page(f"{assignment.title}: the class", body)


def class_lines(found: Mapping[str, Counter[str]]) -> list[str]:
    """Write the same for a terminal."""
    lines = []
    for name, counts in found.items():
        lines.append(f"{name}:")
        for mistake, n in counts.most_common():
            lines.append(f"  {n:3} {'█' * min(n, 30)} {mistake}")
    return lines


def html_page(title: str, body: str) -> str:
    """Write a whole page that needs no other file."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><h1>{html.escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def file_name(name: str, taken: set[str]) -> str:
    """Make a file's name of a student's, which no other has."""
    word = re.sub(r"[^\w.-]", "_", name).lstrip(".")
    base = word.encode()[:LONGEST_NAME].decode("utf8", "ignore") or "student"
    free, n = base, 1
    while free.casefold() in taken:
        n += 1
        free = f"{base}-{n}"
    taken.add(free.casefold())
    return f"{free}.html"

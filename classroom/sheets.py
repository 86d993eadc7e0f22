"""What an instructor gets: the gradebook, a sheet a student, the class."""

import csv
import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from classroom.assignment import Assignment
from classroom.exercise import exercise
from classroom.grading import Graded, Mark, mistakes
from classroom.roster import Rows, owners

# As Canvas exports and imports them; Moodle asks which column is whose.
HEADERS = "Student", "ID", "SIS User ID", "SIS Login ID", "Section"
DIAGNOSES = "Student", "exercise", "points", "of", "mistakes", "diagnosis"
LONG = 80  # bytes of a file's name
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


def safe(text: str) -> str:
    """Keep a spreadsheet from taking a text for a formula."""
    text = "".join(c for c in text if c.isprintable() or c == "\n")
    return f"'{text}" if FORMULA.match(text) else text


def write_rows(file: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV."""
    with file.open("w", newline="", encoding="utf8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def gradebook(
    all_graded: Sequence[Graded], assignment: Assignment, roster: Rows = ()
) -> list[list[str]]:
    """Lay out the gradebook: a row a student, a column an exercise.

    `roster` is a list that Canvas or Moodle exported, with its header. Its
    columns stay, and each submission goes to the row of its student. What
    is not on it comes last.
    """
    names = [*assignment.points]
    head = list(roster[0]) if roster else list(HEADERS)
    left = {each.submission.name: each for each in all_graded}
    own = owners([*left], roster) if roster else {}
    rows = []
    for number, row in enumerate(roster[1:], 1):
        mine = left.pop(own[number]) if number in own else None
        points = points_of(mine, names) if mine else [""] * (len(names) + 1)
        rows.append([*row, *[""] * (len(head) - len(row)), *points])
    for name, each in left.items():
        identity = [safe(name), *[""] * (len(head) - 1)]
        if not roster:
            identity[3] = safe(name)
        rows.append([*identity, *points_of(each, names)])
    return [[*head, *names, assignment.title], *rows]


def points_of(each: Graded, names: Sequence[str]) -> list[str]:
    """Write the points of each exercise, "" where it is to be read; and of
    all."""
    points = {mark.exercise: written(mark.points) for mark in each.marks}
    total = "" if each.to_read else written(each.total)
    return [*(points[name] for name in names), total]


def written(points: float | None) -> str:
    """Write points."""
    return "" if points is None else f"{points:g}"


def diagnoses(all_graded: Iterable[Graded]) -> list[Sequence[str]]:
    """List a row for each student and exercise."""
    pairs = ((each, one) for each in all_graded for one in each.marks)
    return [DIAGNOSES, *(diagnosis(each, one) for each, one in pairs)]


def diagnosis(each: Graded, one: Mark) -> Sequence[str]:
    """Write the row of one answer."""
    student, verdict = safe(each.submission.name), one.verdict
    points = written(one.points), f"{one.most:g}"
    what = safe("; ".join(verdict.mistakes)), safe(verdict.says)
    return student, one.exercise, *points, *what


def page(title: str, body: str) -> str:
    """Write a whole page that needs no other file."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><h1>{html.escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def sheet(each: Graded, assignment: Assignment) -> str:
    """Write a student's sheet."""
    most = sum(assignment.points.values())
    rows = "\n".join(map(sheet_row, each.marks))
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in each.notes)
    waiting = " so far; a person reads the rest" if each.to_read else ""
    return page(
        f"{assignment.title}: {each.submission.name}",
        f"<p>{each.total:g} of {most:g} points{waiting}.</p>\n"
        "<table><tr><th>exercise</th><th>points</th><th>what was seen</th>"
        f"</tr>\n{rows}</table>\n{f'<ul>{notes}</ul>' if notes else ''}",
    )


def sheet_row(one: Mark) -> str:
    """Write the row of an exercise."""
    title = html.escape(exercise(one.exercise).title)
    points = "to be read" if one.points is None else written(one.points)
    return (
        f"<tr><td>{title}<br><code>{one.exercise}</code></td>"
        f'<td class="n">{points} of {one.most:g}</td>'
        f"<td>{html.escape(one.verdict.says)}</td></tr>"
    )


def class_page(all_graded: Sequence[Graded], assignment: Assignment) -> str:
    """Write what the class as a whole did, mistake by mistake."""
    found = mistakes(all_graded)
    parts = [
        f"<h2>{html.escape(exercise(name).title)}</h2>\n{bars(counts)}"
        for name, counts in found.items()
    ]
    head = f"<p>{len(all_graded)} submissions.</p>\n"
    return page(f"{assignment.title}: the class", head + "\n".join(parts))


def bars(counts: Counter[str]) -> str:
    """Draw how often each mistake was made, with the number beside it."""
    most = max(counts.values())
    rows = [
        f"<tr><td>{html.escape(name)}</td><td class='n'>{n}</td><td>"
        f'<span class="bar{" right" if name == "right" else ""}" '
        f'style="width: {10 * n / most:.1f}rem"></span></td></tr>'
        for name, n in counts.most_common()
    ]
    return f"<table>{''.join(rows)}</table>"


def class_lines(found: Mapping[str, Counter[str]]) -> list[str]:
    """Write the same for a terminal."""
    lines = []
    for name, counts in found.items():
        lines.append(f"{name}:")
        for mistake, n in counts.most_common():
            lines.append(f"  {n:3} {'█' * min(n, 30)} {mistake}")
    return lines


def file_name(name: str, taken: set[str]) -> str:
    """Make a file's name of a student's, which no other has."""
    word = re.sub(r"[^\w.-]", "_", name).lstrip(".")
    base = word.encode()[:LONG].decode("utf8", "ignore") or "student"
    free, n = base, 1
    while free.casefold() in taken:
        n += 1
        free = f"{base}-{n}"
    taken.add(free.casefold())
    return f"{free}.html"

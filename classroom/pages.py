"""What an instructor gets as pages: a sheet a student, the class on one
screen, and the explanations that a person reads."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader

from classroom.assignment import Assignment, statement
from classroom.exercise import exercise
from classroom.grading import Grade, Mark, StudentsByMistake, mistakes
from classroom.judging import RULE
from classroom.sheets import TypedMarks, is_letter, points_text, safe

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "pages"),
    autoescape=True,  # what students write is text
    trim_blocks=True,
)
TEMPLATES.globals["exercise"] = exercise
TEMPLATES.filters["points"] = lambda points: points_text(points) or "?"
LONGEST_NAME = 80  # bytes of a file's name
LOWEST = 3  # students who are named in the terminal
TO_READ, CLASS = "to-read.html", "the-class.html"


class Part(NamedTuple):
    """What a class made of an exercise, which has a place in the notebook: a
    mark of it, the mean of the points, and the mistakes."""

    place: int
    mark: Mark
    average: str
    made: StudentsByMistake


def file_names(names: Sequence[str]) -> list[str]:
    """Make a file's name of each student's, which no other has."""
    taken, files = {TO_READ, CLASS}, []
    for name in names:
        word = "".join(c if is_letter(c) or c in ".-" else "_" for c in name)
        short = word.lstrip(".").encode()[:LONGEST_NAME]
        base = short.decode("utf8", "ignore") or "student"
        free, n = f"{base}.html", 1
        while free.casefold() in taken:
            n += 1
            free = f"{base}-{n}.html"
        taken.add(free.casefold())
        files.append(free)
    return files


def sheet(grade: Grade, assignment: Assignment) -> str:
    """Write a student's sheet."""
    page = TEMPLATES.get_template("sheet.html")
    return page.render(grade=grade, assignment=assignment, rule=RULE)


def class_page(
    grades: Sequence[Grade], assignment: Assignment, files: Sequence[str]
) -> str:
    """Write who has how many points for what, the fewest first; and below it
    for each exercise, the hardest first, who made which mistake."""
    return TEMPLATES.get_template(CLASS).render(
        assignment=assignment,
        summary=summary(grades, assignment),
        mean=mean(each.total for each in grades),
        parts=class_parts(grades),
        rows=sorted(zip(grades, files), key=lambda row: row[0].total),
        prose=any(exercise(name).rubric for name in assignment.points),
    )


def class_parts(grades: Sequence[Grade]) -> list[Part]:
    """Give what the class made of each exercise, the hardest first; at the
    end stand those that a person has not read to the end."""
    students, parts = mistakes(grades), []
    for place, marks in enumerate(zip(*(each.marks for each in grades))):
        points = [mark.points for mark in marks if mark.points is not None]
        read = len(points) == len(marks)
        share = mean(points) / marks[0].most if read else 2
        shown = f"{mean(points):.1f}" if share < 2 else "–"
        part = Part(place, marks[0], shown, students[marks[0].exercise])
        parts.append((share, part))
    return [part for _, part in sorted(parts, key=lambda each: each[0])]


def class_lines(
    grades: Sequence[Grade], assignment: Assignment
) -> Iterator[str]:
    """Write the same for a terminal, shorter."""
    yield summary(grades, assignment)
    lowest = sorted(grades, key=lambda each: each.total)[:LOWEST]
    who = (f"{each.submission.name} {each.total:g}" for each in lowest)
    yield f"lowest: {', '.join(who)}"
    for part in class_parts(grades):
        mark = part.mark
        yield f"{mark.exercise}: mean {part.average} of {mark.most:g}"
        for mistake, names in part.made.items():
            bar = "█" * min(len(names), 30)
            yield f"  {len(names):3} {bar} {mistake}"


def summary(grades: Sequence[Grade], assignment: Assignment) -> str:
    """Say how many there are, their median, and how much is to be read."""
    middle = median(each.total for each in grades)
    left = sum(len(each.to_read) for each in grades)
    rest = f" so far; explanations to be read: {left}" if left else ""
    shown = f"{middle:g} of {assignment.most:g}"
    return f"submissions: {len(grades)}, median {shown}{rest}."


def reading_page(
    grades: Sequence[Grade],
    typed: TypedMarks,
    assignment: Assignment,
    file: Path,
) -> str:
    """Write all explanations, question by question, in the order of the rows
    of `file`, into which their points are typed."""
    questions = []
    for marks in zip(*(each.marks for each in grades)):
        asked, answers, without = exercise(marks[0].exercise), {}, []
        for each, mark in zip(grades, marks):
            name = each.submission.name
            if typed_mark := typed.get((safe(name), asked.name)):
                answers[typed_mark.row] = name, mark
            else:
                without.append(name)
        if asked.rubric:
            text = statement(asked)
            questions.append((marks[0], text, answers, without))
    page = TEMPLATES.get_template(TO_READ)
    return page.render(assignment=assignment, file=file, questions=questions)

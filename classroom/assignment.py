"""Assignments: which exercises, for how many points, from which seed; and the
notebook that students get."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classroom.exercise import Exercise, exercise, exercises

HOUSE = Path(__file__).parents[1]
SHELF = HOUSE / "chapters" / "exercises"
POINTS = 10.0
CHECK = re.compile(r'\bcheck\("(\w+)"')
NUMBER = re.compile(r"^## \d+ · ")
HEADING = re.compile(r"^(?=## )", re.MULTILINE)
FOLD = re.compile(
    r"\n*<details>\s*<summary>A solution.*?</details>", re.DOTALL
)
INTRO = """# {title}

Write each answer where the `...` stands, and run its cell: `check` tries it
and says what is wrong. It sends nothing anywhere and gives no points. These
are given on other sizes and numbers than `check` takes, so an answer that is
right for every size is the only one worth writing.

In Colab, choose *File → Save a copy in Drive* before you begin, or your work
is lost when you close it. To hand in, choose *File → Download → Download
.ipynb*, and upload that file where your course collects it. Do not rename
functions or variables, and leave the names in `check(...)` as they are.

| exercise | points |
|---|---|
{rows}
"""


@dataclass(frozen=True)
class Assignment:
    """A title, a seed, and the points of each exercise by its name."""

    title: str
    seed: str
    points: Mapping[str, float]

    @property
    def draw(self) -> str:
        """What the sizes and numbers are drawn from: never those of `check`,
        whatever the seed."""
        return f"graded {self.seed}"

    @property
    def exercises(self) -> list[Exercise]:
        """The exercises, in order."""
        return [exercise(name) for name in self.points]

    def text(self) -> str:
        """Write what grading needs, as JSON; students do not get it."""
        about: dict[str, Any] = {"title": self.title, "seed": self.seed}
        about["points"] = dict(self.points)
        return json.dumps(about, indent=2) + "\n"


def load(file: Path) -> Assignment:
    """Read an assignment; ValueError for a file that is none."""
    try:
        data = json.loads(file.read_text("utf8"))
        points = {str(k): float(x) for k, x in data["points"].items()}
        found = Assignment(str(data["title"]), str(data["seed"]), points)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{file} is no assignment: give the .json that `classroom assign` "
            "wrote beside the students' notebook."
        ) from error
    assert found.exercises  # each is one of ours
    return found


def chosen(words: Sequence[str]) -> list[str]:
    """Find exercises by name; a number is a chapter, and stands for those of
    its exercises that have no solution in the book.

    Raises ValueError for a name that is none, and for a chapter without any.
    """
    found: list[str] = []
    for word in words:
        if not word.isdigit():
            found.append(exercise(word).name)
            continue
        own = [n for n, x in exercises().items() if x.chapter == int(word)]
        some = [n for n in own if exercises()[n].assignable]
        if not some:
            raise ValueError(
                f"chapter {word} has no exercise without a solution: name "
                f"one of its others ({', '.join(own) or 'there is none'})."
            )
        found += some
    return list(dict.fromkeys(found))


def pointed(names: Sequence[str], words: str) -> dict[str, float]:
    """Read the points: "10" for each, or "alibi_bias=10,dealt_out=5"."""
    points = dict.fromkeys(names, POINTS)
    # What is for all comes first, wherever it stands.
    for word in sorted(filter(None, words.split(",")), key=lambda w: "=" in w):
        name, equals, number = word.rpartition("=")
        given = positive(number)
        if equals and name not in points:
            raise ValueError(f"--points {word}: {name} is not assigned.")
        points |= {name: given} if equals else dict.fromkeys(names, given)
    return points


def positive(word: str) -> float:
    """Read points: a number above 0."""
    try:
        number = float(word)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError(
            f"--points {word}: give a number above 0, or NAME=NUMBER, with "
            "commas between."
        )
    return number


def student_notebook(assignment: Assignment) -> dict[str, Any]:
    """Make the notebook that students get: the setup, and each exercise as
    the book has it, without a solution."""
    rows = "\n".join(
        f"| `{name}` | {points:g} |"
        for name, points in assignment.points.items()
    )
    cells = [markdown(INTRO.format(title=assignment.title, rows=rows))]
    parts = [read_part(each) for each in assignment.exercises]
    cells += [parts[0].setup]
    cells += list({c["source"]: c for p in parts for c in p.imports}.values())
    for number, part in enumerate(parts, 1):
        heading = part.cells[0]["source"]
        part.cells[0]["source"] = NUMBER.sub(f"## {number} · ", heading)
        cells += part.cells
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel | {"language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@dataclass
class Part:
    """The cells of one exercise, and those that come before all of them."""

    setup: dict[str, Any]
    imports: list[dict[str, Any]]
    cells: list[dict[str, Any]]


def read_part(each: Exercise) -> Part:
    """Find an exercise in the notebook of its chapter: the section, from
    heading to heading, that calls `check` with its name.

    Raises ValueError where the book's notebooks are not there.
    """
    files = sorted(SHELF.glob(f"{each.chapter:02}_*.ipynb"))
    if not files:
        raise ValueError(
            f"the notebook of chapter {each.chapter} is not in {SHELF}: run "
            "this in a copy of the book's repository."
        )
    head, *rest = sections(json.loads(files[0].read_text("utf8"))["cells"])
    own = next(s for s in rest if each.name in names_checked(s))
    first, *imports = [cell for cell in head if cell["cell_type"] == "code"]
    return Part(first, imports, [without_solution(cell) for cell in own])


def sections(cells: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Cut a notebook at its headings, wherever they stand in a cell."""
    found: list[list[dict[str, Any]]] = [[]]
    for cell in cells:
        source, about = "".join(cell["source"]), cell["metadata"]
        if cell["cell_type"] == "code":
            found[-1].append(code(source, about))
            continue
        before, *after = HEADING.split(source)
        found[-1] += [markdown(before, about)] if before.strip() else []
        found += [[markdown(text, about)] for text in after]
    return found


def names_checked(cells: list[dict[str, Any]]) -> list[str]:
    """List the names that some cells check."""
    return CHECK.findall("\n".join(cell["source"] for cell in cells))


def without_solution(cell: dict[str, Any]) -> dict[str, Any]:
    """Leave the fold with a solution out of a cell."""
    return cell | {"source": FOLD.sub("", cell["source"])}


def markdown(
    source: str, metadata: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Make a cell of text."""
    about = metadata or {}
    return {"cell_type": "markdown", "metadata": about, "source": source}


def code(source: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """Make a cell of code without outputs."""
    return {
        "cell_type": "code",
        "metadata": metadata,
        "source": source,
        "execution_count": None,
        "outputs": [],
    }

"""Assignments: which exercises, for how many points, from which seed; and the
notebook that students get."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from jinja2 import Template

from classroom.cases import Draw
from classroom.exercise import CHECK, Exercise, exercise, exercises
from classroom.judging import RULE
from classroom.mistakes import edited_code

POINTS = 10.0
NUMBER = re.compile(r"^## \d+ · ")
BEFORE_HEADING = re.compile(r"^(?=## )", re.MULTILINE)
FOLD = re.compile(
    r"\n*<details>\s*<summary>A solution.*?</details>", re.DOTALL
)
HEAD_LINE = re.compile(r"## .*\n+(?:<data.*?</data>)?")
INTRO = Path(__file__).parent / "pages" / "notebook.md"

Cell = dict[str, Any]


@dataclass(frozen=True)
class Assignment:
    """A title, a seed, and the points of each exercise by its name. Sizes and
    numbers are drawn from the seed, too, or from another word."""

    title: str
    seed: str
    points: Mapping[str, float]
    numbers: str = ""

    @property
    def draw(self) -> str:
        """What the sizes and numbers are drawn from: never those of `check`,
        whatever the seed."""
        return f"graded {self.numbers or self.seed}"

    @property
    def exercises(self) -> list[Exercise]:
        """The exercises, in order; a hunt is for the bugs of the seed."""
        each = map(exercise, self.points)
        return [planted(x, self.seed) if x.kind == "hunt" else x for x in each]

    @property
    def most(self) -> float:
        """The points of all."""
        return sum(self.points.values())

    def text(self) -> str:
        """Write what grading needs, as JSON; students do not get it."""
        return json.dumps(asdict(self), indent=2) + "\n"


def load_assignment(file: Path) -> Assignment:
    """Read an assignment; ValueError for a file that is none."""
    try:
        data = json.loads(file.read_text("utf8"))
        points = {str(k): float(x) for k, x in data["points"].items()}
        assignment = Assignment(str(data["title"]), str(data["seed"]), points)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{file} is not an assignment: give the .json that `classroom "
            "assign` wrote beside the students' notebook."
        ) from error
    assert assignment.exercises  # each is one of ours
    return assignment


def find_exercises(words: Sequence[str]) -> list[str]:
    """Find exercises by name; a number is a chapter, and stands for those of
    its exercises that have no solution in the book; the name of an assignment
    stands for its parts.

    Raises ValueError for a name that is none, and for a chapter without any.
    """
    groups: dict[str, list[str]] = {name: [name] for name in exercises()}
    for name, each in exercises().items():
        page = Path(each.file).stem.partition("_")[2]
        if each.points or each.assignable:
            group = page if each.points else str(each.chapter)
            groups.setdefault(group, []).append(name)
    for word in words:
        if word not in groups and word.isdigit():
            raise ValueError(f"chapter {word} has no exercise for homework.")
    named = (groups.get(word) or [exercise(word).name] for word in words)
    return list(dict.fromkeys(chain(*named)))


def parse_points(names: Sequence[str], words: str) -> dict[str, float]:
    """Read the points: "10" for each, or "alibi_bias=10,dealt_out=5"; a part
    of an assignment has its own."""
    points = {name: exercises()[name].points or POINTS for name in names}
    pairs = [word.rpartition("=") for word in words.split(",") if word]
    # What is for all comes first, wherever it stands.
    for name, equals, number in sorted(pairs, key=lambda pair: pair[1]):
        named = [name] if equals else names
        try:
            points |= dict.fromkeys(named, float(number))
        except ValueError:
            named = []
        known = named and {*named} <= {*names}
        if not known or not 0 < points[named[0]] < float("inf"):
            raise ValueError(
                f"--points {words}: give a number above 0, or NAME=NUMBER of "
                "what is assigned, with commas between."
            )
    return points


def student_notebook(assignment: Assignment) -> dict[str, Any]:
    """Make the notebook that students get: an assignment's page, or a sheet
    of exercises."""
    is_page = assignment.exercises[0].points
    cells = (page_cells if is_page else sheet_cells)(assignment)
    kernel = {"name": "python3", "display_name": "Python 3"}
    return {
        "cells": [c | {"id": f"cell-{i}"} for i, c in enumerate(cells)],
        "metadata": {"kernelspec": kernel | {"language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def page_cells(assignment: Assignment) -> list[Cell]:
    """Give the cells of an assignment's page, with the file of its seed."""
    parts = book_sections(assignment.exercises[0])
    cells = [cell for part in parts for cell in part]
    for hunt in (x for x in assignment.exercises if x.kind == "hunt"):
        shown = stranger(planted(exercise(hunt.name)))
        for cell in cells:
            cell["source"] = cell["source"].replace(shown, stranger(hunt))
    return cells


def planted(hunt: Exercise, seed: str = "book") -> Exercise:
    """Leave of a hunt's edits one from each shelf, the word before a
    sentence's colon; without a seed, those of the file on the page."""
    draw = Draw(f"{hunt.name} {seed}")
    shelves = groupby(hunt.edits, lambda edit: edit[-1].partition(":")[0])
    edits = tuple(draw.choice(*shelf) for _, shelf in shelves)
    return replace(hunt, edits=edits)


def stranger(hunt: Exercise) -> str:
    """Write the file of a hunt, with all of its bugs in it."""
    code = edited_code(hunt, hunt.edits).strip()
    return f'{code}\ncheck("{hunt.name}", {hunt.name})'


def sheet_cells(assignment: Assignment) -> list[Cell]:
    """Give the setup, what the exercises import, and each exercise as the
    book has it, without a solution."""
    intro = Template(INTRO.read_text("utf8")).render(
        title=assignment.title,
        points=assignment.points,
        rule=RULE,
        read=any(each.rubric for each in assignment.exercises),
    )
    heads, bodies = zip(*map(exercise_cells, assignment.exercises))
    imports = {cell["source"]: cell for head in heads for cell in head[1:]}
    cells = [make_cell("markdown", intro), heads[0][0], *imports.values()]
    for number, (first, *rest) in enumerate(bodies, 1):
        source = NUMBER.sub(f"## {number} · ", first["source"])
        cells += [first | {"source": source}, *rest]
    return cells


def exercise_cells(each: Exercise) -> tuple[list[Cell], list[Cell]]:
    """Find an exercise in the notebook of its chapter: the code that stands
    before all of them, and the section that calls `check` with its name.

    Raises ValueError where the notebook has none.
    """
    head, *rest = book_sections(each)
    for section in rest:
        text = "\n".join(cell["source"] for cell in section)
        if each.name in CHECK.findall(text):
            break
    else:
        raise ValueError(
            f"{each.name} has no section in {each.file}: write one that calls "
            f'check("{each.name}", ...), and run `make notebooks`.'
        )
    code = [cell for cell in head if cell["cell_type"] == "code"]
    return code, [c | {"source": FOLD.sub("", c["source"])} for c in section]


def statement(each: Exercise) -> str:
    """Find what an exercise asks, in Markdown; where the book's notebooks
    are not there, say what it teaches."""
    try:
        first = exercise_cells(each)[1][0]["source"]
    except ValueError:
        return each.teaches
    return HEAD_LINE.sub("", first).strip()


def book_sections(each: Exercise) -> list[list[Cell]]:
    """Cut an exercise's notebook at its headings, wherever they stand in a
    cell. Raises ValueError where the notebook is not there."""
    file = Path(each.file).with_suffix(".ipynb")
    if not file.exists():
        raise ValueError(
            f"{each.name}: {file} is not there: run this in a copy of the "
            "book's repository, after `make notebooks`."
        )
    parts: list[list[Cell]] = [[]]
    for cell in json.loads(file.read_text("utf8"))["cells"]:
        source, about = "".join(cell["source"]), cell["metadata"]
        if cell["cell_type"] == "code":
            parts[-1].append(make_cell("code", source, about))
            continue
        before, *after = BEFORE_HEADING.split(source)
        if before.strip():
            parts[-1].append(make_cell("markdown", before, about))
        parts += [[make_cell("markdown", text, about)] for text in after]
    return parts


def make_cell(
    kind: str, source: str, metadata: Mapping[str, Any] | None = None
) -> Cell:
    """Make a cell of text, or of code without outputs."""
    cell: Cell = {"cell_type": kind, "source": source}
    cell["metadata"] = metadata or {}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell

"""Written answers, right and wrong, to the exercises of the book.

A wrong one stands there if it says something that no edit of its exercise
does, or as a witness that an edit finds what a student would write. Those to
exercises that have no solution in the book lie packed, so that no search
finds them: `tests/classroom/assignable.zip`.
"""

import linecache
import re
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import nbformat

from classroom.assignment import Assignment, find_exercises, parse_points
from classroom.exercise import (
    CHECK,
    exercise,
    exercises,
    notebook_sections,
    statement_files,
)
from tests.helpers.project import EXERCISES, ROOT

FOLDER = ROOT / "tests" / "classroom"
SURVIVORS = "survivors.toml"
PACKED = FOLDER / "assignable.zip"
# What the exercise notebooks import, and what students do.
HEAD = """\
import math
import torch
import torch.nn.functional as F
from torch import nn
"""


def reference(name: str) -> str:
    """The code of an assignment's reference run, which lies packed."""
    file = statement_files()[-1].with_name("reference.zip")
    with zipfile.ZipFile(file) as files:
        return files.read(f"{name}.py").decode()


def assigned(*names: str) -> Assignment:
    """An assignment, or some parts, with their own points."""
    return Assignment("", "autumn", parse_points(find_exercises(names), ""))


class Answer(NamedTuple):
    """An answer: the code, and a part of what should be said of it."""

    exercise: str
    says: str
    code: str

    @property
    def right(self) -> bool:
        return not self.says

    def value(self) -> Any:
        """Run the code, after what the notebooks import."""
        names = {"__name__": "student"}
        text = f"{HEAD}\n{self.code}\n"
        file = f"<{self.exercise}>"
        linecache.cache[file] = len(text), None, text.splitlines(True), file
        exec(compile(text, file, "exec"), names)
        return names[self.exercise]


@cache
def written_answers() -> list[Answer]:
    """List the written answers, those that lie packed last."""
    plain = [file.read_text("utf8") for file in FOLDER.glob("answers/*.toml")]
    return [a for text in [*plain, *packed_texts()] for a in read(text)]


def packed_texts() -> list[str]:
    """Unpack the answers to what has no solution in the book."""
    with zipfile.ZipFile(PACKED) as files:
        names = sorted({*files.namelist()} - {SURVIVORS})
        return [files.read(name).decode() for name in names]


def read(text: str) -> Iterator[Answer]:
    """Read the answers of a file: of each exercise the right ones, and the
    wrong ones by what is said of them."""
    for name, answers in tomllib.loads(text).items():
        says = {"": answers["right"]} | answers.get("wrong", {})
        for words, codes in says.items():
            for code in [codes] if isinstance(codes, str) else codes:
                yield Answer(name, words, code)


def answers_to(name: str, right: bool = True) -> list[Answer]:
    """List the right or the wrong answers to one exercise."""
    return [
        answer
        for answer in written_answers()
        if (answer.exercise, answer.right) == (name, right)
    ]


@cache
def sections() -> dict[str, str]:
    """Give the text of each exercise by its name: from heading to heading."""
    texts = {}
    for file in EXERCISES:
        cells = nbformat.read(file, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells)
        for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
            texts |= dict.fromkeys(CHECK.findall(section), section)
    return texts


def solutions() -> list[Answer]:
    """List the solutions that unfold in the notebooks, each after what its
    notebook imports."""
    return [
        Answer(name, "", f"{imports}\n{code}")
        for file in statement_files()
        for name, (_, code, imports) in notebook_sections(
            file.read_text("utf8")
        )
        if code and name in exercises() and not exercise(name).rubric
    ]

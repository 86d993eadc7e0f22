"""Written answers, right and wrong, to the exercises of the book.

Those to exercises that have no solution in the book lie packed, so that no
search finds them: `tests/classroom/assignable.zip`.
"""

import linecache
import re
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import nbformat

from classroom.exercise import (
    exercise,
    exercises,
    notebook_sections,
    statement_files,
)
from tests.helpers.project import EXERCISES, ROOT

FOLDER = ROOT / "tests" / "classroom"
SURVIVORS = "survivors.toml"
PACKED = FOLDER / "assignable.zip"
CHECK = re.compile(r'check\("(\w+)"')


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


# What the exercise notebooks import, and what students do.
HEAD = """\
import math
import torch
import torch.nn.functional as F
from torch import nn
"""


def written_answers() -> list[Answer]:
    """List the written answers, those that lie packed too."""
    texts = [file.read_text("utf8") for file in FOLDER.glob("answers/*.toml")]
    return [a for text in [*texts, *homework()] for a in read(text)]


def homework() -> list[str]:
    """Unpack the answers to what has no solution in the book."""
    with zipfile.ZipFile(PACKED) as files:
        names = sorted({*files.namelist()} - {SURVIVORS})
        return [files.read(name).decode() for name in names]


def read(text: str) -> Iterator[Answer]:
    """Read the answers of a file: a list for each exercise."""
    for name, answers in tomllib.loads(text).items():
        for each in answers:
            yield Answer(name, each.get("says", ""), each["code"])


def all_of(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@cache
def survivors() -> set[tuple[str, str, str]]:
    """The small faults that no judge could see: exercise, before and after;
    those of what has no solution lie packed, too."""
    with zipfile.ZipFile(PACKED) as files:
        texts = [files.read(SURVIVORS).decode()]
    texts.append((FOLDER / SURVIVORS).read_text("utf8"))
    return {
        (name, each["before"], after)
        for text in texts
        for name, found in tomllib.loads(text).items()
        for each in found
        for after in all_of(each["after"])
    }


@cache
def sections() -> dict[str, str]:
    """Give the text of each exercise by its name: from heading to heading."""
    found = {}
    for file in EXERCISES:
        cells = nbformat.read(file, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells)
        for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
            for name in CHECK.findall(part):
                found[name] = part
    return found


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

"""Assignments of several parts: where they are found, what is handed out,
and how a hunt for bugs and the results of runs are judged.

    python -m classroom.course bug_hunt autumn

writes what `classroom grade` reads: the points of each part, and the seed.
"""

import sys
import tomllib
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from classroom.assignment import Assignment
from classroom.cases import Draw
from classroom.exercise import (
    Exercise,
    notebook_sections,
    read_exercise,
    shelf,
)
from classroom.mistakes import answer_of, edited_code

PACKED = "reference.zip"
Tables = dict[str, dict[str, Any]]


def assignments_folder() -> Path:
    """Find the folder of the assignments, beside that of the exercises."""
    return shelf().with_name("assignments")


@cache
def packed(file: str) -> str:
    """Read a packed file, or give "" where there is none."""
    with zipfile.ZipFile(assignments_folder() / PACKED) as files:
        known = file in files.namelist()
        return files.read(file).decode() if known else ""


@cache
def tables() -> dict[Path, Tables]:
    """Read what stands beside each statement, and what lies packed. A part
    of a packed `file` has that file as its right code."""
    found = {}
    for statement in sorted(assignments_folder().glob("[0-9]*.md")):
        beside = statement.with_suffix(".toml")
        texts = packed(beside.name), beside.read_text("utf8")
        own: Tables = tomllib.loads("\n".join(texts))
        for name, data in own.items():
            if file := data.pop("file", ""):
                code = packed(file)
                data["right"] = f"{code}\n\n{name} = {data.pop('what')}\n"
                data["names"] = code + packed("drawing.py")
        found[statement] = own
    return found


@cache
def parts() -> dict[str, Exercise]:
    """List the parts of all assignments by their names."""
    found = {}
    for statement, own in tables().items():
        sections = dict(notebook_sections(statement.read_text("utf8")))
        for name, data in own.items():
            told = {"names": "", **data}
            del told["points"]
            found[name] = read_exercise(name, told, statement, sections)
    return found


def assignment(name: str, seed: str) -> Assignment:
    """Gather the parts of an assignment, with their points."""
    statements = {x.stem.partition("_")[2]: x for x in tables()}
    if name not in statements:
        raise ValueError(f"{name=} is none of {', '.join(statements)}.")
    own = tables()[statements[name]]
    points = {part: float(data["points"]) for part, data in own.items()}
    return Assignment(name, seed, points)


# --- What is judged otherwise ---------------------------------------------


def hunted(left: int) -> tuple[float, str]:
    """Tell how many of three bugs are left, none where that is not known:
    the share of the points, and what is said, which names no bug."""
    if not left:
        says = "either all three bugs are left, or something is changed that "
        return 0, says + "was right, or a wrong line is now wrong otherwise"
    says = f"{3 - left} of 3 bugs are mended, and all else is as it was"
    return (3 - left) / 3, says


def result_fault(exercise: Exercise, result: Any) -> str:
    """Say what does not hold of a result, or ""."""
    try:
        return str(answer_of(exercise)(result))
    except (TypeError, KeyError, ValueError, IndexError, AttributeError):
        return "it has not the form that the statement asks for"


# --- What is handed out ---------------------------------------------------


def planted(hunt: Exercise, seed: str) -> Sequence[tuple[str, ...]]:
    """Draw a bug from each shelf: the word before a sentence's colon."""
    shelves: dict[str, list[tuple[str, ...]]] = {}
    for edit in hunt.edits:
        shelves.setdefault(edit[-1].partition(":")[0], []).append(edit)
    draw = Draw(f"{hunt.name} {seed}")
    return [draw.choice(*edits) for edits in shelves.values()]


def stranger(hunt: Exercise, edits: Sequence[tuple[str, ...]]) -> str:
    """Write the file with these bugs in it."""
    return edited_code(hunt, edits).rpartition(f"\n\n{hunt.name} = ")[0]


def hand_out(name: str, seed: str) -> None:
    """Write an assignment's JSON; of a hunt, the stranger's file as well,
    and print which bugs are in it."""
    given = assignment(name, seed)
    Path(f"{name}.json").write_text(given.text(), "utf8")
    print(f"{name}.json: for you; `classroom grade` reads it")
    for hunt in (x for x in given.exercises if x.kind == "hunt"):
        edits = planted(hunt, given.draw)
        Path("stranger.py").write_text(stranger(hunt, edits), "utf8")
        print("stranger.py: for the students; its wrong lines are")
        for edit in edits:
            print(f"  {edit[1]}\n    {edit[-1]}")


if __name__ == "__main__":
    hand_out(*sys.argv[1:])

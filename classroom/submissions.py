"""Submissions: the notebooks that came back, read without running them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from classroom.values import clean

LARGEST = 20 * 2**20  # bytes of a notebook
LONGEST_LABEL = 120  # characters of a student's name
SUFFIXES = ".ipynb", ".py"
UNREADABLE = ValueError, TypeError, KeyError, AttributeError


@dataclass(frozen=True)
class Submission:
    """A student's name as the file or folder has it, and the code in it; or
    what is wrong with the file."""

    name: str
    cells: tuple[str, ...] = ()
    wrong: str = ""


def submissions(folder: Path) -> list[Submission]:
    """Read what lies in a folder: a notebook, or a folder with one, for each
    student. Raises ValueError for a folder with nothing in it."""
    if not folder.is_dir():
        raise ValueError(
            f"{folder} is no folder: give the one with the "
            "students' notebooks in it."
        )
    found = [
        load_submission(printable_name(name), files)
        for name, files in by_student(folder)
    ]
    if not found:
        raise ValueError(
            f"{folder} has no submission: give the folder with "
            "the students' notebooks in it."
        )
    return found


def printable_name(name: str) -> str:
    """Write a file's name so that it can be printed, whatever is in it."""
    text = name.encode("utf8", "surrogateescape").decode("utf8", "replace")
    return clean(text, LONGEST_LABEL) or "(a name that cannot be printed)"


def by_student(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """List the files of each student: each thing in the folder is one's.
    Names are told apart as a file system may, and those such as
    .ipynb_checkpoints are nobody's."""
    for place in sorted(folder.iterdir()):
        if place.name.startswith("."):
            continue
        if place.is_dir() and not place.is_symlink():
            inside = sorted(p.relative_to(place) for p in place.rglob("*"))
            own = [
                place / path
                for path in inside
                if path.suffix in SUFFIXES
                and not any(
                    x.startswith((".", "__MACOSX")) for x in path.parts
                )
            ]
            yield place.name, own
        else:
            alike = [p for p in folder.iterdir() if stem(p) == stem(place)]
            yield place.stem if len(alike) == 1 else place.name, [place]


def stem(path: Path) -> str:
    """The name by which students are told apart."""
    return (path.name if path.is_dir() else path.stem).casefold()


def load_submission(name: str, files: list[Path]) -> Submission:
    """Read the first file; whatever is in it, there is a submission."""
    cells: tuple[str, ...] = ()
    if not files:
        return Submission(name, wrong="there is no notebook in the folder")
    file, wrong = files[0], ""
    if file.is_symlink() or not file.is_file():
        wrong = f"{file.name} is no file, but a link"
    elif file.suffix not in SUFFIXES:
        wrong = f"{file.name} is no notebook (.ipynb)"
    elif (size := file.stat().st_size) > LARGEST:
        wrong = f"{file.name} has {size // 2**20} MB: at most "
        wrong += f"{LARGEST // 2**20} are read"
    else:
        try:
            cells = read_cells(file)
            if len(files) > 1:
                wrong = f"of {len(files)} files, {file.name} was graded"
        except (*UNREADABLE, RecursionError):
            wrong = (
                f"{file.name} cannot be read: it is damaged, or no notebook"
            )
    return Submission(name, cells, wrong)


def read_cells(file: Path) -> tuple[str, ...]:
    """Give the source of each cell of code; a .py file is one."""
    text = file.read_bytes().decode("utf8")
    if file.suffix == ".py":
        return (text,)
    return tuple(
        "".join(cell["source"])
        for cell in json.loads(text)["cells"]
        if cell["cell_type"] == "code"
    )

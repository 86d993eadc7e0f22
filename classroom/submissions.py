"""Submissions: the notebooks that came back, read without running them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from classroom.values import clean

LARGEST = 20 * 2**20  # bytes of a notebook
LONGEST = 120  # characters of a name
KINDS = ".ipynb", ".py"


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
    found = [read(shown(name), files) for name, files in grouped(folder)]
    if not found:
        raise ValueError(
            f"{folder} has no submission: give the folder with "
            "the students' notebooks in it."
        )
    return found


def shown(name: str) -> str:
    """Write a file's name so that it can be printed, whatever is in it."""
    text = name.encode("utf8", "surrogateescape").decode("utf8", "replace")
    return clean(text, LONGEST) or "(a name that cannot be printed)"


def grouped(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """List the files of each student: each thing in the folder is one's."""
    for place in sorted(folder.iterdir()):
        if place.name.startswith("."):
            continue
        if place.is_dir() and not place.is_symlink():
            inside = sorted(p.relative_to(place) for p in place.rglob("*"))
            own = [p for p in inside if p.suffix in KINDS and not hidden(p)]
            yield place.name, [place / p for p in own]
        else:
            alike = [p for p in folder.iterdir() if stem(p) == stem(place)]
            yield place.stem if len(alike) == 1 else place.name, [place]


def stem(path: Path) -> str:
    """The name by which students are told apart, as a file system may."""
    return (path.name if path.is_dir() else path.stem).casefold()


def hidden(path: Path) -> bool:
    """Tell whether a path lies in a folder such as .ipynb_checkpoints."""
    return any(part.startswith((".", "__MACOSX")) for part in path.parts)


def read(name: str, files: list[Path]) -> Submission:
    """Read the first file; whatever is in it, there is a submission."""
    if not files:
        return Submission(name, wrong="there is no notebook in the folder")
    file = files[0]
    others = f"of {len(files)} files, {file.name} was graded"
    if file.is_symlink() or not file.is_file():
        return Submission(name, wrong=f"{file.name} is no file, but a link")
    if file.suffix not in KINDS:
        return Submission(name, wrong=f"{file.name} is no notebook (.ipynb)")
    size = file.stat().st_size
    if size > LARGEST:
        says = f"{file.name} has {size // 2**20} MB: at most "
        return Submission(name, wrong=f"{says}{LARGEST // 2**20} are read")
    try:
        text = file.read_bytes().decode("utf8")
        python = file.suffix == ".py"
        cells = (text,) if python else code_cells(text)
        return Submission(name, cells, others if len(files) > 1 else "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Submission(
            name,
            wrong=f"{file.name} cannot be read: it is damaged, or no notebook",
        )


def code_cells(text: str) -> tuple[str, ...]:
    """Give the source of each cell of code."""
    return tuple(
        "".join(cell["source"])
        for cell in json.loads(text)["cells"]
        if cell["cell_type"] == "code"
    )

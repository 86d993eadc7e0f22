"""Submissions: the notebooks that came back, read without running them."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from classroom.values import clean

LARGEST = 20 * 2**20  # bytes of a notebook
LINES = 10**8  # a place is a cell's number times this, and a line's
LONGEST_LABEL = 120  # characters of a student's name
SUFFIXES = ".ipynb", ".py"
UNREADABLE = ValueError, TypeError, KeyError, AttributeError
# Where an answer gets its name.
NAMED = (
    r"^(?:(?:async +)?(?:def|class) +{0}\b|{0} *[:=]|from .*import.*\b{0}\b)"
)
# What Colab makes of a cell that begins with %%time: comments.
COLAB = re.compile(
    r"^# Commented out IPython magic.*\n# ?%%(?:time|capture|prun)\b.*\n"
    r"((?:#.*(?:\n|\Z))+)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Submission:
    """A student's name as the file or folder has it, and the code in it; or
    what is wrong with the file. `modules` are the files of Python beside it,
    each with its text."""

    name: str
    cells: tuple[str, ...] = ()
    wrong: str = ""
    modules: tuple[tuple[str, str], ...] = ()


def submissions(folder: Path, answers: Iterable[str] = ()) -> list[Submission]:
    """Read what lies in a folder: a notebook, or a folder with one, for each
    student; `answers` are the names that are assigned. Raises ValueError for
    a folder with nothing in it."""
    if not folder.is_dir():
        raise ValueError(
            f"{folder} is no folder: give the one with the "
            "students' notebooks in it."
        )
    found = [
        load_submission(printable_name(name), files, answers)
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
            yield place.name, code_files(place)
        else:
            alike = [p for p in folder.iterdir() if stem(p) == stem(place)]
            yield place.stem if len(alike) == 1 else place.name, [place]


def stem(path: Path) -> str:
    """The name by which students are told apart."""
    return (path.name if path.is_dir() else path.stem).casefold()


def code_files(folder: Path) -> list[Path]:
    """List the notebooks and files of Python in a folder, however deep."""
    return [
        folder / path
        for path in sorted(p.relative_to(folder) for p in folder.rglob("*"))
        if path.suffix.lower() in SUFFIXES
        and not any(x.startswith((".", "__MACOSX")) for x in path.parts)
    ]


def load_submission(
    name: str, files: list[Path], answers: Iterable[str] = ()
) -> Submission:
    """Read the file that names most of the answers, a notebook before a file
    of Python; whatever is in it, there is a submission."""
    if not files:
        return Submission(name, wrong="there is no notebook in the folder")
    found = {file: cells_or_fault(file) for file in files}
    readable = {f: x for f, x in found.items() if not isinstance(x, str)}
    if not readable:
        return Submission(name, wrong=str(found[files[0]]))

    def rank(file: Path) -> tuple[bool, int, bool, int]:
        text, notebook = "\n".join(readable[file]), not is_python(file)
        own = sum(
            bool(re.search(NAMED.format(x), text, re.M)) for x in answers
        )
        return notebook and own > 0, own, notebook, len(text)

    best = max(readable, key=rank)
    wrong = f"of {len(files)} files, {best.name} was graded: it has the most"
    wrong += " of the answers"
    modules = tuple(
        (str(file.relative_to(best.parent)), text)
        for file, (text, *_) in readable.items()
        if is_python(file) and file != best and best.parent in file.parents
    )
    return Submission(name, readable[best], wrong * (len(files) > 1), modules)


def is_python(file: Path) -> bool:
    """Tell a file of Python from a notebook."""
    return file.suffix.lower() == ".py"


def cells_or_fault(file: Path) -> tuple[str, ...] | str:
    """Give the cells of a file, or say why it has none."""
    if file.is_symlink() or not file.is_file():
        return f"{file.name} is no file, but a link"
    if file.suffix.lower() not in SUFFIXES:
        return f"{file.name} is no notebook (.ipynb)"
    if (size := file.stat().st_size) > LARGEST:
        most = f"at most {LARGEST // 2**20} are read"
        return f"{file.name} has {size // 2**20} MB: {most}"
    try:
        return read_cells(file)
    except (*UNREADABLE, RecursionError):
        return f"{file.name} cannot be read: it is damaged, or no notebook"


def read_cells(file: Path) -> tuple[str, ...]:
    """Give the source of each cell of code; a .py file is one."""
    data = file.read_bytes()
    text = data.decode(json.detect_encoding(data), "replace")
    if is_python(file):
        if "\0" in text:
            raise ValueError(f"{file} is no text")
        return (COLAB.sub(uncommented, plain_lines(text)),)
    notebook = json.loads(text)
    sheets = notebook.get("worksheets", [notebook])  # as in format 3
    return tuple(
        plain_lines("".join(cell.get("source", cell.get("input"))))
        for sheet in sheets
        for cell in sheet["cells"]
        if cell["cell_type"] == "code"
    )


def plain_lines(text: str) -> str:
    """End all lines alike, and drop the mark at the beginning of a file."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    return text.replace("\r", "\n")


def uncommented(cell: re.Match[str]) -> str:
    """Give the code of a cell that Colab made a comment."""
    return "\n" * 2 + re.sub("^# ?", "", cell[1], flags=re.MULTILINE)

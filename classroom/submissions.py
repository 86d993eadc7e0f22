"""Submissions: the notebooks that came back, read without running them."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from classroom.values import clean

LARGEST = 20 * 2**20  # bytes of a notebook
LINES = 10**8  # a place is a cell's number times this, and a line's
MOST = 50  # files of a student that are read
LONGEST_MODULE = 2**18  # characters of a file beside a notebook
LONGEST_LABEL = 120  # characters of a student's name
# Browsers and mail make week3.ipynb.txt and week3.ipynb (1) of week3.ipynb.
SUFFIX = re.compile(r"\.(?:ipynb|py)(?!\w)", re.IGNORECASE)
UNREADABLE = ValueError, TypeError, KeyError, AttributeError
# What a line gives a name, or uses at its beginning; and what it imports.
FIRST_NAME = re.compile(r"^(?:async +)?(?:(?:def|class) +)?(\w+)", re.M)
IMPORT_LINE = re.compile(r"^from .*", re.MULTILINE)
# What Colab makes of a cell that begins with %%time: comments.
COLAB = re.compile(
    r"(?<=# Commented out IPython magic to ensure Python compatibility.\n)"
    r"# ?%%(?:time|capture|prun)\b.*\n(?:#(?! Commented).*(?:\n|\Z))+",
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
            f"{folder} is not a folder: give the one with the students' "
            "notebooks in it."
        )
    loaded = [
        load_submission(printable_name(name), files, answers)
        for name, files in by_student(folder)
    ]
    if not loaded:
        raise ValueError(
            f"{folder} has no submission: give the folder with "
            "the students' notebooks in it."
        )
    return loaded


def printable_name(name: str) -> str:
    """Write a file's name so that it can be printed, whatever is in it."""
    text = name.encode("utf8", "surrogateescape").decode("utf8", "replace")
    return clean(text, LONGEST_LABEL) or "(a name that cannot be printed)"


def by_student(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """List the files of each student: each thing in the folder is one's.
    Names are told apart as a file system may, and those such as
    .ipynb_checkpoints are nobody's."""
    names = Counter(stem(x).casefold() for x in folder.iterdir())
    for place in sorted(folder.iterdir()):
        if place.name.startswith("."):
            continue
        if place.is_dir() and not place.is_symlink():
            yield place.name, code_files(place)
        else:
            alone = names[stem(place).casefold()] == 1
            yield stem(place) if alone else place.name, [place]


def stem(path: Path) -> str:
    """The name by which students are told apart, in large or small letters."""
    named = SUFFIX.split(path.name)[0] if suffix(path) else path.stem
    return path.name if path.is_dir() else named


def code_files(folder: Path) -> list[Path]:
    """List what can be read in a folder: notebooks before files of Python,
    and what lies deeper after the rest; or all files, if none can be."""
    inside = [x.relative_to(folder) for x in folder.rglob("*")]
    files = [
        path
        for path in inside
        if not any(x.startswith((".", "__MACOSX")) for x in path.parts)
        and not (folder / path).is_dir()
    ]
    files = [path for path in files if suffix(path)] or files
    files.sort(key=lambda f: (suffix(f) == ".py", len(f.parts), f))
    return [folder / path for path in files]


def suffix(file: Path) -> str:
    """Tell what a file's name says that it is: .ipynb, .py or ""."""
    return (SUFFIX.findall(file.name) or [""])[-1].lower()


def load_submission(
    name: str, files: Sequence[Path], answers: Iterable[str] = ()
) -> Submission:
    """Read the file that names most of the answers, a notebook before a file
    of Python; whatever is in it, there is a submission."""
    if not files:
        return Submission(name, wrong="there is no notebook in the folder")
    read = {file: cells_or_fault(file) for file in files[:MOST]}
    cells = {f: x for f, x in read.items() if not isinstance(x, str)}
    if not cells:
        return Submission(name, wrong="; ".join(map(str, read.values())))
    asked = {*answers}
    best = max(cells, key=lambda file: rank(file, cells[file], asked))
    modules = tuple(
        (str(file.relative_to(best.parent)), cells[file][0])
        for file in cells
        if file.suffix.lower() == ".py" and file != best
        if best.parent in file.parents
        if len(cells[file][0]) <= LONGEST_MODULE
    )
    notes = [f"of {len(files)} files, {best.name} was graded"]
    if named := rank(best, cells[best], asked)[1]:
        notes[0] += f": it names {named} of {len(asked)} answers"
    if best.suffix.lower() != suffix(best):
        notes.append(f"{best.name} was read as {suffix(best)}")
    wrong = "; ".join(notes[len(files) == 1 :])
    return Submission(name, cells[best], wrong, modules)


def rank(
    file: Path, cells: Iterable[str], answers: set[str]
) -> tuple[bool, int, bool, int]:
    """Say how well a file answers; of files alike, the longest is best."""
    text, notebook = "\n".join(cells), suffix(file) == ".ipynb"
    named = {*FIRST_NAME.findall(text)}
    named.update(*map(re.compile(r"\w+").findall, IMPORT_LINE.findall(text)))
    count = len(answers & named)
    return notebook and count > 0, count, notebook, len(text)


def cells_or_fault(file: Path) -> tuple[str, ...] | str:
    """Give the cells of a file, or say why it has none."""
    if file.is_symlink() or not file.is_file():
        return f"{file.name} is a link, not a file"
    if not suffix(file):
        return f"{file.name} is not a notebook (.ipynb)"
    if (size := file.stat().st_size) > LARGEST:
        most = f"at most {LARGEST // 2**20} are read"
        return f"{file.name} has {size // 2**20} MB: {most}"
    try:
        return read_cells(file)
    except (*UNREADABLE, RecursionError):
        return f"{file.name} cannot be read: it is damaged, or not a notebook"


def read_cells(file: Path) -> tuple[str, ...]:
    """Give the source of each cell of code; a .py file is one."""
    data = file.read_bytes()
    text = plain_lines(data.decode(json.detect_encoding(data), "replace"))
    if suffix(file) == ".py":
        if "\0" in text:
            raise ValueError(f"{file} is not a text")
        return (COLAB.sub(lambda x: re.sub("(?m)^# ?", "", x[0]), text),)
    return tuple(
        plain_lines("".join(cell.get("source") or ""))
        for cell in json.loads(text)["cells"]
        if cell["cell_type"] == "code"
    )


def plain_lines(text: str) -> str:
    """End all lines alike."""
    return text.replace("\r\n", "\n").replace("\r", "\n")

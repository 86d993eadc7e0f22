"""The week of a course that the guide for instructors walks through."""

import json
import re
import shlex
from pathlib import Path

from tests.helpers.answers import Answer, written_answers
from tests.helpers.project import ROOT

GUIDE = ROOT / "book" / "instructors.md"
CONSOLE = re.compile(r"```console\n\$ (.*?)\n(.*?)```", re.DOTALL)
MARKS = re.compile(r"```text\n(.*?)```", re.DOTALL)
WHY = 'why_columns = """A row belongs to a query position."""'
LOOP = "while True:\n    pass"
# What each student hands in: which of the written answers to what, or code.
CLASS = {
    "student-1": {"prefix_mask": "right", "decoder_mask": "right"},
    "student-2": {"prefix_mask": "wrong 0", "decoder_mask": "right"},
    "student-3": {"prefix_mask": "wrong 1", "decoder_mask": "wrong 0"},
    "student-4": {"prefix_mask": LOOP, "decoder_mask": "right"},
    "student-5": {},
}


def commands() -> list[tuple[list[str], str]]:
    """The commands of the guide, in words, each with what it prints."""
    found = CONSOLE.findall(GUIDE.read_text("utf8"))
    return [(shlex.split(line)[3:], said) for line, said in found]


def marks() -> str:
    """The marks that the guide gives by hand."""
    return MARKS.search(GUIDE.read_text("utf8"))[1]


def hand_in(notebook: Path, folder: Path) -> None:
    """Let each student answer the students' notebook."""
    folder.mkdir()
    for name, work in CLASS.items():
        content = json.loads(notebook.read_text("utf8"))
        for cell in content["cells"]:
            checked = re.search(r'check\("(\w+)"', cell["source"])
            if checked and cell["cell_type"] == "code":
                cell["source"] = answered(checked[1], work, cell["source"])
        (folder / f"{name}.ipynb").write_text(json.dumps(content), "utf8")


def answered(exercise: str, work: dict[str, str], stub: str) -> str:
    """What a student writes into a cell."""
    if work and exercise == "why_columns":
        return WHY
    what = work.get(exercise)
    if what is None or what == LOOP:
        return what or stub
    kind, _, number = what.partition(" ")
    own: list[Answer] = [
        a
        for a in written_answers()
        if a.exercise == exercise and a.right == (kind == "right")
    ]
    return own[int(number or 0)].code

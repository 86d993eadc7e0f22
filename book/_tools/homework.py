"""Unpack the written answers to exercises that have no solution in the book,
and pack them again: tests/classroom/assignable.zip and _build/homework.

    python book/_tools/homework.py unpack
    python book/_tools/homework.py pack

They lie packed so that no search shows them. That is all it is good for:
whoever wants to read them can.
"""

import sys
from zipfile import ZipFile

from packages import ROOT, zip_up

ARCHIVE = ROOT / "tests" / "classroom" / "assignable.zip"
OPEN = ROOT / "_build" / "homework"


def main(what: str) -> None:
    if what == "unpack":
        with ZipFile(ARCHIVE) as files:
            files.extractall(OPEN)
    elif what == "pack":
        answers = sorted(OPEN.glob("*.toml"))
        zip_up({file.name: file.read_bytes() for file in answers}, ARCHIVE)
    else:
        sys.exit("homework.py: say unpack or pack")


if __name__ == "__main__":
    main(*sys.argv[1:2] or [""])

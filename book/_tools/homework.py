"""Unpack the written answers to exercises that have no solution in the book,
and pack them again: tests/classroom/assignable.zip and _build/homework.

    python book/_tools/homework.py unpack
    python book/_tools/homework.py pack

They lie packed so that no search shows them. That is all it is good for:
whoever wants to read them can.
"""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).parents[2]
PACKED = ROOT / "tests" / "classroom" / "assignable.zip"
OPEN = ROOT / "_build" / "homework"


def main(what: str) -> None:
    if what == "unpack":
        with ZipFile(PACKED) as files:
            files.extractall(OPEN)
    elif what == "pack":
        pack(sorted(OPEN.glob("*.toml")))
    else:
        sys.exit("homework.py: say unpack or pack")


def pack(files: list[Path]) -> None:
    """Write files into the zip; the same ones, the same zip."""
    with ZipFile(PACKED, "w") as packed:
        for file in files:
            packed.writestr(
                ZipInfo(file.name), file.read_bytes(), ZIP_DEFLATED
            )


if __name__ == "__main__":
    main(*sys.argv[1:2] or [""])

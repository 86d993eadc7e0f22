"""The ledger of sizes: who adds lines takes lines away."""

import tomllib
import zipfile
from pathlib import Path

import pytest

from classroom.exercise import HOMEWORK
from tests.helpers.project import ROOT, project_files

LEDGER = tomllib.loads((ROOT / "tests" / "sizes.toml").read_text("utf8"))
LINES = LEDGER["lines"]
KINDS = {".py", ".mjs", ".js"}
ROOM = 100  # lines that a place may have fewer than the ledger says


def place_of(file: Path) -> str:
    """The longest name in the ledger that a file stands under."""
    name = file.relative_to(ROOT).as_posix()
    return max((p for p in LINES if name.startswith(f"{p}/")), key=len)


def texts_of(file: Path) -> list[str]:
    """The code in a file; of exercises their data, too, packed or not."""
    if file.name == HOMEWORK:
        with zipfile.ZipFile(file) as files:
            return [files.read(name).decode() for name in files.namelist()]
    data = file.suffix == ".toml" and "chapters" in file.parts
    return [file.read_text("utf8")] if data or file.suffix in KINDS else []


def measured() -> dict[str, int]:
    """How many lines of code each place has."""
    found = dict.fromkeys(LINES, 0)
    for file in project_files(ROOT):
        for text in texts_of(file):
            found[place_of(file)] += len(text.splitlines())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("place", LINES)
def test_a_place_has_as_many_lines_as_the_ledger_allows(place):
    lines = measured()[place]
    assert lines <= LINES[place], (
        f"{place} has {lines} lines, and {LINES[place]} are allowed: take "
        "some away, or let tests/sizes.toml grow and say why in the commit."
    )
    assert lines >= LINES[place] - ROOM, (
        f"{place} has {lines} lines: write that into tests/sizes.toml, so "
        "that what was taken away stays away."
    )

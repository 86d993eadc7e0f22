"""The ledger of sizes is a budget: no place has more lines than it allows, and
what it allows only falls."""

import tomllib
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import one_file
import pytest

from tests.helpers.project import ROOT, project_files, run

LEDGER = "tests/sizes.toml"
LINES = tomllib.loads((ROOT / LEDGER).read_text("utf8"))["lines"]
CODE = {".py", ".mjs", ".js"}
ROOM = 100  # lines that a place may have fewer than the ledger says


def place_of(file: Path) -> str:
    """The longest name in the ledger that a file stands under."""
    name = file.relative_to(ROOT).as_posix()
    return max((p for p in LINES if name.startswith(f"{p}/")), key=len)


def counted_texts(file: Path) -> list[str]:
    """The code in a file; of answers and exercises the TOML, packed or not.
    What is put together from the chapters' cells is theirs."""
    if file in one_file.STARTS:
        return []
    is_written = {"tests", "chapters"} & {*file.relative_to(ROOT).parts[:1]}
    if is_written and file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            names = [n for n in archive.namelist() if n.endswith(".toml")]
            return [archive.read(name).decode() for name in names]
    counts = file.suffix in CODE or (is_written and file.suffix == ".toml")
    return [file.read_text("utf8")] if counts else []


@cache
def line_counts() -> Counter[str]:
    """How many lines each place has."""
    counts = Counter()
    for file in project_files(ROOT):
        for text in counted_texts(file):
            counts[place_of(file)] += len(text.splitlines())
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("place", LINES)
def test_a_place_has_as_many_lines_as_the_ledger_allows(place):
    lines = line_counts()[place]
    assert lines <= LINES[place], (
        f"{place} has {lines} lines, and {LINES[place]} are allowed: take "
        f"some away. No number of {LEDGER} grows."
    )
    assert lines >= LINES[place] - ROOM, (
        f"{place} has {lines} lines: write that into {LEDGER}, so that what "
        "was taken away stays away."
    )


def overdrafts(earlier: dict[str, int], now: dict[str, int]) -> list[str]:
    """Where a ledger allows more than an earlier one: in a place, or in all,
    which is what a new place counts for."""
    both = [(p, earlier[p], now[p]) for p in now if p in earlier]
    both += [("all", sum(earlier.values()), sum(now.values()))]
    return [f"{p}: {old} to {new}" for p, old, new in both if new > old]


def earlier_ledger() -> str:
    """The ledger of the last release; without one, the ledger before its last
    change. Empty where no history of git's says."""

    def git(*words: str) -> str:
        return run(ROOT, "git", *words).stdout

    release = git("describe", "--tags", "--abbrev=0", "--match=v*").split()
    changes = git("log", "-2", "--format=%h", "--", LEDGER).split()
    now = (ROOT / LEDGER).read_text("utf8")
    texts = [git("show", f"{at}:{LEDGER}") for at in release or changes]
    return next((text for text in texts if release or text != now), "")


def test_a_number_in_the_ledger_only_falls():
    assert overdrafts({"a": 5, "b": 3}, {"a": 6, "b": 2}) == ["a: 5 to 6"]
    assert overdrafts({"a": 5}, {"a": 5, "c": 1}) == ["all: 5 to 6"]
    earlier = earlier_ledger()
    if not earlier:
        pytest.skip("git knows no earlier ledger")
    assert overdrafts(tomllib.loads(earlier)["lines"], LINES) == []

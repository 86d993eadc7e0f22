"""What errata and gallery say of a source stands there, and a number in the
errata stands where it is said to be measured."""

import os
import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

from gallery import bugs
from tests.helpers.project import ROOT, printed

# The sources are no part of the repository.
SEEDS = Path(os.environ.get("SEEDS") or ROOT.parent / "shared" / "seeds")
PAGE = (ROOT / "book" / "errata.md").read_text("utf8")
_, *PARTS = re.split(r"^## Source (\d+).*", PAGE, flags=re.MULTILINE)
SAID = {
    number: [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in re.findall(r"^\| .+", text, re.MULTILINE)[1:]
    ]
    for number, text in zip(PARTS[::2], PARTS[1::2])
}
QUOTE = re.compile(r'`([^`]+)`|"([^"]+)"')
ROWS = [pytest.param(n, *row, id=row[0]) for n in SAID for row in SAID[n]]
FAULTS = [b for b in bugs() if b.incident.startswith("source")]


@cache
def seed(number: str) -> str:
    """A source's text, every space and line break one blank."""
    for file in SEEDS.glob(f"{number}_*.txt"):
        return " ".join(file.read_text("utf8").split())
    return ""


def is_in_seed(piece: str, number: str) -> bool:
    if not seed(number):
        pytest.skip(f"source {number} is not in {SEEDS}; SEEDS= says where")
    return piece in seed(number)


@cache
def stored_text(chapter: str) -> str:
    """What a chapter's notebook says and prints."""
    (file,) = (ROOT / "chapters").glob(f"{chapter:0>2}_*.ipynb")
    cells = nbformat.read(file, as_version=4).cells
    return "\n".join([*(cell.source for cell in cells), printed(cells)])


def numbers(text: str) -> set[str]:
    """The numbers with two digits that count, or more."""
    digits = re.findall(r"\d[\d.,]*\d", text)
    return {n for n in digits if len(re.sub(r"^[0.]+|[.,]", "", n)) > 1}


def witnesses(number: str, how: str) -> str:
    """All that an errata row's third column names."""
    named = " ".join(re.findall(r"chapters? ([\d, and]+)", how))
    texts = [stored_text(n) for n in re.findall(r"\d+", named)]
    if "run" in how:
        files = (ROOT / "tests" / "sources").glob("*.py")
        texts += [file.read_text("utf8") for file in files]
    return "\n".join([*texts, seed(number) * ("read" in how)])


@pytest.mark.parametrize(("number", "says", "so", "how"), ROWS)
def test_a_row_quotes_its_source(number, says, so, how):
    pieces = [code or words for code, words in QUOTE.findall(says)]
    assert pieces
    assert [p for p in pieces if not is_in_seed(p, number)] == []


@pytest.mark.parametrize(("number", "says", "so", "how"), ROWS)
def test_its_numbers_stand_where_it_says(number, says, so, how):
    assert re.search(r"chapter \d|chapters \d|\brun\b|\bread\b", how)
    claims = numbers(QUOTE.sub(" ", f"{says} {so}"))
    missing = claims - numbers(witnesses(number, how))
    if missing and "read" in how:
        is_in_seed("", number)
    assert not missing


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_bug_of_a_source_is_a_line_of_it(fault):
    assert len(fault.quote) > 10
    assert is_in_seed(fault.quote, fault.incident.removeprefix("source "))


def test_a_bug_that_is_no_sources_has_a_thread():
    for bug in set(bugs()) - set(FAULTS):
        assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", bug.incident)
        assert not bug.quote

"""A number with decimals in a chapter's prose is one that its cells show."""

import math
import re

import nbformat
import pytest

from tests.helpers.project import ROOT

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
# Follow from others by the arithmetic that their sentences tell.
DERIVED = {
    "0.0001": 1 / 11 / 1023,
    "2.08": math.log(8),
    "4.6": 10_000 ** (1 / 6),
    "6.93": math.log(1024),
    "9.3": 21.85 - 12.51,
    "16.8": 4096**2 / 1e6,
}
# What is no measurement: sources, links, formulas, code, places in a paper.
APART = r"\{cite\}`[^`]*`|\]\([^)]*\)|<[^>]+>|\$[^$]*\$|`[^`]*`"
APART += r"|sections? [\d., and]+|tables? \d+|Py[Tt]orch \d\.\d+"


def told(cells: list) -> str:
    """What a chapter says, but for its exercises and sources."""
    prose = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    parts = re.split(r"^## ", prose, flags=re.MULTILINE)
    left = [x for x in parts if not x.startswith(("Exercises", "Sources"))]
    return re.sub(APART, " ", "\n".join(left))


def shown(cells: list) -> list[float]:
    """All numbers that a chapter's cells have and give."""
    texts = [c.source for c in cells if c.cell_type == "code"]
    for output in (o for c in cells for o in c.get("outputs", [])):
        data = output.get("data", {})
        kinds = ("text/plain", "text/html", "image/svg+xml")
        texts += [output.get("text", ""), *(data.get(k, "") for k in kinds)]
    text = re.sub(r"<[^>]+>", " ", "\n".join(texts))
    found = re.findall(r"\d[\d,]*(?:\.\d+)?", text)
    return [float(number.replace(",", "")) for number in found]


def unseen(cells: list) -> list[str]:
    """Numbers of the prose that are no rounding of a number shown."""
    numbers = re.findall(r"(?<![\w.§-])\d+\.\d+(?![\w.]*\d)", told(cells))
    have = shown(cells)
    return [
        number
        for number in dict.fromkeys(numbers)
        if not any(
            f"{value:.{len(number.partition('.')[2])}f}" == number
            for value in [*have, DERIVED.get(number, math.inf)]
        )
    ]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_number_with_decimals_stands_in_an_output_or_follows(chapter):
    assert unseen(nbformat.read(chapter, as_version=4).cells) == []


def test_a_number_that_nothing_shows_is_found():
    said = nbformat.v4.new_markdown_cell("It moved by 0.57, nearly 0.6.")
    run = nbformat.v4.new_code_cell("print(0.61)")
    assert unseen([said, run]) == ["0.57"]

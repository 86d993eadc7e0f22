"""What the chapters say, against what their cells show: numbers, the figures
of a source, the letters of two languages; and the text that a model reads.
"""

import math
import re
from functools import cache

import nbformat
import pytest

from tests.helpers.project import NOTEBOOKS, ROOT, printed
from tformer_lite import CharTokenizer, book_text


@cache
def cells_of(chapter: str) -> list:
    """The cells of a chapter as they are stored."""
    (file,) = (x for x in NOTEBOOKS if x.stem == chapter)
    return nbformat.read(file, as_version=4).cells


CHAPTERS = [notebook.stem for notebook in NOTEBOOKS]


def test_the_books_text_is_as_long_as_it_was_and_plain():
    """The prose of chapters 0 to 12, as results were measured on it."""
    text = book_text()
    assert (len(text), len(CharTokenizer(text))) == (96_077, 89)
    assert text.isascii()
    assert text.startswith("0 - Reading a trace\n")
    assert "\n\n12 - The whole model\n" in text
    assert max(map(len, text.splitlines())) <= 72
    for left in ("```", "</", "{axes}", "**", "](", "import torch"):
        assert left not in text


# --- a number with decimals ------------------------------------------------

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


def shown_numbers(cells: list) -> list[float]:
    """All numbers that a chapter's cells have and give."""
    texts = [c.source for c in cells if c.cell_type == "code"]
    for output in (o for c in cells for o in c.get("outputs", [])):
        data = output.get("data", {})
        kinds = ("text/plain", "text/html", "image/svg+xml")
        texts += [output.get("text", ""), *(data.get(k, "") for k in kinds)]
    text = re.sub(r"<[^>]+>", " ", "\n".join(texts))
    numbers = re.findall(r"\d[\d,]*(?:\.\d+)?", text)
    return [float(number.replace(",", "")) for number in numbers]


def unseen(cells: list) -> list[str]:
    """Numbers of the prose that are no rounding of a number shown."""
    numbers = re.findall(r"(?<![\w.§-])\d+\.\d+(?![\w.]*\d)", told(cells))
    have = shown_numbers(cells)
    return [
        number
        for number in dict.fromkeys(numbers)
        if not any(
            f"{value:.{len(number.partition('.')[2])}f}" == number
            for value in [*have, DERIVED.get(number, math.inf)]
        )
    ]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_number_with_decimals_stands_in_an_output_or_follows(chapter):
    assert unseen(cells_of(chapter)) == []


# --- the figures of source 003 ----------------------------------------------

LIST = ROOT / "tformer_lite" / "example" / "texts" / "source_003.txt"
ROWS = [line.split(" | ") for line in LIST.read_text("utf8").splitlines()[1:]]
# Codeblock, the source's label, shape.
TABLE = [(int(n), text, tuple(map(int, s.split()))) for n, text, s, *_ in ROWS]
# What has another shape here, and which: our masks have every axis.
COUNTERPARTS = {(9, "mask"): (1, 200, 200)}
COLUMNS = re.compile(r"(.+?)  +((?:\d+ ?)+)  +(.+?)  +(\(.+?\))  +(.+)")
# Each figure of the source's summary.
FIGURES = ["51,200", "61,440", "1,050,624", "2,099,712", "1,024"]
FIGURES += ["61,560", "44.28", "134.54 MB", "177.25 MB", "311.79 MB"]
FIGURES += ["44,312,696 of 44,312,696 parameters"]
FIGURES += ["9,557,606,400 multiply-adds, 19,115,212,800 FLOPs"]


def test_chapter_16_has_the_sources_95_shapes_in_its_order_and_its_summary():
    """Our shapes are equal, but for those that have a counterpart."""
    said = printed(cells_of("16_paper_size"))
    rows = filter(None, map(COLUMNS.fullmatch, said.splitlines()))
    assert len(TABLE) == 95
    for (*key, sizes), row in zip(TABLE, rows, strict=True):
        other = COUNTERPARTS.get(tuple(key), "")
        verdict = f"no: {' '.join(map(str, other))}" if other else "yes"
        assert row[1] == key[1]
        assert row[2].split() == [*map(str, sizes)], key
        assert row[5] == verdict, key
    assert [figure for figure in FIGURES if figure not in said] == []


# --- a letter names a sequence: S the English, T the Nepali words -----------

BUILT = [chapter for chapter in CHAPTERS if int(chapter[:2]) <= 12]
NEPALI = re.compile("[\u0900-\u097f]")
WORDS = re.compile("[a-z]{2}|[\u0900-\u097f]")
HEADER = re.compile(r"^ *(?P<rows>\S+)\\(?P<columns>\S+) +(?P<words>.*)$")


def tables(chapter: str) -> list[tuple[str, str, list[str], list[str]]]:
    """The tables below a chapter's figures: the axes, the words of the
    columns, and the lines of rows."""
    outputs = [o for c in cells_of(chapter) for o in c.get("outputs", [])]
    texts = [o.get("data", {}).get("text/plain", "") for o in outputs]
    parts = [part.splitlines() for x in texts for part in x.split("\n\n")]
    return [
        (
            head["rows"],
            head["columns"],
            re.split(" {2,}", head["words"].strip()),
            lines[i + 1 :],
        )
        for lines in parts
        for i, line in enumerate(lines[:2])
        if (head := HEADER.match(line))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("chapter", BUILT)
def test_an_axis_of_words_has_the_letter_of_their_sequence(chapter):
    wrong = []
    for rows, columns, words, lines in tables(chapter):
        named = [re.split(" {2,}", line.strip())[0] for line in lines]
        for letter, said in (rows, named), (columns, words):
            plain = " ".join(said)
            if letter in {"S", "T"} and WORDS.search(plain):
                right = "T" if NEPALI.search(plain) else "S"
                wrong += [plain] * (letter != right)
    assert wrong == []

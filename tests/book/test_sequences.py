"""A letter names a sequence: S the English, T the Nepali words, in figures as
in what the tracer proves."""

import re
from pathlib import Path

import nbformat
import pytest

from tests.helpers.project import NOTEBOOKS
from tformer_lite import running_trace

pytestmark = pytest.mark.slow

BUILT = [path for path in NOTEBOOKS if int(path.stem[:2]) <= 12]
NEPALI = re.compile("[\u0900-\u097f]")
WORDS = re.compile("[a-z]{2}|[\u0900-\u097f]")
HEADER = re.compile(r"^ *(?P<rows>\S+)\\(?P<columns>\S+) +(?P<words>.*)$")
LETTER = {"S", "T"}


def tables(notebook: Path) -> list[tuple[str, str, list[str], list[str]]]:
    """The tables below a notebook's figures: the axes, the words of the
    columns, and the lines of rows."""
    found = []
    cells = nbformat.read(notebook, as_version=4).cells
    for output in (x for cell in cells for x in cell.get("outputs", [])):
        text = output.get("data", {}).get("text/plain", "")
        for paragraph in text.split("\n\n"):
            lines = paragraph.splitlines()
            for i, line in enumerate(lines[:2]):
                if head := HEADER.match(line):
                    words = re.split(" {2,}", head["words"].strip())
                    rows = lines[i + 1 :]
                    found.append((head["rows"], head["columns"], words, rows))
    return found


def sequence_of(words: str) -> str:
    """S for English words, T where there are Nepali ones."""
    return "T" if NEPALI.search(words) else "S"


@pytest.mark.parametrize("notebook", BUILT, ids=lambda path: path.stem)
def test_an_axis_of_words_has_the_letter_of_their_sequence(notebook):
    wrong = []
    for rows, columns, words, lines in tables(notebook):
        named = [re.split(" {2,}", line.strip())[0] for line in lines]
        for letter, said in (rows, named), (columns, words):
            plain = " ".join(said)
            if letter in LETTER and WORDS.search(plain):
                wrong += [plain] * (letter != sequence_of(plain))
    assert wrong == []


def test_letters_of_attention_in_figures_are_those_that_the_tracer_proves():
    """Where a figure shows a matrix of the running example's attention."""
    proved = {}
    for attention in running_trace().attention():
        letters = tuple(map(str, attention.axes[-2:]))
        for values in attention.scores, attention.weights:
            for matrix in values.flatten(0, -3):
                key = tuple(f"{x:.2f}" for x in matrix[:, 0].tolist())
                proved[key] = letters
    shown = []
    for rows, columns, _, lines in (
        table for notebook in BUILT for table in tables(notebook)
    ):
        numbers = [re.findall(r"−?-?\d+\.\d\d", line) for line in lines]
        first = tuple(x[0].replace("−", "-") for x in numbers if x)
        if first in proved:
            shown.append((rows, columns, *proved[first]))
    assert {x[2:] for x in shown} == {("S", "S"), ("T", "T"), ("T", "S")}
    assert [x for x in shown if x[:2] != x[2:]] == []

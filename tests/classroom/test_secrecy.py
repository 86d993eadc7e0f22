"""No solution of an exercise that is assigned stands where students look."""

import html
import json
import re
from functools import cache
from pathlib import Path

import pytest

from classroom.assignment import Assignment, student_notebook
from classroom.exercise import exercise, exercises
from tests.helpers.answers import answers_to, sections
from tests.helpers.browser import HTML, NO_BOOK
from tests.helpers.project import ROOT, project_files

SHARE = 0.6  # of an answer's lines: so many together are the answer
TAG = re.compile(r"<[^>]*>")


@cache
def secrets() -> dict[str, set[str]]:
    """The telling lines of each right answer, the table's own and those that
    are written, without their spaces."""
    telling = {}
    for name, text in sections().items():
        each, shown = exercise(name), squeezed(text)  # the stub
        codes = [each.right, *(x.code for x in answers_to(name))]
        for n, code in enumerate(codes if each.assignable else ()):
            lines = filter(telling_line, map(squeezed, code.split("\n")))
            telling[f"{name} {n}"] = {x for x in lines if x not in shown}
    return {answer: lines for answer, lines in telling.items() if lines}


def telling_line(line: str) -> bool:
    """Whether a line says something: no head, no comment."""
    return len(line) > 15 and not line.startswith(("def", "class", "#", "for"))


def squeezed(text: str) -> str:
    return "".join(text.split())


def leaks(text: str) -> list[str]:
    """The answers of which most lines stand in a text, whatever it is: a
    page, a notebook, a file of Python."""
    plain = html.unescape(TAG.sub("", text))
    # As it was before JSON wrote it.
    unescaped = plain.replace("\\n", "\n").replace('\\"', '"')
    shown = {squeezed(t) for t in (text, plain, unescaped)}
    return [
        name
        for name, lines in secrets().items()
        if any(
            sum(line in each for line in lines) >= SHARE * len(lines)
            for each in shown
        )
    ]


def texts(files) -> dict[Path, str]:
    return {
        f: f.read_text("utf8", "replace")
        for f in files
        if f.suffix
        in {".html", ".txt", ".md", ".ipynb", ".py", ".js", ".toml"}
        or f.parent.name == "_sources"
    }


@pytest.mark.slow
def test_no_file_of_the_project_has_one():
    for file, text in texts(project_files(ROOT)).items():
        assert leaks(text) == [], file


@pytest.mark.full
def test_no_file_of_the_built_book_has_one():
    assert HTML.exists(), NO_BOOK
    files = texts(f for f in HTML.rglob("*") if f.is_file())
    assert any(file.parent.name == "exercises" for file in files)
    for file, text in files.items():
        assert leaks(text) == [], file


@pytest.mark.slow
def test_the_notebook_that_students_get_has_none():
    everything = Assignment("All", "seed", dict.fromkeys(exercises(), 1))
    text = json.dumps(student_notebook(everything))
    assert leaks(text) == []
    assert "A solution" not in text
    assert all(f'check(\\"{name}\\"' in text for name in exercises())

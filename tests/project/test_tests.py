"""The rules of this folder: who may import what, and how things are named."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.helpers.project import ROOT

FILES = sorted((ROOT / "tests").rglob("*.py"))
MODULES = [file for file in FILES if file.name.startswith("test_")]
HELPERS = [file for file in FILES if file.parent.name == "helpers"]
ENDING = re.compile(r"(ings?|ed|ers?|e?s|e)$")


def foreign(source: str) -> list[str]:
    """What a file imports from tests, helpers apart."""
    nodes = [*ast.walk(ast.parse(source))]
    plain = [n for n in nodes if isinstance(n, ast.Import)]
    names = [alias.name for node in plain for alias in node.names]
    for node in (n for n in nodes if isinstance(n, ast.ImportFrom)):
        names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [n for n in names if re.match(r"tests\.(?!helpers\b)", n)]


@pytest.mark.slow
def test_what_tests_share_stands_in_helpers():
    found = {file: foreign(file.read_text("utf8")) for file in FILES}
    assert {file: names for file, names in found.items() if names} == {}


def test_an_import_from_another_test_is_found():
    assert foreign("from tests.model.test_masks import seen")
    assert foreign("from tests import model")
    assert foreign("import tests.model.test_masks")
    assert not foreign("from tests.helpers import small\nimport torch")


def alike(names: list[str]) -> list[str]:
    """Names that only differ by an ending: traced and tracing."""
    stems = Counter(ENDING.sub("", name) for name in names)
    return [name for name in names if stems[ENDING.sub("", name)] > 1]


def test_no_two_test_modules_differ_by_an_ending_alone():
    assert alike([file.stem for file in MODULES]) == []


def test_names_that_differ_by_an_ending_are_found():
    assert alike(["test_trace", "test_tracing", "test_traps"]) == [
        "test_trace",
        "test_tracing",
    ]
    assert alike(["test_reading", "test_reading"])


def functions(file: Path) -> list[str]:
    """The functions of a file, those in others apart."""
    body = ast.parse(file.read_text("utf8")).body
    return [node.name for node in body if isinstance(node, ast.FunctionDef)]


@pytest.mark.slow
def test_no_two_helpers_have_one_name():
    names = Counter(name for file in HELPERS for name in functions(file))
    assert [name for name, times in names.items() if times > 1] == []

"""The rules of this folder: who may import what, and how things are named."""

import ast
import re
from collections import Counter

import pytest
from architecture import imported_names

from tests.helpers.project import ROOT

FILES = sorted((ROOT / "tests").rglob("*.py"))
FOREIGN = re.compile(r"tests\.(?!helpers\b)")
ENDING = re.compile(r"(ings?|ed|ers?|e?s|e)$")


@pytest.mark.slow
def test_what_tests_share_stands_in_helpers():
    imports = {file: imported_names(file.read_text("utf8")) for file in FILES}
    found = {f: [*filter(FOREIGN.match, x)] for f, x in imports.items()}
    assert {file: names for file, names in found.items() if names} == {}
    assert any(names for names in imports.values())


def test_no_two_test_modules_differ_by_an_ending_alone():
    names = [f.stem for f in FILES if f.name.startswith("test_")]
    stems = Counter(ENDING.sub("", name) for name in names)
    assert [name for name in names if stems[ENDING.sub("", name)] > 1] == []
    assert ENDING.sub("", "trace") == ENDING.sub("", "tracing")


@pytest.mark.slow
def test_no_two_helpers_have_one_name():
    bodies = [
        ast.parse(file.read_text("utf8")).body
        for file in FILES
        if file.parent.name == "helpers"
    ]
    names = Counter(
        node.name
        for body in bodies
        for node in body
        if isinstance(node, ast.FunctionDef)
    )
    assert [name for name, times in names.items() if times > 1] == []

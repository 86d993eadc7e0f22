"""No flags in the model: whatever varies is a part, chosen once."""

import ast

import pytest

from tests.helpers.house import MODEL, OTHER_PARTS, SITTING, SMALL

FILES = [MODEL / f"{name}.py" for name in (*SITTING, *SMALL)]
FILES += sorted(OTHER_PARTS.glob("[!_]*.py"))
# `__getitem__` looks a part up, while a model is built.
BUILDING = "__init__", "reset_parameters", "__getitem__"


def asks(function: ast.AST) -> list[str]:
    """Where a function reads a config, or decides by what `self` holds."""
    found = []
    for node in ast.walk(function):
        test = getattr(node, "test", None) or getattr(node, "subject", None)
        parts = [test] if test else getattr(node, "ifs", [])
        if isinstance(node, ast.BoolOp):
            parts = [node]
        names = [n for p in parts for n in ast.walk(p)]
        found += [n for n in names if getattr(n, "id", "") == "self"]
        found += [node] if getattr(node, "id", "") == "config" else []
        found += [node] if getattr(node, "attr", "") == "config" else []
    return [ast.unparse(node) for node in found]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_but_building_asks_what_the_config_says(file):
    tree = ast.parse(file.read_text("utf8"))
    for node in ast.walk(tree):
        assert getattr(node, "id", "") != "print"
        for function in node.body if isinstance(node, ast.ClassDef) else ():
            building = getattr(function, "name", "__init__") in BUILDING
            assert building or not asks(function), function.name

"""No name stands twice in a package, and tests import from helpers alone."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from architecture import imported_names

from tests.helpers.project import ROOT, project_files

PACKAGES = {
    "tformer_lite": ["tformer_lite", "explorer", "gallery"],
    "shapewatch": ["shapewatch"],
    "classroom": ["classroom"],
    "pictures": ["chapters/pictures"],
    "book": ["book/_tools", "book/_ext"],
    "model_cards": ["book/_tools/model_cards"],
}
# What may be called so, and why.
TWICE = {
    "main": "what a tool does when it is run",
    "setup": "what Sphinx calls in an extension",
}


def names_in(source: str) -> Iterator[tuple[str, ast.AST]]:
    """The names at the top of a file, and what defines them."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            names = (x for target in node.targets for x in ast.walk(target))
            yield from ((x.id, node) for x in names if isinstance(x, ast.Name))
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id, node


def sources(package: str) -> Iterator[tuple[Path, str]]:
    """The files of a package, without exercises, which are data; one that
    stands in another's folder is no part of that."""
    homes = {ROOT / place: x for x in PACKAGES for place in PACKAGES[x]}
    for file in project_files(ROOT):
        home = next((homes[x] for x in file.parents if x in homes), "")
        here = home == package and file.suffix == ".py"
        if here and "exercises" not in file.parts:
            yield file.relative_to(ROOT), file.read_text("utf8")


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_stands_twice(package):
    homes = defaultdict(set)
    for file, source in sources(package):
        for name, _ in names_in(source):
            is_size = package == "pictures" and name.isupper()  # its sizes
            if not is_size and not name.startswith("__"):
                homes[name].add(str(file))
    twice = {n: x for n, x in homes.items() if len(x) > 1 and n not in TWICE}
    assert twice == {}


# --- tests -----------------------------------------------------------------

FILES = sorted((ROOT / "tests").rglob("*.py"))
FOREIGN = re.compile(r"tests\.(?!helpers\b)")


@pytest.mark.slow
def test_what_tests_share_stands_in_helpers():
    imports = {file: imported_names(file.read_text("utf8")) for file in FILES}
    found = {f: [*filter(FOREIGN.match, x)] for f, x in imports.items()}
    assert {file: names for file, names in found.items() if names} == {}
    assert any(names for names in imports.values())

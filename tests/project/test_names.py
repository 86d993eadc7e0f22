"""Names say what they give: none twice in a package, and no participle. And
in the tests: who may import what, and how files and helpers are called."""

import ast
import re
from collections import Counter, defaultdict
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
# Those that are imperatives, too, are fine: read, put.
PARTICIPLE = re.compile(
    "begun|built|caught|done|drawn|felt|found|fused|given|got|held|hidden|kept|"
    "known|laid|led|left|lit|lost|made|met|paid|said|seen|sent|shown|sought|"
    "spent|stood|struck|taken|taught|thrown|told|torn|worn|written|(un)?heard|"
    "(under)?stood|undone|bent|bound|.{3,}(ed|ing)"
)
# What may be called so, and why.
TWICE = {
    "main": "what a tool does when it is run",
    "setup": "what Sphinx calls in an extension",
}
PARTICIPLES = {
    "cached": "public: cached(model), as functools has it",
    "planted": "public: planted(file, right, wrong)",
    "stored": "public: stored(name), what the book has measured",
    "Finding": "a noun",
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


def is_participle(name: str, node: ast.AST) -> bool:
    """Whether a name is one word that says what was or is being done; what a
    context manager lets one do is fine: `with evaluating(model)`."""
    word = name.strip("_").lower()
    if "_" in word or not PARTICIPLE.fullmatch(word):
        return False
    several = sum(map(str.isupper, name)) > 1 and not name.isupper()
    manages = "contextmanager" in ast.dump(node) or "ContextManager" in (
        ast.unparse(node)
    )
    return not several and not (word.endswith("ing") and manages)


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
def test_no_name_stands_twice_and_none_is_a_participle(package):
    homes, bad = defaultdict(set), []
    for file, source in sources(package):
        for name, node in names_in(source):
            is_size = package == "pictures" and name.isupper()  # its sizes
            if not is_size and not name.startswith("__"):
                homes[name].add(str(file))
                if is_participle(name, node) and name not in PARTICIPLES:
                    bad.append(f"{file}: {name}")
    twice = {n: x for n, x in homes.items() if len(x) > 1 and n not in TWICE}
    assert (twice, bad) == ({}, [])


# --- tests -----------------------------------------------------------------

FILES = sorted((ROOT / "tests").rglob("*.py"))
FOREIGN = re.compile(r"tests\.(?!helpers\b)")


@pytest.mark.slow
def test_what_tests_share_stands_in_helpers():
    imports = {file: imported_names(file.read_text("utf8")) for file in FILES}
    found = {f: [*filter(FOREIGN.match, x)] for f, x in imports.items()}
    assert {file: names for file, names in found.items() if names} == {}
    assert any(names for names in imports.values())


@pytest.mark.slow
def test_no_two_helpers_have_one_name():
    helpers = (ROOT / "tests" / "helpers").glob("*.py")
    names = Counter(
        name
        for file in helpers
        for name, node in names_in(file.read_text("utf8"))
        if isinstance(node, ast.FunctionDef)
    )
    assert [name for name, times in names.items() if times > 1] == []

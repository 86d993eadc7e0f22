"""The house rules that a machine can check."""

import ast
import inspect
import sys
from functools import cache
from pathlib import Path
from statistics import median

import pytest
from architecture import imported_names
from packages import PACKAGES

import tformer_lite
from tests.helpers.house import MODEL, MODULE, SITTING
from tests.helpers.project import ROOT, project_files, run

# A package, and a room, stands above all that it imports: floors from the
# ground up.
PACKAGE_FLOORS = (
    {"shapewatch"},
    {"tformer_lite"},
    {"classroom", "explorer", "gallery", "pictures"},
)
FLOORS = {
    "tformer_lite": (
        {"extras", "rounding", "hooks"},
        {"text"},
        {"model"},
        {"parts"},
        {"decoding"},
        {"drawing", "training"},
        {"example"},
        {"public"},
        {"__init__"},
        {"commands"},
        {"__main__"},
    ),
    "shapewatch": (
        {"tracing"},
        {"properties"},
        {"commands"},
        {"__init__"},
        {"__main__", "pytest_plugin"},
    ),
    "shapewatch.tracing": (
        {"axes", "source"},
        {"record", "markup"},
        {"tables", "lines"},
        {"calls", "inputs"},
        {"listing", "questions", "probing"},
        {"tree"},
        {"traced"},
        {"tracer"},
        {"printing"},
        {"__init__"},
    ),
}
FILES = sorted(
    file
    for package, above in PACKAGES.items()
    for file in (above / package).rglob("*.py")
)


def dotted(file: Path) -> list[str]:
    """The parts of a file's dotted name, its package first."""
    parts = [*file.with_suffix("").parts]
    first = max(parts.index(x) for x in PACKAGES if x in parts)
    return parts[first:]


def imports(source: str) -> list[str]:
    """The dotted names that a file imports, `from` names included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
    return imported_names(source)


def upward(file: Path, source: str) -> list[str]:
    """The imports of a file that do not point down: to a package beside its
    own or above it, or to such a room of a house that both are in."""
    here, found = dotted(file), []
    for name in imports(source):
        there = name.split(".")
        if there[0] in PACKAGES:
            found += [name] if not points_down(here, there) else []
    return found


def points_down(here: list[str], there: list[str]) -> bool:
    """Whether one place stands above another, or both share a room."""
    if here[0] != there[0]:
        return floor(PACKAGE_FLOORS, there[0]) < floor(PACKAGE_FLOORS, here[0])
    for depth in (1, 2):
        floors = FLOORS.get(".".join(here[:depth]))
        if floors and here[:depth] == there[:depth] != here:
            mine, other = here[depth], "".join(there[depth : depth + 1])
            if mine != other:
                return floor(floors, other) < floor(floors, mine)
    return True


def floor(floors: tuple[set[str], ...], room: str) -> int:
    """On which floor a room is; above all others, where it is on none."""
    return next((n for n, x in enumerate(floors) if room in x), len(floors))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=str)
def test_imports_point_down(file):
    assert upward(file, file.read_text("utf8")) == []


TRACING = ROOT / "shapewatch" / "tracing"


def test_imports_up_or_sideways_are_found():
    for file, source in (
        (TRACING / "tracer.py", "from tformer_lite.model.masks import Tensor"),
        (TRACING / "record" / "run.py", "import shapewatch.tracing.tables"),
        (MODULE / "text" / "pieces.py", "from tformer_lite.parts import bert"),
        (ROOT / "classroom/cases.py", "from pictures.dots import dots"),
    ):
        assert upward(file, source)
        assert not upward(file, "import torch, tests")


@pytest.mark.slow
def test_the_tracer_needs_torch_and_the_standard_library_alone():
    """pytest's plugin apart, which pytest itself loads."""
    own = {"pytest_plugin": {"pytest"}}
    for file in (ROOT / "shapewatch").rglob("*.py"):
        extra = own.get(file.stem, set())
        for name in imports(file.read_text("utf8")):
            top = name.split(".")[0]
            known = top in sys.stdlib_module_names
            assert known or top in {"shapewatch", "torch"} | extra, file


def test_the_hooks_are_a_file_of_plain_pytorch():
    file = MODULE / "hooks.py"
    source = file.read_text("utf8")
    assert len(source.splitlines()) <= 150
    tree = ast.parse(source)
    tops = {name.split(".")[0] for name in imports(source)}
    assert tops - sys.stdlib_module_names == {"torch", "shapewatch"}
    outside = [node for node in tree.body if "shapewatch" in ast.dump(node)]
    assert [type(x) for x in outside] == [ast.FunctionDef], "when asked for"


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf8"))


def lengths(kind: type, files: list[Path] = FILES) -> list[int]:
    """How many lines each function or class takes, docstrings apart."""
    found = []
    for file in files:
        for node in ast.walk(parsed(file)):
            if isinstance(node, kind):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                first = body[0].lineno if body else node.end_lineno
                found.append(node.end_lineno - first + 1)
    return sorted(found)


@pytest.mark.slow
def test_functions_classes_and_files_are_small():
    lines = lengths(ast.FunctionDef)
    assert lines[-1] <= 25
    # An exercise is data: it lists cases, and what each mistake gives.
    plain = [file for file in FILES if file.parent.name != "exercises"]
    assert median(lengths(ast.FunctionDef, plain)) <= 6
    assert lengths(ast.ClassDef)[-1] <= 50
    for file in project_files(ROOT):
        if file.suffix == ".py":
            lines = file.read_text("utf8").splitlines()
            assert len(lines) <= 700, f"{file}: two ideas?"


def test_the_model_can_be_read_in_one_sitting():
    files = [MODEL / f"{name}.py" for name in SITTING] + [MODULE / "hooks.py"]
    texts = [file.read_text("utf8") for file in files]
    assert sum(len(text.splitlines()) for text in texts) <= 800
    assert median(lengths(ast.FunctionDef, files)) <= 5


def test_public_names_are_listed_documented_and_no_modules_name():
    names = tformer_lite.__all__
    for name in names:
        assert inspect.getdoc(getattr(tformer_lite, name)), name
        assert not any(name in rooms for rooms in FLOORS["tformer_lite"])
    assert len({*names}) == len(names) > 90


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "ruff check --no-cache .",
        "ruff format --check --no-cache .",
        "codespell_lib",
    ],
)
def test_linters_have_nothing_to_say(command):
    """`make lint` says what, and `make format` lays code out."""
    said = run(ROOT, sys.executable, "-m", *command.split())
    assert said.returncode == 0, said.stdout

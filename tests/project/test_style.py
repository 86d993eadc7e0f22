"""The house rules that a machine can check."""

import ast
import inspect
import sys
from pathlib import Path
from statistics import median

import pytest

import tformer_lite
from tests.helpers.house import MODEL, MODULE, SITTING, SMALL
from tests.helpers.project import ROOT, project_files, run

# A room stands above all that it imports: floors from the ground up.
FLOORS = (
    {"extras", "rounding"},
    {"text", "tracing"},
    {"model"},
    {"decoding"},
    {"properties", "drawing", "explorer", "training"},
    {"example"},
    {"gallery"},
    {"classroom"},
    {"commands"},
    {"__init__"},
    {"__main__", "pytest_plugin"},
)
TRACING = MODULE / "tracing"
TRACING_FLOORS = (
    {"axes", "source", "dtypes"},
    {"record", "markup"},
    {"tables"},
    {"calls"},
    {"listing", "questions", "probing"},
    {"tree"},
    {"tracer"},
    {"printing"},
    {"__init__"},
)
PYTHON = [sys.executable, "-m"]
FILES = sorted(MODULE.rglob("*.py"))


def name_of(file: Path, house: Path) -> str:
    """The room of a house that a file belongs to."""
    return file.relative_to(house).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> list[str]:
    """The dotted names that a file imports, `from` names included."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def upward(file: Path, source: str, house=MODULE, floors=FLOORS) -> list[str]:
    """The imports of a file, from other rooms of a house, that do not point
    down."""
    rooms = {room: n for n, floor in enumerate(floors) for room in floor}
    here, prefix = name_of(file, house), f"{house.name}."
    found = []
    for name in imports(ast.parse(source)):
        _, inside, rest = f".{name}".partition(f".{prefix}")
        part = rest.split(".")[0]
        if inside and part != here:
            up = rooms.get(part, len(floors)) >= rooms[here]
            found += [name] if up else []
    return found


@pytest.mark.parametrize("file", FILES, ids=str)
def test_imports_point_down(file):
    assert upward(file, file.read_text("utf8")) == []


@pytest.mark.parametrize("file", sorted(TRACING.rglob("*.py")), ids=str)
def test_imports_between_the_rooms_of_tracing_point_down(file):
    source = file.read_text("utf8")
    assert upward(file, source, TRACING, TRACING_FLOORS) == []


def test_an_import_that_points_up_or_sideways_is_found():
    source = "from tformer_lite.model.layers import LayerNorm\nimport torch"
    assert upward(MODULE / "tracing" / "tracer.py", source)
    assert upward(MODULE / "text" / "pieces.py", source)
    assert not upward(MODULE / "drawing" / "heatmaps.py", source)
    source = "from shapewatch.tracing.tables import Row"
    file = TRACING / "record" / "run.py"
    assert upward(file, source, TRACING, TRACING_FLOORS)


def test_the_tracer_needs_torch_and_the_standard_library_alone():
    for file in (MODULE / "tracing").rglob("*.py"):
        for name in imports(ast.parse(file.read_text("utf8"))):
            top = name.split(".")[0]
            own = name.startswith("shapewatch.tracing")
            assert own or top == "torch" or top in sys.stdlib_module_names


def lengths(kind: type, files: list[Path] = FILES) -> list[int]:
    """How many lines each function or class takes, docstrings apart."""
    found = []
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf8"))):
            if isinstance(node, kind):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                first = body[0].lineno if body else node.end_lineno
                found.append(node.end_lineno - first + 1)
    return sorted(found)


def test_functions_classes_and_files_are_small():
    lines = lengths(ast.FunctionDef)
    assert lines[-1] <= 25
    # An exercise is data: it lists cases, and what each mistake gives.
    plain = [file for file in FILES if file.parent.name != "exercises"]
    assert median(lengths(ast.FunctionDef, plain)) <= 5
    assert lengths(ast.ClassDef)[-1] <= 45
    for file in project_files(ROOT):
        if file.suffix == ".py":
            assert len(file.read_text("utf8").splitlines()) <= 300, file


def code_lines(source: str) -> int:
    """The lines of a file that are neither blank, comment nor docstring."""
    tree = ast.parse(source)
    left_out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out |= set(range(node.lineno, node.end_lineno + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#")
        for i, line in enumerate(source.splitlines(), 1)
        if i not in left_out
    )


def test_the_model_can_be_read_in_one_sitting():
    names = SITTING + SMALL
    text = {n: (MODEL / f"{n}.py").read_text("utf8") for n in names}
    assert sum(len(text[name].splitlines()) for name in SITTING) < 700
    assert sum(map(code_lines, text.values())) < 700
    files = [MODEL / f"{name}.py" for name in SITTING]
    assert median(lengths(ast.FunctionDef, files)) <= 5


def test_public_names_are_listed_documented_and_no_modules_name():
    for name in tformer_lite.__all__:
        assert inspect.getdoc(getattr(tformer_lite, name)), name
        assert not any(name in rooms for rooms in FLOORS)
    assert tformer_lite.__all__ == sorted(tformer_lite.__all__)


def test_ruff_has_nothing_to_say():
    said = run(ROOT, *PYTHON, "ruff", "check", "--no-cache", ".")
    assert said.returncode == 0, said.stdout


def test_the_code_is_laid_out_as_ruff_does():
    said = run(ROOT, *PYTHON, "ruff", "format", "--check", "--no-cache", ".")
    assert said.returncode == 0, f"{said.stdout}\n`make format` does it."


def test_every_word_is_spelt_as_codespell_knows_it():
    said = run(ROOT, *PYTHON, "codespell_lib")
    assert said.returncode == 0, said.stdout


@pytest.mark.slow
def test_mypy_has_nothing_to_say():
    said = run(ROOT, *PYTHON, "mypy", "--cache-dir", "_build/mypy")
    assert said.returncode == 0, said.stdout

"""Every chapter: text and notebook are one, and it keeps the book's form."""

import ast
import itertools
import re
import statistics
from pathlib import Path

import jupytext
import nbformat
import pytest

import tformer_lite
from classroom.exercise import KINDS
from tests.helpers.project import ROOT

pytestmark = pytest.mark.slow

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
each_chapter = pytest.mark.parametrize(
    "text", CHAPTERS, ids=lambda path: path.stem
)


def notebook(text: Path) -> nbformat.NotebookNode:
    return nbformat.read(text.with_suffix(".ipynb"), as_version=4)


def tags(cell) -> set[str]:
    return {*cell.metadata.get("tags", [])}


def code_cells(cells: list) -> list:
    """The cells that teach: all code but the setup and the imports."""
    code = [cell for cell in cells if cell.cell_type == "code"]
    return [c for c in code if not tags(c) & {"setup", "imports"}]


def faults(cells: list) -> list[str]:
    """What is wrong with how a notebook was run."""
    code = [cell for cell in cells if cell.cell_type == "code"]
    found = []
    if [c.execution_count for c in code] != list(range(1, len(code) + 1)):
        found.append("not run once, from top to bottom")
    for output in (output for cell in code for output in cell.outputs):
        if output.output_type == "error":
            found.append(f"error: {output.evalue}")
        if output.get("name") == "stderr":
            found.append(f"stderr: {output.text}")
    return found


@each_chapter
def test_the_notebook_was_run_in_order_without_errors(text):
    assert faults(notebook(text).cells) == []


@each_chapter
def test_every_drawing_has_a_description_for_nbval_to_compare(text):
    for cell in notebook(text).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if any(kind.startswith("image/") for kind in data):
                # Of the poster, a preview; to read it there is a PDF.
                is_poster = cell.source.startswith("poster(")
                assert is_poster or "image/svg+xml" in data
                assert len(data["text/plain"]) > 80


# --- the form ------------------------------------------------------------


def names_defined(source: str) -> set[str]:
    """The names that a cell binds, imports from the module apart."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            ours = getattr(node, "module", "") == "tformer_lite"
            names = [alias.asname or alias.name for alias in node.names]
            found.update([] if ours else names)
    return found


def breaches(cells: list) -> list[str]:
    """Where a chapter leaves the book's form."""
    found = []
    exported = set(tformer_lite.__all__)
    for cell in code_cells(cells):
        if len(cell.source.splitlines()) > 20:
            found.append(f"over 20 lines: {cell.source}")
        for line in cell.source.splitlines():
            if len(line) > 76:
                found.append(f"over 76 columns: {line}")
        if cell.source.rstrip().endswith(";"):
            found.append(f"nbval ignores a closing ';': {cell.source}")
        if "build" not in tags(cell):
            for name in names_defined(cell.source) & exported:
                found.append(f"defines {name}, which the module exports")
        for word in ("plt", "matplotlib", "urllib", "requests", "NBVAL"):
            if re.search(rf"\b{word}", cell.source):
                found.append(f"uses {word}: {cell.source}")
        for output in cell.get("outputs", []):
            shown = output.get("text", "")
            shown += output.get("data", {}).get("text/plain", "")
            found += [f"prints {x}" for x in re.findall(r"\d+\.\d{3,}", shown)]
    return found


@each_chapter
def test_a_chapter_keeps_the_books_form(text):
    assert breaches(notebook(text).cells) == []


@each_chapter
def test_most_cells_are_short_and_have_prose_before_them(text):
    cells = notebook(text).cells
    code = code_cells(cells)
    loose = [cell for cell in code if "build" not in tags(cell)]
    sizes = [len(cell.source.splitlines()) for cell in loose]
    assert statistics.median(sizes) <= 6
    assert sum(size <= 6 for size in sizes) >= 0.8 * len(sizes)
    led = [
        before.cell_type == "markdown"
        for before, cell in itertools.pairwise(cells)
        if cell in code
    ]
    assert sum(led) >= 0.85 * len(led)


def prose_of(text: Path) -> str:
    """All that a chapter says, code apart."""
    cells = notebook(text).cells
    return "\n\n".join(c.source for c in cells if c.cell_type == "markdown")


def is_built(text: Path) -> bool:
    """Whether a chapter is one of those in which the model is built."""
    return int(text.stem[:2]) <= 12


@each_chapter
def test_a_chapter_is_as_long_as_it_should_be_and_ends_as_all_do(text):
    prose = prose_of(text)
    heads = re.findall(r"^## (.*)$", prose, re.MULTILINE)
    words = len(
        re.findall(r"\w[\w'’-]*", re.sub(MARKS, "", first_part(prose)))
    )
    saw = "What we built" if is_built(text) else "What we saw"
    end = [saw, "Exercises", "For later", "Sources"]
    assert 1000 <= words <= 1600
    assert heads[-len(end) :] == end


MARKS = r"</?[a-z][^>]*>|\]\([^)]*\)"


def first_part(prose: str) -> str:
    """What a first reader reads: all before *For later*."""
    return prose.split("\n## For later\n")[0]


@each_chapter
def test_a_chapter_has_100_lines_of_code_at_most(text):
    cells = notebook(text).cells
    later = [i for i, c in enumerate(cells) if "## For later" in c.source]
    code = [
        c.source for c in code_cells(cells[: later[0]] if later else cells)
    ]
    lines = [x for x in "\n".join(code).splitlines() if x.strip()]
    assert len(lines) <= 100


@each_chapter
def test_imports_are_folded_and_a_picture_stands_before_the_first_section(
    text,
):
    cells = notebook(text).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [tags(c) for c in code[:2]] == [
        {"setup", "remove-cell"},
        {"imports", "hide-cell"},
    ]
    if is_built(text):
        first = next(i for i, c in enumerate(cells) if "\n## " in c.source)
        shown = [o.get("data", {}) for o in code[2].outputs]
        assert cells.index(code[2]) <= first
        assert any("image/svg+xml" in data for data in shown)


@each_chapter
def test_a_chapter_asks_three_questions_or_more_with_their_answers(text):
    folds = prose_of(text).split('<details class="predict">')[1:]
    assert len(folds) >= 3
    for fold in folds:
        question, answer = fold.split("</details>")[0].split("</summary>")
        assert "Predict" in question
        assert answer.strip()


TYPED = re.compile(r"\((?:\d+|[BTSHDCFV])(?:, (?:\d+|[BTSHDCFV]))+\)")


@each_chapter
def test_no_shape_in_prose_is_typed_by_hand(text):
    prose = jupytext.read(text).cells
    code = r"```.*?```|`[^`]*`|\$[^$]*\$|<code>.*?</code>"
    plain = re.sub(
        code,
        "",
        "\n".join(c.source for c in prose if c.cell_type == "markdown"),
        flags=re.DOTALL,
    )
    assert TYPED.findall(plain) == []


EXERCISE = re.compile(
    r"^\d\. \*\*[^*]+\*\*\s+\(([^,)]+),\s+\d+\s+minutes\)\. (?:.|\n)+?"
    r'<details class="hint">\n\s+<summary>Hint</summary>\n\n'
    r"((?:.|\n)+?)\n\s+</details>",
    re.MULTILINE,
)


@each_chapter
def test_a_chapter_has_three_to_five_exercises_each_with_a_hint(text):
    section = prose_of(text).split("\n## Exercises\n")[1].split("\n## ")[0]
    found = EXERCISE.findall(section)
    kinds = [" ".join(kind.split()) for kind, hint in found if hint.strip()]
    numbered = re.findall(r"^\d\. ", section, re.MULTILINE)
    assert 3 <= len(kinds) == len(numbered) <= 5
    assert set(kinds) <= set(KINDS.values())

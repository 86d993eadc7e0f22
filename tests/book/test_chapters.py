"""Every chapter: text and notebook are one, which was run, and it keeps the
book's form."""

import ast
import re

import jupytext
import nbformat
import pairs
import pytest
import roles

from classroom.exercise import KINDS
from tests.helpers.project import NOTEBOOKS, ROOT

pytestmark = pytest.mark.slow

TAGS = r"</?[a-z][^>]*>|\]\([^)]*\)"
CODE = r"```.*?```|`[^`]*`|\$[^$]*\$|<code>.*?</code>"
TYPED_SHAPE = re.compile(r"\((?:\d+|[BTSHDCFV])(?:, (?:\d+|[BTSHDCFV]))+\)")
EXERCISE = re.compile(
    r"^\d\. \*\*[^*]+\*\*\s+\(([^,)]+),\s+\d+\s+minutes\)\. (?:.|\n)+?"
    r'<details class="hint">\n\s+<summary>Hint</summary>\n\n'
    r"((?:.|\n)+?)\n\s+</details>",
    re.MULTILINE,
)


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda file: file.stem)
def chapter(request):
    return request.param


@pytest.fixture(scope="module")
def is_built(chapter) -> bool:
    """Whether a chapter is one of those in which the model is built."""
    return int(chapter.stem[:2]) <= 14


@pytest.fixture(scope="module")
def cells(chapter) -> list:
    return nbformat.read(chapter, as_version=4).cells


@pytest.fixture(scope="module")
def code(cells) -> list:
    return [cell for cell in cells if cell.cell_type == "code"]


@pytest.fixture(scope="module")
def prose(cells) -> str:
    """All that a chapter says, code apart."""
    return "\n\n".join(c.source for c in cells if c.cell_type == "markdown")


def tags(cell) -> set[str]:
    return {*cell.metadata.get("tags", [])}


def lessons(cells: list) -> list:
    """The cells that teach: all code but the setup and the imports."""
    code = [cell for cell in cells if cell.cell_type == "code"]
    return [c for c in code if not tags(c) & {"setup", "imports"}]


# --- text and notebook -----------------------------------------------------


def test_a_text_and_its_notebook_say_the_same(chapter):
    text, notebook = chapter.with_suffix(".md"), nbformat.read(chapter, 4)
    written, half = text.read_text("utf8"), pairs.chapter_of(text)
    filled = roles.with_words(written, ROOT / "book")
    assert roles.with_roles(filled) == written
    assert pairs.as_text(half) == pairs.as_text(notebook) == written
    assert half.metadata == notebook.metadata
    cells, wanted = (
        [(cell.id, cell.source, cell.metadata) for cell in each.cells]
        for each in (notebook, half)
    )
    assert cells == wanted
    assert len({cell[0] for cell in cells}) == len(cells)


def test_the_notebook_was_run_in_order_without_errors(code):
    counts = [cell.execution_count for cell in code]
    assert counts == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert [o for o in outputs if o.output_type == "error"] == []
    assert [o for o in outputs if o.get("name") == "stderr"] == []


def test_every_drawing_has_a_description_for_nbval_to_compare(code):
    for cell in code:
        for output in cell.outputs:
            data = output.get("data", {})
            if any(kind.startswith("image/") for kind in data):
                assert "image/svg+xml" in data
                assert len(data["text/plain"]) > 80


# --- the form ------------------------------------------------------------


def breaches(cell) -> list[str]:
    """Where a cell leaves the book's form."""
    source = cell.source.rstrip()
    lines = source.splitlines()
    faults = ["over 20 lines"] * (len(lines) > 20)
    faults += [f"over 76 columns: {line}" for line in lines if len(line) > 76]
    faults += ["nbval ignores a closing ';'"] * source.endswith(";")
    for word in ("plt", "matplotlib", "urllib", "requests", "NBVAL"):
        faults += [f"uses {word}"] * bool(re.search(rf"\b{word}", source))
    for output in cell.outputs:
        shown = output.get("text", "")
        shown += output.get("data", {}).get("text/plain", "")
        faults += [f"prints {x}" for x in re.findall(r"\d+\.\d{3,}", shown)]
    return faults


def test_a_chapter_keeps_the_books_form(cells):
    assert [(c.source, x) for c in lessons(cells) for x in breaches(c)] == []


def test_what_a_first_reader_reads_is_as_long_as_it_should_be(cells, prose):
    """All before *For later*."""
    first = prose.split("\n## For later\n")[0]
    words = re.findall(r"\w[\w'’-]*", re.sub(TAGS, "", first))
    assert 1000 <= len(words) <= 1600
    later = [i for i, c in enumerate(cells) if "## For later" in c.source]
    code = lessons(cells[: later[0]] if later else cells)
    lines = "\n".join(cell.source for cell in code).splitlines()
    assert len(list(filter(str.strip, lines))) <= 100


def test_a_chapter_ends_as_all_do(prose, is_built):
    heads = re.findall(r"^## (.*)$", prose, re.MULTILINE)
    saw = "What we built" if is_built else "What we saw"
    assert heads[-4:] == [saw, "Exercises", "For later", "Sources"]


def test_imports_are_folded_and_a_picture_stands_before_the_first_section(
    cells, code, is_built
):
    assert [tags(cell) for cell in code[:2]] == [
        {"setup", "remove-cell"},
        {"imports", "hide-cell"},
    ]
    if is_built:
        first = next(i for i, c in enumerate(cells) if "\n## " in c.source)
        shown = [output.get("data", {}) for output in code[2].outputs]
        assert cells.index(code[2]) <= first
        assert any("image/svg+xml" in data for data in shown)


def test_a_chapter_asks_three_questions_or_more_with_their_answers(prose):
    folds = prose.split('<details class="predict">')[1:]
    assert len(folds) >= 3
    for fold in folds:
        question, answer = fold.split("</details>")[0].split("</summary>")
        assert "Predict" in question
        assert answer.strip()


def made_and_used(cell) -> tuple[set[str], set[str]]:
    """The names that a cell gives to something, and those that it reads."""
    tree = [*ast.walk(ast.parse(cell.source))]
    names = [node for node in tree if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    made = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    made |= {node.arg for node in tree if isinstance(node, ast.arg)}
    kinds = ast.FunctionDef | ast.ClassDef
    made |= {node.name for node in tree if isinstance(node, kinds)}
    return made, used


def test_an_open_cell_uses_nothing_that_only_a_closed_one_computes(code):
    closed, opened = set(), set()
    for cell in code[1:]:
        made, used = made_and_used(cell)
        if tags(cell) & {"imports", "answer", "hide-input"}:
            closed |= made
        else:
            assert used & closed - opened - made == set(), cell.source
            opened |= made


def test_no_shape_in_prose_is_typed_by_hand(chapter):
    text = jupytext.read(chapter.with_suffix(".md")).cells
    plain = "\n".join(c.source for c in text if c.cell_type == "markdown")
    plain = re.sub(CODE, "", plain, flags=re.DOTALL)
    assert TYPED_SHAPE.findall(plain) == []


def test_no_line_within_a_paragraph_begins_a_list(prose):
    """`1.` at the start of a line would."""
    assert re.findall(r"^(?!\s*[\d*-])\s*\S.*\n *1\. ", prose, re.M) == []


def test_a_chapter_has_three_to_five_exercises_each_with_a_hint(prose):
    section = prose.split("\n## Exercises\n")[1].split("\n## ")[0]
    exercises = EXERCISE.findall(section)
    kinds = [
        " ".join(kind.split()) for kind, hint in exercises if hint.strip()
    ]
    numbered = re.findall(r"^\d\. ", section, re.MULTILINE)
    assert 3 <= len(kinds) == len(numbered) <= 5
    assert {*kinds} <= {*KINDS.values()}

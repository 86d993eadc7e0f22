"""The exercise notebooks: each has what a learner alone at night needs."""

import json
import re
import sys
from collections import Counter

import nbformat
import pytest
import shapes
from docutils.nodes import make_id

from classroom.exercise import KINDS, exercises
from tests.helpers.answers import sections
from tests.helpers.project import EXERCISES, NOTEBOOKS, ROOT, run

ALL = {name: x for name, x in exercises().items() if not x.points}
each_notebook = pytest.mark.parametrize(
    "file", EXERCISES, ids=lambda file: file.stem
)
TORCH_ALONE = """
import sys
for name in "matplotlib", "seaborn", "numpy", "tqdm", "PIL":
    sys.modules[name] = None
from classroom import check
check("dealt_out", lambda x, n: x.unflatten(-1, (n, -1)).transpose(1, 2))
check("dealt_out", lambda x, n: x.view(len(x), n, x.size(1), -1))
"""


def test_every_chapter_has_a_notebook_with_two_or_more():
    assert [f.name for f in EXERCISES] == [f.name for f in NOTEBOOKS]
    counts = Counter(each.chapter for each in ALL.values())
    assert sorted(counts) == [*range(len(NOTEBOOKS))]
    assert min(counts.values()) >= 2
    assert len(ALL) >= 48
    assert sum(each.assignable for each in ALL.values()) >= 14
    kinds = {each.kind for each in ALL.values()}
    assert kinds | {"hunt", "result"} == {*KINDS}


@pytest.mark.parametrize("name", ALL)
def test_an_exercise_stands_where_it_belongs_with_all_its_parts(name):
    each, text = ALL[name], sections()[name]
    heading = text.splitlines()[0]
    assert re.fullmatch(rf"\d+ · {re.escape(each.title)}", heading)
    assert f'<data value="exercise {name}">' in text
    assert f'check("{name}", {name})' in text
    assert "<summary>A hint</summary>" in text
    has_solution = "<summary>A solution, after an honest try</summary>" in text
    assert has_solution != each.assignable
    assert 2 <= each.minutes <= 60
    assert each.level in (1, 2, 3)
    assert each.teaches
    assert each.teaches[-1] != "."


@each_notebook
def test_a_notebook_has_no_other_exercises_and_numbers_them(file):
    cells = nbformat.read(file, as_version=4).cells
    text = "\n".join(cell.source for cell in cells)
    names = re.findall(r'^check\("(\w+)"', text, re.MULTILINE)
    chapter = int(file.stem[:2])
    own = [name for name, each in ALL.items() if each.chapter == chapter]
    assert sorted(names) == sorted(own)
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    numbers = [int(head.partition(" · ")[0]) for head in heads]
    assert numbers == [*range(1, len(own) + 1)]
    assert len({make_id(head) for head in heads}) == len(heads)
    assert "Save a copy in Drive" in " ".join(text.split())
    assert f"../{file.stem}" in text


@each_notebook
def test_a_stub_is_not_yet_right(file):
    """And says so, or names the bug that is to be found in it."""
    said = []
    for cell in nbformat.read(file, as_version=4).cells:
        for output in cell.get("outputs", []):
            said += [output.get("text", "")]
            assert output.output_type != "error"
    checks = [text for text in said if re.match("[✗✓–]", text)]
    assert len(checks) == sum(
        each.chapter == int(file.stem[:2]) for each in ALL.values()
    )
    assert all(text.startswith("✗") for text in checks)


def test_the_list_that_the_book_is_built_from_is_that_of_the_module():
    stored = (ROOT / "book" / "exercises.json").read_text("utf8")
    assert json.loads(stored) == shapes.exercise_data()


@pytest.mark.full
def test_check_needs_nothing_but_torch():
    done = run(ROOT, sys.executable, "-W", "ignore", "-c", TORCH_ALONE)
    assert done.stdout.count("dealt_out") == 2, done.stderr
    assert "each head has its own positions" in done.stdout

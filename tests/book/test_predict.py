"""Questions that ask for a guess: what gives the answer away is folded with
it, in pages and in notebooks, and a typed shape gets an answer in the page.
"""

import os
import subprocess
import sys

import jupytext
import nbformat
import pairs
import pytest
from playwright.sync_api import expect

from tests.helpers.browser import CHAPTERS
from tests.helpers.project import ROOT

FOLD = '<details class="predict">'
HEAD = """---
kernelspec: {name: python3, display_name: Python 3, language: python}
---
# A title
"""
QUESTION = f"""
{FOLD}
<summary><b>Predict</b>: what comes out?</summary>

{{}}, and this is why.

</details>
"""
ANSWER = """
```{code-cell} ipython3
:tags: [answer]

given_away = 1
```
"""
CELL = ANSWER.replace(":tags: [answer]\n\n", "").replace("given", "not_given")


def built(folder, text: str) -> tuple[str, str]:
    """Build a page of a notebook: its HTML, and the warnings."""
    notebook = jupytext.reads(HEAD + text, "md:myst")
    nbformat.write(notebook, folder / "index.ipynb")
    options = ["-D", "extensions=words,predict,myst_nb", "-D"]
    options += ["nb_execution_mode=off", "-D", "root_doc=index"]
    html = folder / "html"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-CEq", *options, folder, html],
        env={**os.environ, "PYTHONPATH": str(ROOT / "book" / "_ext")},
        capture_output=True,
        text=True,
    )
    return (html / "index.html").read_text("utf8"), done.stderr


# --- pages ---------------------------------------------------------------


@pytest.mark.full
def test_cells_of_an_answer_are_folded_with_it(tmp_path):
    shape = pairs.with_fresh_words(QUESTION.format("{axes}`q`"), ROOT / "book")
    page, said = built(tmp_path, shape + ANSWER + ANSWER + "\nOn.\n" + CELL)
    fold = page[page.index("<details") : page.index("</details>")]
    assert fold.count("given_away") == 2
    assert "On." not in fold
    assert "not_given_away" not in fold
    assert 'data-shape="B 2,H 3,T 8,D 4"' in fold
    assert said == ""


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ANSWER, "this cell is tagged `answer`, but stands right after no"),
        (QUESTION + CELL, "the cell right after this question is not tagged"),
        (QUESTION.replace("\n\n", "\n"), "needs </details> on a line"),
        ("{axis}`Q`", "there is no axis 'Q'"),
    ],
)
def test_a_cell_or_a_tag_that_is_amiss_is_a_warning(tmp_path, text, says):
    assert says in built(tmp_path, text)[1]


# --- notebooks -----------------------------------------------------------


def test_an_answer_starts_folded_in_a_notebook_and_its_text_is_plain(tmp_path):
    text = tmp_path / "chapters" / "00_one.md"
    text.parent.mkdir()
    text.write_text(HEAD + QUESTION.format("A") + ANSWER + "\nOn.\n" + CELL)
    notebook = pairs.chapter_of(text)
    answer, other = [c for c in notebook.cells if c.cell_type == "code"]
    assert answer.metadata.jupyter.outputs_hidden
    assert answer.metadata.cellView == "form"
    assert other.metadata == {}
    plain = pairs.as_text(notebook)
    assert "hidden" not in plain
    answer.metadata.jupyter.outputs_hidden = False  # a reader has opened it
    assert pairs.as_text(notebook) == plain


# --- a typed shape in a page ---------------------------------------------

TYPED = f"""article => article.innerHTML = `<h1>Title</h1>
{FOLD.replace(">", ' data-shape="B 2,H 3,T 8,D 4">')}
<summary><b>Predict the shape</b>: of <code>q</code>?</summary>
<p>(B, H, T, D): so it is.</p></details>
{QUESTION.format("Two")}`"""


@pytest.mark.full
def test_a_shape_is_typed_with_the_keyboard_and_opens_the_answer(visit):
    page = visit(CHAPTERS[5]).page
    page.locator("article").evaluate(TYPED)
    script = ROOT / "_build" / "html" / "_static" / "predict.js"
    page.add_script_tag(path=script)
    fold = page.locator("details.predict").first
    page.locator("article").press("Tab")
    page.get_by_label("Your shape").focus()
    page.keyboard.type("(2, 8, 3, 4)")
    page.keyboard.press("Enter")
    status = page.get_by_role("status")
    expect(status).to_contain_text("swapped: transposed where?")
    assert fold.evaluate("fold => fold.open") is False
    expect(page.get_by_text("so it is")).to_be_hidden()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Check")).to_be_focused()
    page.keyboard.press("Tab")
    expect(fold.locator("summary")).to_be_focused()
    page.get_by_label("Your shape").fill("b h t d")
    page.get_by_role("button", name="Check").click()
    expect(status).to_contain_text("Right: (2, 3, 8, 4) is (B, H, T, D).")
    expect(page.get_by_text("so it is")).to_be_visible()

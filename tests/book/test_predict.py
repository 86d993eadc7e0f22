"""Questions that ask for a guess: what gives the answer away is folded with
it, in pages and in notebooks. A typed shape is compared with a measured one:
what is right is said to be right, and of what is wrong, which axis."""

import re
import sys
from pathlib import Path

import jupytext
import nbformat
import pairs
import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect
from scripts import name_of, notation, size_of

from tests.helpers.browser import CHAPTERS, HTML
from tests.helpers.project import ROOT, run
from tests.helpers.scripts import answer

FOLD = '<details class="predict">'
TEXT = Path(__file__).with_name("question.md").read_text("utf8")
HEAD, QUESTION, ANSWER = TEXT.split("%%%\n")
CELL = ANSWER.replace(":tags: [answer]\n\n", "").replace("given", "not_given")


def built(folder, text: str) -> tuple[str, str]:
    """Build a page of a notebook: its HTML, and the warnings."""
    notebook = jupytext.reads(HEAD + text, "md:myst")
    nbformat.write(notebook, folder / "index.ipynb")
    options = ["-D", "extensions=words,predict,myst_nb", "-D"]
    options += ["nb_execution_mode=off", "-D", "root_doc=index"]
    html = folder / "html"
    python = "env", f"PYTHONPATH={ROOT / 'book' / '_ext'}", sys.executable
    done = run(ROOT, *python, "-m", "sphinx", "-CEq", *options, folder, html)
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


AMISS = {
    "this cell is tagged `answer`, but stands right after no": ANSWER,
    "the cell right after this question is not tagged": QUESTION + CELL,
    "there is no axis 'Q'": "{axis}`Q`",
    "needs </details> on a line": QUESTION.replace("\n\n", "\n"),
}


@pytest.mark.full
def test_a_cell_or_a_tag_that_is_amiss_is_a_warning(tmp_path):
    said = built(tmp_path, "\n\nOn.\n\n".join(AMISS.values()))[1]
    assert [warning for warning in AMISS if warning not in said] == []


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_picture_is_first_and_its_code_and_the_imports_one_fold(chapter):
    page = BeautifulSoup((HTML / chapter).read_text("utf8"), "html.parser")
    first, fold = page.select("article :is(.figure, .cell > .hide)")[:2]
    assert "figure" in first["class"]
    assert len(fold.select(".cell_input")) == 2


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


# --- what is said of a typed shape ----------------------------------------

# The module that a page's script is made of.
MODULE = ROOT / "book" / "_static" / "shapes.mjs"
ASK = """
({ letters, cases }) => cases.map(([measured, typed]) =>
    check(typed, written(measured), new Map(letters)))
"""
# Each axis letter with its name, size and name in code, as a page's legend
# has them.
LETTERS = [
    (letter, {"name": name_of(means), "size": size_of(letter), "code": code})
    for letter, means, code in notation()
]

Q, SCORES, X = "B 2,H 3,T 8,D 4", "B 2,H 3,T 8,S 8", "B 2,T 8,C 12"
LOGITS, MASK = "B 2,T 8,V 1024", "1 1,1 1,T 8,T 8"
SWAPPED = "heads (H) and target positions (T) are swapped: transposed where?"
CASES = {
    ("right", Q): dict.fromkeys(
        ["2x3x8x4", "torch.Size([2, 3, 8, 4])", "BHTD", "b, h, t, d",
         "B n_heads T D", "B=2, H=3, T=8, D=4", "`2, 3, 8, 4`"],
        "Right: ",
    ),
    ("right", LOGITS): {"(2, 8, 1,024)": "Right: "},
    ("right", MASK): {"1, 1, T, T": "Right: "},
    ("right", "T 8"): {"(8,)": "Right: "},
    ("right", ""): {"()": "Right: "},
    ("nearly", SCORES): {
        "B H S T": "(T) and source positions (S) are swapped: both are 8",
    },
    ("nearly", X): {
        "B T H*D": "the last axis is channels (C), not H·D: both are 12",
    },
    ("wrong", Q): {
        "(2, 8, 3, 4)": SWAPPED,
        "2 8 12": "heads (H) and channels per head (D) are still joined: "
        "12 = H · D.",
        "2 3 8 48": "the last axis cannot be 48, the size of hidden channels "
        "of the feed-forward layer (F); here it is channels per head (D), 4.",
        "2 3 8 7": "the last axis cannot be 7, which is the size of no letter",
        "4 8 3 2": "another order. The first is batch (B).",
        "2 3 8 4 8": "too many: 8, the size of target positions (T) or "
        "source positions (S).",
        "7 7 7 7": "4 axes are not right; the first axis cannot be 7",
    },
    ("wrong", SCORES): {
        "2 3 8": "missing: source positions (S) or target positions",
    },
    ("wrong", X): {
        "2 8 3 4": "3 and 4 are one axis here: channels (C), 12 = 3 · 4.",
    },
    ("wrong", MASK): {
        "8 8": "2 axes are missing: an axis of size 1 and another.",
    },
    ("unread", Q): {
        "": "Type a shape.",
        "2, -1, 4": "-1 lets PyTorch work a size out. Which one will it be?",
        "<b>2</b>": "is no axis that I know.",
    },
}  # fmt: skip
EVERY = [
    (verdict, measured, typed, says)
    for (verdict, measured), answers in CASES.items()
    for typed, says in answers.items()
]


def judged(cases: list[tuple[str, str]]) -> list[dict]:
    """Check pairs of a measured shape and a typed one."""
    return answer([MODULE], ASK, {"letters": LETTERS, "cases": cases})


@pytest.mark.slow
def test_a_typed_shape_is_told_what_is_wrong():
    answers = judged([(measured, typed) for _, measured, typed, _ in EVERY])
    for case, said in zip(EVERY, answers, strict=True):
        verdict, *_, says = case
        assert said["verdict"] == verdict, case
        assert says in said["says"], case


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["details", "div"])
def test_what_follows_a_question_is_blurred_until_it_is_answered(visit, kind):
    page = visit(CHAPTERS[6]).page
    folds = page.locator("details.predict")
    folds.evaluate_all("all => all.forEach(fold => fold.open = false)")
    text = page.locator(f"{kind}.predict + p").first
    expect(text).to_have_css("filter", re.compile("blur"))
    text.click()
    expect(text).to_have_css("filter", "none")
    assert folds.evaluate_all("all => all.filter(x => x.open).length") == 1

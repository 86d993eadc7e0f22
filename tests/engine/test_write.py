"""Cells that one writes in a page: what does as the book's lines do passes, of
what does not a sentence says why; and it comes into the reader's file."""

import re

import one_file
import pytest
from playwright.sync_api import expect
from scripts import SCRIPTS, parts_to_write

from tests.helpers.browser import SITE
from tests.helpers.engine import ask, open_engine
from tests.helpers.my_file import MY_TEXT

pytestmark = pytest.mark.slow
TEXT = re.sub(r"  # chapter \d+$", "", MY_TEXT, flags=re.MULTILINE)
PARTS = {next(iter(one_file.definitions(x))): x for x in parts_to_write()}
HEADS = f"{PARTS['split_heads']}\n\n{PARTS['join_heads']}"
BY_VIEW = """\
import torch
def split_heads(x, n_heads):
\tB, T, C = x.shape
\treturn x.view(B, T, n_heads, C // n_heads).permute(0, 2, 1, 3)

def join_heads(x):
    return x.transpose(1, 2).reshape(len(x), x.shape[2], -1)"""
WRONG = [
    ("has no query.weight", "MultiHeadAttention", "self.query", "self.q"),
    ("0, 0], is 0.10974", "MultiHeadAttention", "k, v, mask", "k, v"),
    ("is 0.2887 times", "TokenEmbedding", " * self.embedding_dim**0.5", ""),
    ("axes 2 and 3 swapped", "causal_mask", ".tril()", ".tril().mT"),
    ("with larger numbers", "LearnedPositions", " * 0.5**0.5", ""),
    ("at [0, 0], is", "load", "model.load_state_dict(numbers)", ""),
    ("is not there yet", "greedy", "greedy", "greddy"),
]
PAGE = f"""<div class="cell"><pre>{HEADS}</pre>
<button class="write" aria-busy="true"></button></div>"""


def test_what_does_as_the_book_does_comes_into_the_readers_file(chromium):
    page = chromium.new_page()
    page.route(f"{SITE}/*", lambda route: route.fulfill(body=PAGE))
    page.goto(f"{SITE}/05_heads.html")
    open_engine(page)
    pairs = [*zip(PARTS.values(), PARTS.values())]
    pairs += [(PARTS[x], PARTS[x].replace(*edit)) for _, x, *edit in WRONG]
    job = {"do": "check", "text": TEXT}
    found = ask(page, *(job | {"cell": x, "own": own} for x, own in pairs))
    says = [job["seen"][0]["says"] for job, _ in found]
    assert says[: -len(WRONG)] == [""] * 16
    assert all(x[0] in said for x, said in zip(WRONG, says[16:])), says
    page.add_script_tag(content=SCRIPTS["write.js"].text())
    area, status = page.get_by_label("Your split"), page.get_by_role("status")
    assert area.input_value().count("    ...\n") == 2
    area.fill(BY_VIEW.replace("x.view(", "x.view"))
    area.press("Control+Enter")
    expect(status).to_have_text("Line 4: SyntaxError: invalid syntax")
    area.fill("while True: pass")
    area.press("Control+Enter")
    page.get_by_role("button", name="Stop").click()
    expect(status).to_have_text("Stopped.")
    area.fill(BY_VIEW)
    page.get_by_role("button", name="Run").click()
    expect(status).to_contain_text("Yours so far: 2 of the model’s 16 parts.")
    assert "(1, 8, 12) → (1, 3, 8, 4)" in status.inner_text()
    mine = page.evaluate("localStorage['my_transformer.py']")
    own = BY_VIEW.replace("import torch", "import torch  # chapter 5")
    assert (
        mine.replace(own, HEADS.replace(":", ":  # chapter 5", 1)) == MY_TEXT
    )

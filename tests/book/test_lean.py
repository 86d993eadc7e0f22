"""What the extensions make of pages: icons, formulas, and no more than a page
uses."""

from pathlib import Path

import formulas
import lean
import pytest

from tests.helpers.browser import HTML


def read(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf8")


def test_a_formula_is_set_with_its_names_and_lines_or_noticed():
    made = formulas.mathml(r"\mathrm{softmax}(d_k)", "inline")
    assert "<mi>softmax</mi>" in made
    assert "<msub><mi>d</mi><mi>k</mi></msub>" in made
    made = formulas.mathml(r"a &= b \\ c &= d", "block")
    assert made.count("<mtr>") == 2
    assert not formulas.NOT_READ.search(made)
    assert formulas.NOT_READ.search(formulas.mathml(r"\nothing x", "inline"))


SHEET = read("rules.css")
KEPT = read("rules_kept.css")


def test_rules_that_nothing_meets_go_and_no_others():
    made = lean.light_sheet(SHEET, {"used"})
    assert "".join(made.split()) == "".join(KEPT.split())


def test_a_word_of_a_page_or_a_script_keeps_its_rules(tmp_path):
    page = '<p class="one two-b">three</p><script>add("five")</script>'
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "a.mjs").write_text('add("six");')
    words = lean.words_used(tmp_path)
    assert {"one", "two-b", "five", "six"} <= words
    assert "three" not in words


@pytest.mark.full
def test_in_the_built_book_the_theme_does_not_ask():
    theme = HTML / "_static" / "scripts" / "pydata-sphinx-theme.js"
    script = theme.read_text("utf8")
    assert "tabIndex=" in script
    assert '"load"' not in script


PAGE = read("heavy.html")


def test_a_page_loads_what_it_uses_beside_its_text():
    page = lean.light_page(PAGE.format("words"))
    assert page.count("viewport") == 1
    assert "preload" not in page
    assert "fontawesome" not in page
    assert "bootstrap" not in page
    assert "clipboard" not in page
    assert '<script defer src="_static/doctools.js">' in page
    assert '<script src="_static/book.js">' in page
    code = lean.light_page(PAGE.format('<div class="highlight"></div>'))
    assert '<script defer src="_static/clipboard.min.js">' in code

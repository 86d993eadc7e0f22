"""What the extensions make of pages: icons, formulas, and no more than a page
uses."""

import re

import formulas
import lean
import pytest

from tests.helpers.browser import HTML

SCRIPT = (
    'bars:[448,512,["navicon"],"f0c9","M0 9"],'
    '"circle-up":[512,512,[61467],"f0aa",["M1 1","M2 2"]],'
    'file:[384,512,[128196,"page"],"f15b","M3 9"]'
)


def test_an_icon_is_drawn_where_it_is_named(tmp_path):
    """By an alias, too; and one that is not there is marked."""
    file = tmp_path / "icons.js"
    file.write_text(SCRIPT)
    drawings = lean.icons_in(file)
    page = '<i class="fa-solid fa-navicon fa-lg" title="D"></i>'
    assert lean.with_icons(page, drawings) == (
        '<svg class="svg-inline--fa fa-navicon fa-lg" aria-hidden="true" '
        'viewBox="0 0 448 512"><path fill="currentColor" d="M0 9"/></svg>'
    )
    gone = lean.with_icons('<span class="fas fa-gone"></span>', drawings)
    assert '<path class="missing"/>' in gone


def test_a_formula_is_set_with_its_names_and_lines_or_noticed():
    made = formulas.mathml(r"\mathrm{softmax}(d_k)", "inline")
    assert "<mi>softmax</mi>" in made
    assert "<msub><mi>d</mi><mi>k</mi></msub>" in made
    made = formulas.mathml(r"a &= b \\ c &= d", "block")
    assert made.count("<mtr>") == 2
    assert not formulas.NOT_READ.search(made)
    assert formulas.NOT_READ.search(formulas.mathml(r"\nothing x", "inline"))


SHEET = """
.used, .gone { color: red }
.gone:hover { color: red }
.used:not(.gone) > b { color: red }
:is(.gone, .used) { color: red }
@media (max-width: 9px) { .gone { color: red } p { color: blue } }
@font-face { font-family: "Font Awesome"; src: url(gone.woff2) }
@font-face { font-family: Kept; src: url("data:,.gone{}") }
"""
KEPT = """
.used { color: red }
.used:not(.gone) > b { color: red }
:is(.gone, .used) { color: red }
@media (max-width: 9px) { p { color: blue } }
@font-face { font-family: Kept; src: url("data:,.gone{}") }
"""


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


PAGE = """<head><meta charset="utf-8" /><meta name="viewport" content="a">
<meta name="viewport" content="b">
<link rel="preload" as="script" href="_static/x.js">
<script src="_static/scripts/fontawesome.js"></script>
<script src="_static/clipboard.min.js"></script>
<script src="_static/doctools.js"></script>
<script src="_static/book.js"></script></head>
<body>{}<script src="_static/scripts/bootstrap.js?v=5"></script></body>"""


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


def test_the_sheets_of_a_page_come_as_one_in_their_order(tmp_path):
    styles = tmp_path / "_static" / "styles"
    styles.mkdir(parents=True)
    (tmp_path / "book").mkdir()
    (styles / "a.css").write_text('@import "../first.css"; a {}')
    (tmp_path / "_static" / "first.css").write_text("first {}")
    (tmp_path / "_static" / "b.css").write_text("b {}")
    links = (
        '<link href="../_static/styles/a.css?v=1" rel="stylesheet" />\n'
        '<link rel="icon" href="../_static/favicon.svg"/>\n'
        '<link rel="stylesheet" type="text/css" href="../_static/b.css" />'
    )
    made = lean.with_one_sheet(f"<head>{links}</head>", tmp_path / "book")
    one = re.findall('<link rel="stylesheet" href="([^"]*)">', made)
    assert made.count("stylesheet") == len(one) == 1
    assert "favicon" in made
    text = (tmp_path / "book" / one[0]).resolve().read_text()
    assert "".join(text.split()) == "first{}a{}b{}"
    assert lean.with_one_sheet("<p>", tmp_path) == "<p>"

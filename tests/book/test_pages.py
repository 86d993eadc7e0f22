"""Every page of the built book in a browser, in every look: offline, whole,
readable, and usable by all."""

import re
from itertools import product

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.helpers.browser import (
    DESK,
    HTML,
    NO_BOOK,
    PAGES,
    PHONE,
    SCHEMES,
    open_page,
)

CONTRAST = "color-contrast"  # axe's rule that takes most of its time
# The theme lets the keyboard reach what scrolls, a moment after a resize.
REACHABLE = """() => [...document.querySelectorAll(
    "pre, .cell_output > .output, .pst-scrollable-table-container"
)].every(box => (box.tabIndex === 0) === (
    box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight
))"""


@pytest.fixture(scope="module", params=product(PAGES, SCHEMES), ids="-".join)
def opened(browser, request):
    view = open_page(browser, *request.param)
    yield view
    view.page.context.close()


@pytest.fixture(scope="module", params=[PHONE, DESK])
def view(opened, request):
    """Every page, light and dark, on a phone and on a desk."""
    opened.page.set_viewport_size({"width": request.param, "height": 900})
    opened.page.wait_for_function(REACHABLE)
    return opened


def test_the_book_is_built():
    assert PAGES, NO_BOOK


def test_a_page_asks_nothing_of_the_network(view):
    assert view.outside() == []


def test_a_page_loads_without_an_error(view):
    assert view.problems == []


def test_no_page_scrolls_sideways(view):
    size = "root => [root.scrollWidth, root.clientWidth]"
    content, window = view.page.locator("html").evaluate(size)
    assert content <= window


def test_no_code_scrolls_sideways(view):
    wide = """codes => codes
        .filter(code => code.scrollWidth > code.clientWidth + 1)
        .map(code => code.textContent)"""
    assert view.page.eval_on_selector_all("pre", wide) == []


def test_every_formula_is_typeset(view):
    raw = """formulas => formulas
        .filter(f => !f.querySelector("mjx-container")
                     || f.querySelector("mjx-merror"))
        .map(f => f.textContent)"""
    assert view.page.eval_on_selector_all(".math", raw) == []


def test_every_button_of_the_header_shows_an_icon(view):
    blank = """buttons => buttons
        .filter(button => button.checkVisibility())
        .filter(button => ![...button.querySelectorAll("svg")].some(icon => {
            const { width, height } = icon.getBoundingClientRect();
            return width && height && icon.querySelector("path[d^=M]");
        }))
        .map(button => button.outerHTML)"""
    buttons = ".bd-header-article button"
    assert view.page.locator(buttons).count() >= 4
    assert view.page.eval_on_selector_all(buttons, blank) == []
    assert view.page.locator("svg .missing").count() == 0


def test_every_figure_says_what_it_shows_and_has_real_text(view):
    read = """figures => figures.map(figure => [
        figure.getAttribute("role"),
        figure.getAttribute("aria-label") ?? "",
        figure.querySelectorAll("text").length])"""
    figures = view.page.eval_on_selector_all("svg.figure", read)
    for role, label, texts in figures:
        assert role == "img"
        assert re.search(r"\(\d+(,|(, \d+)+)\)", label), label
        assert texts, label


def test_every_image_is_described_in_words(view):
    texts = "images => images.map(image => image.alt)"
    for text in view.page.eval_on_selector_all("article img", texts):
        assert " " in text, text


def obstacles(view, *without, **options) -> str:
    """Say what axe finds on a page, without some of its parts; "" if all is
    well."""
    # The parts of a figure are one image, which the test above reads. Axe
    # would fetch the style sheets again, and a page on a disk may not.
    parts = {"exclude": [["svg.figure > *"], *([part] for part in without)]}
    options |= {"preload": False, "resultTypes": ["violations"]}
    found = Axe().run(view.page, parts, options)
    return found.generate_report() if found.violations_count else ""


def test_axe_finds_no_obstacle(view):
    others = {CONTRAST: {"enabled": False}}
    assert obstacles(view, rules=others) == ""


def test_text_stands_out_from_what_is_behind_it(view):
    # An article has the same colours at every width.
    narrow = view.page.viewport_size["width"] == PHONE
    same = ["article"] if narrow else []
    assert obstacles(view, *same, runOnly=[CONTRAST]) == ""


def test_some_page_has_a_formula():
    assert any(
        'class="math' in (HTML / page).read_text("utf8") for page in PAGES
    )

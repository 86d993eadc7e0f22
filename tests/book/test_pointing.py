"""Pointing at an axis letter, or at a cell of a figure: what is said and lit,
by pointer, touch and keyboard, on a page wide or narrow. The letters have one
colour each, in pages and in figures, and say in a legend what they mean."""

import re

import pytest
import torch
from bs4 import BeautifulSoup
from outputs import figure
from playwright.sync_api import Page, expect
from scripts import name_of, notation, size_of

from tests.helpers.browser import (
    CHAPTERS,
    DESK,
    HTML,
    PAGES,
    PHONE,
    SCHEMES,
    computed,
    new_reader,
)
from tests.helpers.colours import rgb
from tests.helpers.drawings import ENGLISH, NEPALI
from tests.helpers.looking import obstacles
from tests.helpers.project import ROOT
from tformer_lite import heatmap
from tformer_lite.drawing.surface.palette import AXES

pytestmark = pytest.mark.full

LETTER = 'class="axis axis-'
WITH_LETTERS = [p for p in PAGES if LETTER in (HTML / p).read_text("utf8")]
LETTERS = {x: (name_of(means), size_of(x)) for x, means, _ in notation()}
HEADS = "H: heads; n_heads = 3 in the running example"


def test_every_page_with_letters_has_their_legend_and_no_other():
    assert {*CHAPTERS, "book/notation.html"} <= {*WITH_LETTERS}
    for page in PAGES:
        text = (HTML / page).read_text("utf8")
        assert text.count('<details class="axes"') == (page in WITH_LETTERS)


def test_the_legend_has_every_letter_with_its_size_and_can_be_folded(visit):
    page = visit(CHAPTERS[5]).page
    legend = page.locator("details.axes")
    for letter, (name, size) in LETTERS.items():
        row = legend.locator(f"[data-letter={letter}]")
        words = f"{letter} {size:,} {name}"
        expect(row).to_have_text(words, use_inner_text=True)
    assert legend.evaluate("legend => legend.open")
    legend.locator("summary").press("Enter")
    expect(legend.locator("dl")).to_be_hidden()
    page.wait_for_function("localStorage.axes === 'folded'")
    page.reload()
    expect(legend.locator("dl")).to_be_hidden()  # it stays as one wants it


@pytest.mark.parametrize("place", ["p .axis", ".figure text"])
def test_a_letter_says_what_it_means_when_one_points_at_it(visit, place):
    view = visit(CHAPTERS[5])
    page = view.page
    parts = page.locator(f"article {place}", has_text=re.compile("^[BTSHDC]$"))
    letter = parts.locator("visible=true").first
    words = letter.text_content()
    letter.scroll_into_view_if_needed()
    view.ready()  # what scrolls hides the tip
    letter.hover()
    tip = page.get_by_role("tooltip")
    name, size = LETTERS[words]
    expect(tip).to_contain_text(f"{words}: {name}")
    expect(tip).to_contain_text(f"{size:,} in the running example")
    box = tip.bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + 3)  # it can be pointed at
    expect(tip).to_be_visible()
    assert not obstacles(page, "light")
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_a_letter_says_what_it_means_when_it_is_touched(browser):
    screen = {"width": PHONE, "height": 800}
    reader = browser.new_context(
        offline=True, has_touch=True, is_mobile=True, viewport=screen
    )
    page = reader.new_page()
    page.goto(f"{HTML.as_uri()}/book/notation.html")
    page.locator("article .axis-H").first.tap()
    tip = page.get_by_role("tooltip")
    expect(tip).to_have_text(HEADS)
    box = tip.bounding_box()
    assert 0 <= box["x"] <= box["x"] + box["width"] <= PHONE
    page.locator("article h1").tap()
    expect(page.locator(".axis-tip")).to_be_hidden()
    reader.close()


# --- a term, or a name of PyTorch's ------------------------------------------

WORD = "article p a.term[data-tip], article .highlight a.name[data-tip]"


@pytest.mark.parametrize("kind", WORD.split(", "))
def test_a_word_says_what_it_means_by_pointer_and_keyboard(visit, kind):
    page = visit(CHAPTERS[7]).page
    word = page.locator(f"{kind} >> visible=true").first
    tip = page.get_by_role("tooltip")
    word.scroll_into_view_if_needed()
    word.hover()
    expect(tip).to_have_text(word.get_attribute("data-tip"))
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    page.mouse.move(0, 0)
    word.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(tip).to_have_text(word.get_attribute("data-tip"))
    expect(word).to_have_attribute("aria-describedby", "axis-tip")


def test_a_finger_reads_a_tip_first_and_then_follows_the_link(browser):
    reader = browser.new_context(offline=True, has_touch=True, is_mobile=True)
    page = reader.new_page()
    page.goto(f"{HTML.as_uri()}/{CHAPTERS[7]}")
    word = page.locator("article p a.term").first
    word.tap()
    expect(page.get_by_role("tooltip")).to_be_visible()
    word.tap()
    page.wait_for_url("**/glossary.html#term-*")
    reader.close()


def test_a_name_of_pytorchs_has_one_tip_outside_of_folds():
    page = BeautifulSoup((HTML / CHAPTERS[7]).read_text("utf8"), "html.parser")
    for fold in page.select("details"):
        fold.decompose()
    names = [link["href"] for link in page.select("a.name[data-tip]")]
    assert len(names) == len({*names}) > 3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axis_letters_have_the_colours_of_the_figures(visit, scheme):
    page = visit(CHAPTERS[0], scheme).page
    add = """(article, letters) => article.innerHTML = letters.map(
        letter => `<b class="axis-${letter}">${letter}</b>`).join("")"""
    page.locator("article").evaluate(add, list(AXES))
    assert computed(page, "article b", "color") == [
        rgb(pair[SCHEMES.index(scheme)]) for _, pair in AXES.values()
    ]


# --- a cell of a figure ------------------------------------------------------

STATIC = ROOT / "book" / "_static"
WEIGHTS = torch.tensor([[0.7, 0.2, 0.1, 0.0]] * 3)
LIT = """() => [...document.querySelectorAll(".lit rect")]
    .filter(box => box.getBoundingClientRect().width)
    .map(box => ["x", "y", "width", "height"].map(a => +box.getAttribute(a)))
"""


@pytest.fixture(params=[DESK, PHONE])
def shown(browser, request):
    """A page with one figure: two matrices, T and S differ."""
    titles = ["scores", "weights"]
    words = {"rows": NEPALI[:3], "columns": ENGLISH}
    picture = heatmap(WEIGHTS.log(), WEIGHTS, titles=titles, **words)
    reader = new_reader(browser, "light", request.param)
    page = reader.new_page()
    svg = figure(picture.svg())
    page.set_content(
        '<!doctype html><html lang="en" data-theme="light"><title>Figure'
        f"</title><main><h1>Figure</h1>{svg}</main><button>last</button>"
    )
    page.add_style_tag(content=":root { --pst-color-primary: #06c }")
    page.add_style_tag(content=(STATIC / "book.css").read_text("utf8"))
    page.add_script_tag(content=(STATIC / "linked.js").read_text("utf8"))
    page.panels = {panel.matrix.title: panel for panel in picture.panels}
    yield page
    reader.close()


def point(page: Page, name: str, row: int, column: int) -> None:
    """Move the pointer to the middle of a cell."""
    panel = page.panels[name]
    left, top, wide, high = panel.box
    rows, columns = panel.matrix.values.shape
    shown = page.locator(".panel").nth(panel.drawing)
    scale = shown.bounding_box()["width"] / float(shown.get_attribute("width"))
    x = left + wide * (column + 0.5) / columns
    y = top + high * (row + 0.5) / rows
    corner = shown.bounding_box()
    page.mouse.move(corner["x"] + scale * x, corner["y"] + scale * y)


def test_a_cell_is_lit_in_every_panel_and_its_values_are_said(shown):
    point(shown, "weights", 1, 2)
    assert shown.locator("output").inner_text() == (
        "row मुख, column is: scores −2.30, weights 0.10"
    )
    cells = [
        pytest.approx([x + w / 2, y + h / 3, w / 4, h / 3], abs=0.1)
        for x, y, w, h in (panel.box for panel in shown.panels.values())
    ]
    assert shown.evaluate(LIT) == cells
    shown.mouse.move(0, 0)
    assert shown.evaluate(LIT) == []
    assert shown.locator("output").inner_text() == ""


def test_arrow_keys_go_from_cell_to_cell_and_on_to_the_next_panel(shown):
    says = shown.locator("output")
    shown.keyboard.press("Tab")
    first = "row [SOS], column [SOS]: scores −0.36, weights 0.70"
    assert says.inner_text() == first
    outline = "frame => getComputedStyle(frame).outlineStyle"
    assert shown.locator(".linked").evaluate(outline) == "solid"
    for _ in range(3):
        shown.keyboard.press("ArrowRight")
    masked = "row [SOS], column .: scores −∞ (masked), weights 0.00"
    assert says.inner_text() == masked
    shown.keyboard.press("ArrowDown")
    assert "row मुख, column ." in says.inner_text()
    shown.keyboard.press("Escape")
    assert shown.evaluate(LIT) == []
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.localName") == "button"

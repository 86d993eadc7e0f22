"""The axis letters have one colour each, in pages and in figures, and say what
they mean: in a legend, and where one points."""

import re

import pytest
from playwright.sync_api import expect
from scripts import name_of, notation, size_of

from tests.helpers.browser import (
    CHAPTERS,
    HTML,
    PAGES,
    PHONE,
    SCHEMES,
    computed,
)
from tests.helpers.colours import rgb
from tests.helpers.looking import obstacles
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


@pytest.mark.parametrize(
    ("place", "where"),
    [
        ("p .axis", CHAPTERS[5]),
        ("td .axis", "book/notation.html"),
        (".figure text", CHAPTERS[5]),
    ],
)
def test_a_letter_says_what_it_means_when_one_points_at_it(
    visit, place, where
):
    view = visit(where)
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


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axis_letters_have_the_colours_of_the_figures(visit, scheme):
    page = visit(CHAPTERS[0], scheme).page
    add = """(article, letters) => article.innerHTML = letters.map(
        letter => `<b class="axis-${letter}">${letter}</b>`).join("")"""
    page.locator("article").evaluate(add, list(AXES))
    assert computed(page, "article b", "color") == [
        rgb(pair[SCHEMES.index(scheme)]) for _, pair in AXES.values()
    ]

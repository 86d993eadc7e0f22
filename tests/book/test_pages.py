"""Every page of the built book in a browser, in every look: offline, whole,
readable, usable by all; and what a reader does with a chapter."""

import re
import time

import pytest
from playwright.sync_api import Page, Route, expect

from tests.helpers.browser import (
    CHAPTERS,
    DESK,
    HTML,
    NO_BOOK,
    PAGES,
    fonts_of,
    new_reader,
    open_page,
)
from tests.helpers.looking import FAULTS, faults, obstacles, seen_now

pytestmark = pytest.mark.slow

FONT = "Noto Sans Devanagari"
NEPALI = re.compile("[\u0900-\u0963\u0966-\u097f]")
each_chapter = pytest.mark.parametrize(
    "opened", CHAPTERS, indirect=True, scope="module"
)


@pytest.fixture(scope="module", params=PAGES)
def opened(reader, request):
    """Every page, loaded once; the last tests work its switches."""
    view = open_page(reader, request.param)
    yield view
    view.page.evaluate("localStorage.clear()")  # the switch remembers
    view.page.close()


def test_the_book_is_built():
    assert PAGES, NO_BOOK


def test_a_page_has_no_fault(opened):
    """Each fault is said, with its name and the part that has it."""
    found = faults(opened)
    assert not found, "\n\n".join([opened.page.url, *found])


BROKEN = """
<div style="width: 2000px">wide</div>
<pre style="width: 2em; overflow: hidden"><b>wide</b></pre>
<p class="math">x + 1</p>
<svg><path class="missing"></svg>
<svg class="figure"></svg>
<img alt="image" src="data:,">
<img src="data:,">
<p style="color: #888; background: #999">grey on grey</p>
"""
RULES = ["color-contrast", "image-alt"]  # two of many of axe


def test_each_fault_is_found_by_its_name(visit):
    page = visit("book/errata.html").page
    page.locator("article").evaluate("(a, html) => a.innerHTML = html", BROKEN)
    header = page.locator(".bd-header-article")
    header.evaluate("header => header.innerHTML = '<button>go</button>'")
    found = "\n".join([*seen_now(page), *obstacles(page, "light")])
    missed = [name for name in (*FAULTS, *RULES) if name not in found]
    assert not missed, found


def test_some_page_has_a_formula():
    assert any(
        'class="math' in (HTML / page).read_text("utf8") for page in PAGES
    )


@each_chapter
def test_a_chapter_has_a_figure_and_says_how_to_run_it(opened):
    assert opened.page.locator("svg.figure").count()
    expect(opened.page.locator("article .colab a")).to_be_visible()


def fonts_of_nepali(page: Page) -> list[set[tuple[str, bool]]]:
    """The fonts of each text of a page that has Nepali in it."""
    mark = """nodes => nodes
        .filter(node => [...node.childNodes].some(
            part => part.nodeType === 3 && /\\p{sc=Deva}/u.test(part.data)))
        .forEach(node => node.classList.add("nepali"))"""
    page.eval_on_selector_all("article p, article text", mark)
    return fonts_of(page, ".nepali")


@each_chapter
def test_nepali_is_drawn_with_the_font_of_the_book(opened):
    fonts = fonts_of_nepali(opened.page)
    assert fonts or NEPALI.search(opened.page.inner_text("article")) is None
    assert [used for used in fonts if (FONT, True) not in used] == []


def test_nepali_has_the_font_of_the_book_though_it_comes_late(browser):
    def late(route: Route) -> None:
        time.sleep(0.4)
        route.continue_()

    reader = new_reader(browser)
    reader.route("**/NotoSansDevanagari*", late)
    fonts = fonts_of_nepali(open_page(reader, CHAPTERS[1]).page)
    reader.close()
    assert len(fonts) > 10
    assert [used for used in fonts if (FONT, True) not in used] == []


@each_chapter
def test_a_folded_answer_opens_with_the_keyboard(opened):
    for summary in opened.page.locator("article summary").all():
        assert summary.get_attribute("aria-label") is None  # says its words
        summary.evaluate("summary => summary.parentElement.open = false")
        summary.focus()
        opened.page.keyboard.press("Enter")
        assert summary.evaluate("summary => summary.parentElement.open")
        outline = summary.evaluate("s => getComputedStyle(s).outlineStyle")
        assert outline == "solid"


@each_chapter
def test_the_switch_changes_the_colours_of_every_figure(opened):
    page = opened.page
    parts = "svg.figure :is(path, text, use):not(defs *)"
    read = """parts => parts.map(part => getComputedStyle(part).fill)
        .filter(fill => fill.startsWith("rgb"))"""
    opened.look("light", DESK)
    before = page.eval_on_selector_all(parts, read)
    for _ in range(3):
        if page.locator("html[data-theme=dark]").count() == 0:
            page.locator(".theme-switch-button").click()
    after = page.eval_on_selector_all(parts, read)
    assert len(before) > 100
    assert [a for a, b in zip(before, after) if a == b] == []

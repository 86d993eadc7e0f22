"""How a reader moves about: the first page, the sidebar, the search."""

import re

import pytest
from playwright.sync_api import expect

from tests.helpers.browser import (
    CHAPTERS,
    DESK,
    HTML,
    PHONE,
    SCHEMES,
    SITE,
    computed,
)
from tests.helpers.colours import contrast
from tests.helpers.looking import obstacles

pytestmark = pytest.mark.full


def test_the_first_page_is_the_introduction(visit):
    page = visit("search.html").page
    page.goto((HTML / "index.html").as_uri())
    expect(page).to_have_url(re.compile("book/intro.html$"))


def test_the_sidebar_opens_and_closes_on_a_phone_and_on_a_desk(visit):
    page = visit("book/intro.html", "light", PHONE).page
    sidebar = page.locator("#pst-primary-sidebar")
    expect(sidebar).not_to_be_visible()
    page.locator(".primary-toggle").focus()
    page.keyboard.press("Enter")
    expect(sidebar).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(sidebar).not_to_be_visible()
    page.set_viewport_size({"width": DESK, "height": 900})
    expect(sidebar).to_be_in_viewport()
    page.locator(".primary-toggle").click()
    expect(sidebar).not_to_be_visible()


def test_a_link_of_the_contents_leads_to_its_place_and_a_menu_opens(visit):
    page = visit(CHAPTERS[11]).page
    page.locator(".page-toc a[href^='#break-it']").click()
    head = page.locator("[id^=break-it] > h2")
    expect(head).to_be_in_viewport()
    page.wait_for_timeout(500)
    box = head.bounding_box()
    assert 0 < box["y"] < 150
    page.locator("[popovertarget]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#menu")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("#menu")).not_to_be_visible()


def test_the_contents_open_where_one_is(visit):
    page = visit(CHAPTERS[0]).page
    page.goto(f"{HTML.as_uri()}/{CHAPTERS[19]}")
    here = page.locator(".bd-docs-nav li.active > a")
    expect(here).to_be_in_viewport()


def test_without_scripts_a_chapter_can_be_read(browser):
    context = browser.new_context(
        java_script_enabled=False, color_scheme="dark", offline=True
    )
    page = context.new_page()
    page.goto((HTML / CHAPTERS[0]).as_uri())
    for part, ground in [("p", "body"), ("pre", "pre"), ("text", "body")]:
        name = "fill" if part == "text" else "color"
        ink = computed(page, f"article {part}", name)[0]
        paper = computed(page, ground, "background-color")[0]
        assert contrast(ink, paper) >= 4.5, part
    context.close()


EXTRACTS = "ol.search p.context"


def test_extracts_can_be_read_and_words_are_marked_in_the_section(on_site):
    """Of two words that are typed in a chapter: one stands in set-up cells."""
    page = on_site.page
    page.goto(f"{SITE}/{CHAPTERS[3]}")
    page.keyboard.press("Control+k")
    page.keyboard.type("importable clinic")
    page.get_by_text("Found").wait_for(timeout=30_000)
    texts = "\n\n".join(page.locator(EXTRACTS).all_inner_texts())
    assert not re.search("Show the setup|# @title|Contents|#\n", texts)
    expect(page.locator(f"{EXTRACTS} .highlighted").first).to_be_visible()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.locator(f"html[data-theme={scheme}]").wait_for()
        on_site.ready()  # nothing fades any more
        assert obstacles(page, scheme) == []
    assert on_site.problems == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("article .highlighted").first).to_be_visible()
    assert "highlight" not in page.url
    page.reload()
    page.wait_for_timeout(50)
    expect(page.locator(".highlighted")).to_have_count(0)


def test_a_page_from_the_disk_finds_titles_by_sphinxs_own_search(visit):
    page = visit("search.html").page
    page.goto((HTML / "search.html").as_uri() + "?q=clinic")
    expect(page.get_by_text("Search finished, found")).to_be_visible()
    expect(page.locator("#search-results li a").first).to_be_visible()

"""How a reader moves about: the first page, the sidebar, the search."""

import re

import pytest
from playwright.sync_api import expect

from tests.helpers.browser import (
    CHAPTERS,
    HTML,
    PHONE,
    computed,
)
from tests.helpers.colours import contrast

pytestmark = pytest.mark.full


def test_the_first_page_is_the_introduction(visit):
    page = visit("search.html").page
    page.goto((HTML / "index.html").as_uri())
    expect(page).to_have_url(re.compile("book/intro.html$"))


def test_on_a_phone_the_keyboard_opens_and_closes_the_sidebar(visit):
    page = visit("book/intro.html", "light", PHONE).page
    sidebar = page.locator("#pst-primary-sidebar")
    expect(sidebar).not_to_be_visible()
    page.locator(".primary-toggle").focus()
    page.keyboard.press("Enter")
    expect(sidebar).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(sidebar).not_to_be_visible()


def test_on_a_desk_the_sidebar_hides_and_shows(visit):
    page = visit("book/intro.html").page
    sidebar = page.locator("#pst-primary-sidebar")
    expect(sidebar).to_be_in_viewport()
    page.locator(".primary-toggle").click()
    expect(sidebar).not_to_be_visible()
    page.locator(".primary-toggle").click()
    expect(sidebar).to_be_in_viewport()


def test_the_search_opens_the_page_that_it_found(visit):
    view = visit("search.html?q=dot+product")
    view.page.locator("#search-results a[href*='chapters/']").first.click()
    expect(view.page.locator("h1").last).to_be_visible()
    assert view.problems == []


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

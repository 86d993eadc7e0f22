"""What the search of the built book shows, served as by a site."""

import pytest
from playwright.sync_api import expect

from tests.helpers.browser import SITE, View, listen, new_reader, served
from tests.helpers.looking import obstacles

pytestmark = pytest.mark.full

EXTRACTS = "#search-results p.context"


@pytest.fixture(params=["light", "dark"])
def search(browser, request):
    """What is found for two words, on the site: one stands in set-up cells."""
    reader = new_reader(browser, request.param)
    reader.route("**/*", served)
    view = View(reader.new_page())
    listen(view)
    view.page.goto(f"{SITE}/search.html?q=importable+clinic")
    done = view.page.get_by_text("Search finished, found")
    expect(done).to_be_visible(timeout=30_000)
    yield view, request.param
    reader.close()


def test_extracts_are_the_text_of_pages_and_can_be_read(search):
    view, scheme = search
    texts = view.page.locator(EXTRACTS).all_inner_texts()
    for furniture in ("Show the setup", "# @title", "Contents", "#\n"):
        assert [text for text in texts if furniture in text] == []
    found = view.page.locator("#search-results a .highlighted")
    expect(found.first).to_be_visible()
    assert obstacles(view.page, scheme) == []
    assert view.problems == []


def test_words_are_marked_in_the_page_that_is_opened_alone(search):
    page = search[0].page
    page.locator("#search-results a[href*='chapters/']").first.click()
    expect(page.locator("article .highlighted").first).to_be_visible()
    assert "highlight" not in page.url
    page.reload()
    page.wait_for_timeout(50)
    expect(page.locator(".highlighted")).to_have_count(0)

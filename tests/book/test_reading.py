"""What a reader does with a chapter: open it, search, fold, switch, run."""

import re
import tomllib
from pathlib import Path

from playwright.sync_api import expect

from tests.helpers.browser import (
    CHAPTERS,
    HTML,
    PHONE,
    ROOT,
    computed,
    fonts_of,
)
from tests.helpers.colours import contrast

FONT = "Noto Sans Devanagari"


def test_every_chapter_has_a_figure(chapter):
    assert chapter.page.locator("svg.figure").count()


def test_every_chapter_opens_in_colab(chapter):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))
    home = project["project"]["urls"]["Repository"]
    name = Path(chapter.page.url).stem
    url = home.replace("github.com", "colab.research.google.com/github")
    url += f"/blob/main/chapters/{name}.ipynb"
    link = chapter.page.locator("article .colab a")
    expect(link).to_be_visible()
    expect(link).to_have_attribute("href", url)
    rocket = chapter.page.locator(".dropdown-launch-buttons a")
    assert [a.get_attribute("href") for a in rocket.all()] == [url]
    assert (ROOT / "chapters" / f"{name}.ipynb").exists()


NEPALI = re.compile("[\u0900-\u0963\u0966-\u097f]")


def test_nepali_is_drawn_with_the_font_of_the_book(chapter):
    mark = """nodes => nodes
        .filter(node => [...node.childNodes].some(
            part => part.nodeType === 3 && /\\p{sc=Deva}/u.test(part.data)))
        .forEach(node => node.classList.add("nepali"))"""
    chapter.page.eval_on_selector_all("article p, article text", mark)
    fonts = fonts_of(chapter.page, ".nepali")
    assert fonts or NEPALI.search(chapter.page.inner_text("article")) is None
    assert [used for used in fonts if (FONT, True) not in used] == []


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


def test_on_a_phone_a_touch_opens_and_closes_the_sidebar(visit):
    page = visit("book/intro.html", "light", PHONE).page
    sidebar = page.locator("#pst-primary-sidebar")
    page.locator(".primary-toggle").click()
    expect(sidebar).to_be_in_viewport()
    page.mouse.click(380, 500)
    expect(sidebar).not_to_be_visible()


def test_on_a_desk_the_sidebar_hides_and_shows(visit):
    page = visit("book/intro.html").page
    sidebar = page.locator("#pst-primary-sidebar")
    expect(sidebar).to_be_in_viewport()
    page.locator(".primary-toggle").click()
    expect(sidebar).not_to_be_visible()
    page.locator(".primary-toggle").click()
    expect(sidebar).to_be_in_viewport()


def test_the_search_finds_words_of_a_chapter(visit):
    view = visit("book/intro.html")
    view.page.keyboard.press("Control+k")
    view.page.keyboard.type("dot product")
    view.page.keyboard.press("Enter")
    found = view.page.locator("#search-results a[href*='chapters/']")
    expect(found.first).to_be_visible()
    assert view.problems == []


def test_the_search_opens_the_page_that_it_found(visit):
    view = visit("search.html?q=dot+product")
    view.page.locator("#search-results a[href*='chapters/']").first.click()
    expect(view.page.locator("h1").last).to_be_visible()
    assert view.problems == []


def test_a_folded_answer_opens_with_the_keyboard(chapter):
    for summary in chapter.page.locator("article summary").all():
        assert summary.get_attribute("aria-label") is None  # says its words
        summary.evaluate("summary => summary.parentElement.open = false")
        summary.focus()
        chapter.page.keyboard.press("Enter")
        assert summary.evaluate("summary => summary.parentElement.open")
        outline = summary.evaluate("s => getComputedStyle(s).outlineStyle")
        assert outline == "solid"


def test_the_switch_changes_the_colours_of_every_figure(chapter):
    page = chapter.page
    parts = "svg.figure :is(path, text, use):not(defs *)"
    read = """parts => parts.map(part => getComputedStyle(part).fill)
        .filter(fill => fill.startsWith("rgb"))"""
    before = page.eval_on_selector_all(parts, read)
    for _ in range(3):
        if page.locator("html[data-theme=dark]").count() == 0:
            page.locator(".theme-switch-button").click()
    after = page.eval_on_selector_all(parts, read)
    assert len(before) > 100
    assert [a for a, b in zip(before, after) if a == b] == []


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

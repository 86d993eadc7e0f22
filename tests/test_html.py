"""The built book in a browser: offline, readable, and usable by all."""

import os
import re
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from tests.browser import (
    CHAPTERS,
    HTML,
    NO_BOOK,
    PAGES,
    ROOT,
    computed,
    contrast,
    executable,
    fonts_of,
    open_page,
    rgb,
)
from tformer_lite.palette import AXES, PAPER

SCHEMES = ["light", "dark"]
PHONE, DESK = 390, 1280
FONT = "Noto Sans Devanagari"


@pytest.fixture(scope="module")
def browser():
    if not PAGES:
        pytest.fail(NO_BOOK)
    path = executable()
    with sync_playwright() as play:
        chromium = play.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module", params=product(PAGES, SCHEMES), ids="-".join)
def opened(browser, request):
    view = open_page(browser, *request.param)
    yield view
    view.page.context.close()


@pytest.fixture(scope="module", params=[PHONE, DESK])
def view(opened, request):
    """Every page, light and dark, on a phone and on a desk."""
    opened.page.set_viewport_size({"width": request.param, "height": 900})
    return opened


@pytest.fixture(scope="module", params=CHAPTERS)
def chapter(browser, request):
    """Every chapter, once; the last tests work its switches."""
    view = open_page(browser, request.param)
    yield view
    view.page.context.close()


@pytest.fixture
def visit(browser):
    """Open pages that the test may change."""
    views = []

    def visit(*args):
        views.append(open_page(browser, *args))
        return views[-1]

    yield visit
    for view in views:
        view.page.context.close()


def test_the_book_is_built():
    assert PAGES, NO_BOOK


# Every page, in every look


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
        assert re.search(r"\(\d+(, \d+)+\)", label), label
        assert texts, label


def test_every_image_is_described_in_words(view):
    texts = "images => images.map(image => image.alt)"
    for text in view.page.eval_on_selector_all("article img", texts):
        assert " " in text, text


def test_axe_finds_no_obstacle(view):
    # The parts of a figure are one image, which the test above reads. Axe
    # would fetch the style sheets again, and a page on a disk may not.
    parts = {"exclude": [["svg.figure > *"]]}
    options = {"preload": False, "resultTypes": ["violations"]}
    found = Axe().run(view.page, parts, options)
    assert found.violations_count == 0, found.generate_report()


# What some pages must have


def test_some_page_has_a_formula():
    assert any(
        'class="math' in (HTML / page).read_text("utf8") for page in PAGES
    )


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


def test_nepali_is_drawn_with_the_font_of_the_book(chapter):
    mark = """nodes => nodes
        .filter(node => [...node.childNodes].some(
            part => part.nodeType === 3 && /\\p{sc=Deva}/u.test(part.data)))
        .forEach(node => node.classList.add("nepali"))"""
    chapter.page.eval_on_selector_all("article p, article text", mark)
    fonts = fonts_of(chapter.page, ".nepali")
    assert fonts
    assert [used for used in fonts if (FONT, True) not in used] == []


# What a reader does


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
    parts = "svg.figure path, svg.figure text"
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


# The axis letters


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axis_letters_have_the_colours_of_the_figures(visit, scheme):
    page = visit(CHAPTERS[0], scheme).page
    add = """(article, letters) => article.innerHTML = letters.map(
        letter => `<b class="axis-${letter}">${letter}</b>`).join("")"""
    page.locator("article").evaluate(add, list(AXES))
    assert computed(page, "article b", "color") == [
        rgb(pair[SCHEMES.index(scheme)]) for _, pair in AXES.values()
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axis_letters_can_be_read_on_page_panel_and_code(visit, scheme):
    page = visit(CHAPTERS[0], scheme).page
    panel = """article => article.insertAdjacentHTML("beforeend",
        "<div class=panel style='background: var(--pst-color-surface)'>")"""
    page.locator("article").evaluate(panel)
    grounds = computed(page, "body, .panel, article pre", "background-color")
    grounds = {*grounds, rgb(PAPER[SCHEMES.index(scheme)])}
    assert len(grounds) >= 2
    for letter, (_, pair) in AXES.items():
        for ground in grounds:
            ink = rgb(pair[SCHEMES.index(scheme)])
            assert contrast(ink, ground) >= 4.5, (letter, ground)


def test_the_axis_role_knows_the_letters_of_the_figures(tmp_path):
    done = build(" ".join(f"{{axis}}`{letter}`" for letter in AXES), tmp_path)
    assert done.returncode == 0, done.stderr
    for letter in AXES:
        span = f'<span class="axis axis-{letter}">{letter}</span>'
        assert span in (tmp_path / "html" / "index.html").read_text("utf8")


def test_an_unknown_axis_letter_stops_the_build(tmp_path):
    done = build("{axis}`Q`", tmp_path)
    assert done.returncode != 0
    assert "'Q' is not an axis letter" in done.stderr


def build(text, folder):
    """Build a page of one line, with a warning as an error."""
    (folder / "index.md").write_text(f"# Title\n\n{text}\n")
    make = [sys.executable, "-m", "sphinx", "-CEWq"]
    options = ["-D", "extensions=axes,myst_parser"]
    return subprocess.run(
        [*make, *options, folder, folder / "html"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "book" / "_ext")},
        capture_output=True,
        text=True,
    )

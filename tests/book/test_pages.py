"""Every page of the built book, visited once in a browser and asked all there
is to ask: in every look, offline, whole, readable, usable by all; on paper;
and what a reader does with a chapter. A page of each kind is visited by
`make test`, all others by `make full`."""

import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, expect
from pypdf import PdfReader

from tests.helpers import paper
from tests.helpers.browser import (
    CHAPTERS,
    DESK,
    NO_BOOK,
    PAGES,
    View,
    fonts_of,
    open_page,
)
from tests.helpers.looking import (
    FAULTS,
    PALE,
    WIDE,
    faults,
    faults_of_look,
)

KINDS = {
    "404.html",
    "book/intro.html",
    "book/play.html",
    "chapters/08_softmax_and_output.html",
    "chapters/exercises/06_scores.html",
}
VISITS = [
    pytest.param(
        page, marks=pytest.mark.slow if page in KINDS else pytest.mark.full
    )
    for page in PAGES
]
FONT = "Noto Sans Devanagari"
NEPALI = re.compile("[\u0900-\u0963\u0966-\u097f]")
each_chapter = pytest.mark.parametrize(
    "opened",
    [visit for visit in VISITS if visit.values[0] in CHAPTERS],
    indirect=True,
    scope="module",
)


def test_the_book_is_built():
    assert PAGES, NO_BOOK
    assert {*PAGES} >= KINDS


@pytest.fixture(scope="module", params=VISITS)
def opened(reader, request):
    """Every page, loaded once; the last tests work its switches."""
    view = open_page(reader, request.param)
    yield view
    view.page.evaluate("localStorage.clear()")  # the switch remembers
    view.page.close()


def weight(view: View) -> int:
    """How much a first visit loads, in bytes that a site would send."""
    own = [url for url in view.requests if url.startswith("file:")]
    files = {Path(unquote(urlsplit(url).path)) for url in own}
    return sum(len(gzip.compress(file.read_bytes())) for file in files)


LARGE = ".figure, #landing, #play"  # pictures, or sentences and bugs


def test_a_page_is_light(opened):
    """Before others scroll it, for what is loaded then."""
    most = 300 if opened.page.locator(LARGE).count() else 170
    if opened.page.locator("#workbench").count():
        most = 650  # it runs the file: Python, numbers, sentences
    assert 40_000 < weight(opened) <= 1000 * most


def test_a_page_has_no_fault(opened):
    """Each fault is said, with its name and the part that has it."""
    page_faults = faults(opened)
    assert not page_faults, "\n\n".join([opened.page.url, *page_faults])


BROKEN = Path(__file__).with_name("broken.html").read_text("utf8")
RULES = ["color-contrast", "image-alt", "label-content-name-mismatch"]
RULES += ['class="pale"']


@pytest.mark.full
def test_each_fault_is_found_by_its_name(visit):
    page = visit("book/errata.html").page
    page.locator("article").evaluate("(a, html) => a.innerHTML = html", BROKEN)
    header = page.locator(".bd-header-article")
    header.evaluate(
        "header => header.innerHTML = '<button aria-label=no>go</button>'"
    )
    looks = [faults_of_look(page, "light", width) for width in (DESK, WIDE)]
    said = "\n".join(fault for look in looks for fault in look)
    missed = [name for name in (*FAULTS, PALE, *RULES) if name not in said]
    assert not missed, said


UNSEEN = """() => [...document.querySelectorAll(
    "a[href], button, summary, input, [tabindex='0']"
)].filter(control => {
    control.focus({ preventScroll: true });
    const { outlineStyle, outlineWidth } = getComputedStyle(control);
    return control.matches(":focus")
        && (outlineStyle !== "solid" || parseFloat(outlineWidth) < 2);
}).map(control => control.outerHTML)"""


def test_the_focus_can_be_seen_on_every_control(opened):
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate(UNSEEN) == []


def fonts_of_nepali(page: Page) -> list[set[tuple[str, bool]]]:
    """The fonts of each text of a page that has Nepali in it, and is seen."""
    mark = """nodes => nodes
        .filter(node => node.checkVisibility())
        .filter(node => [...node.childNodes].some(
            part => part.nodeType === 3 && /\\p{sc=Deva}/u.test(part.data)))
        .forEach(node => node.classList.add("nepali"))"""
    page.eval_on_selector_all("article :is(p, text, pre, span)", mark)
    return fonts_of(page, ".nepali")


@each_chapter
def test_nepali_is_drawn_with_the_font_of_the_book(opened):
    fonts = fonts_of_nepali(opened.page)
    assert fonts or NEPALI.search(opened.page.inner_text("article")) is None
    assert [used for used in fonts if (FONT, True) not in used] == []


MARGIN = 16  # millimetres, as book.css has it
BROAD, HIGH = 210 - 2 * MARGIN, 279 - 2 * MARGIN  # what A4 and Letter have
# What is of no use on paper, higher than a page, or may be cut.
UNLIKE_PAPER = {
    "a control": """() => [...document.querySelectorAll(
        "button, input, select, textarea, nav, .headerlink")]
        .filter(part => part.checkVisibility())""",
    "higher than a page": """high => [...document.querySelectorAll(
        "article *")]
        .filter(part => getComputedStyle(part).breakInside === "avoid")
        .filter(part => part.getBoundingClientRect().height > high)""",
    "a page may cut it": """() => [...document.querySelectorAll(
        "svg, img, tr, .math")]
        .filter(part => !part.parentElement.closest("svg"))
        .filter(part => getComputedStyle(part).breakInside !== "avoid")""",
}
WRITTEN = ".map(part => part.outerHTML.slice(0, 200))"


def paper_faults(page: Page) -> Iterator[str]:
    """What is too large for the paper, may be cut, or is no use on it."""
    yield from paper.too_wide(page, BROAD)
    yield from paper.empty_figures(page)
    for fault, find in UNLIKE_PAPER.items():
        for part in page.evaluate(find + WRITTEN, HIGH / paper.PIXEL):
            yield f"{fault}: {part}"


def test_a_page_is_whole_on_paper(opened):
    close = "all => all.forEach(fold => fold.open = false)"
    opened.page.eval_on_selector_all("article details", close)
    page_faults = [*paper_faults(opened.page)]
    assert not page_faults, "\n\n".join([opened.page.url, *page_faults])
    opened.ready()


@each_chapter
def test_the_switch_changes_the_colours_of_every_figure(opened):
    page = opened.page
    parts = ".figure :is(path, text, use):not(defs *)"
    read = """parts => parts.map(part => getComputedStyle(part))
        .filter(style => style.fillOpacity !== "0")
        .map(style => style.fill).filter(fill => fill.startsWith("rgb"))"""
    opened.look("light", DESK)
    before = page.eval_on_selector_all(parts, read)
    for _ in range(3):
        if page.locator("html[data-theme=dark]").count() == 0:
            page.locator(".theme-switch-button").click()
    after = page.eval_on_selector_all(parts, read)
    assert len(before) > 100
    assert [a for a, b in zip(before, after) if a == b] == []


@each_chapter
def test_every_shape_that_a_chapter_asks_for_is_right(opened):
    for form in opened.page.locator("div.predict form").all():
        shape = form.locator("+ details").get_attribute("data-shape")
        sizes = " ".join(axis.split()[1] for axis in shape.split(","))
        form.locator("input").fill(sizes)
        form.locator("input").press("Enter")
        expect(form.get_by_role("status")).to_contain_text("Right: ")


@pytest.mark.full
def test_a_dark_chapter_prints_light_and_open_cuts_no_figure_and_stays(visit):
    page, light = visit(CHAPTERS[6], "dark"), visit(CHAPTERS[6], "light")
    form = {"format": "A4", "print_background": True, "tagged": True}
    sheets = [
        PdfReader(io.BytesIO(view.page.pdf(**form))) for view in (page, light)
    ]
    drawn = [[p.get_contents().get_data() for p in b.pages] for b in sheets]
    assert drawn[0] == drawn[1]
    text = " ".join(sheet.extract_text() for sheet in sheets[1].pages)
    assert list(paper.cut_figures(sheets[1])) == []
    assert list(paper.empty_pages(sheets[1])) == []
    assert "Show the setup" not in text
    html = page.page.locator("html")
    expect(html).to_have_attribute("data-theme", "dark")

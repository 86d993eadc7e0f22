"""Each page as a browser prints it: light, whole, and nothing empty."""

import io
from collections.abc import Iterator

import pdf
import pytest
from playwright.sync_api import Page, expect
from pypdf import PageObject, PdfReader

from tests.helpers.browser import CHAPTERS, PAGES, View, open_page

pytestmark = pytest.mark.full

MARGIN = 16  # millimetres, as book.css has it
WIDE, HIGH = 210 - 2 * MARGIN, 279 - 2 * MARGIN  # what A4 and Letter have
POINT = 25.4 / 72
EDGE, LINE = MARGIN / POINT, 15
# How much of a page may be white below its last words: what comes next may be
# as high as a figure, and stand on one page.
HOLE = 0.7
CONTROLS = """() => [...document.querySelectorAll(
    "button, input, select, textarea, nav, .headerlink")]
    .filter(part => part.checkVisibility()).map(part => part.outerHTML)"""
TOO_HIGH = """high => [...document.querySelectorAll("article *")]
    .filter(part => getComputedStyle(part).breakInside === "avoid")
    .filter(part => part.getBoundingClientRect().height > high)
    .map(part => part.outerHTML.slice(0, 200))"""
MAY_BREAK = """() => [...document.querySelectorAll("svg, img, tr, .math")]
    .filter(part => !part.parentElement.closest("svg"))
    .filter(part => getComputedStyle(part).breakInside !== "avoid")
    .map(part => part.outerHTML.slice(0, 200))"""


def printed(view: View) -> PdfReader:
    """A page as its reader prints it, with all that folds closed."""
    close = "all => all.forEach(one => one.open = false)"
    view.page.eval_on_selector_all("article details", close)
    paper = {"format": "A4", "print_background": True, "tagged": True}
    return PdfReader(io.BytesIO(view.page.pdf(**paper)))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_on_paper(reader, name):
    view = open_page(reader, name)
    sheets = printed(view).pages
    found = [*unlike_paper(view.page)]
    for number, sheet in enumerate(sheets, 1):
        is_last = number == len(sheets)
        found += [f"page {number}: {x}" for x in gaps(sheet, is_last)]
    view.page.close()
    assert not found, "\n\n".join([name, *found])


def unlike_paper(page: Page) -> Iterator[str]:
    """What is too large for the paper, may be cut, or is no use on it."""
    yield from pdf.too_wide(page, WIDE)
    yield from pdf.empty_figures(page)
    high = HIGH / pdf.PIXEL
    for part in page.evaluate(TOO_HIGH, high):
        yield f"higher than a page: {part}"
    for part in page.evaluate(MAY_BREAK):
        yield f"a page may cut it: {part}"
    for part in page.evaluate(CONTROLS):
        yield f"a control: {part}"


def gaps(sheet: PageObject, is_last: bool) -> Iterator[str]:
    """Boxes without a word, and much white below the last words."""
    words, boxes = marks(sheet)
    top = float(sheet.mediabox.height) - EDGE
    for left, low, right, high in boxes:
        low, high = max(low, EDGE), min(high, top)
        is_wide = right - left > 0.8 * WIDE / POINT and high - low > LINE
        if is_wide and not any(
            left <= x <= right and low <= y <= high for x, y in words
        ):
            yield f"an empty box, {high - low:.0f} points high"
    last = min((y for _, y in words), default=top)
    hole = (last - EDGE) / (top - EDGE)
    if hole == 1 or (hole > HOLE and not is_last):
        yield f"{hole:.0%} of it are white"


Place = tuple[float, float]


def marks(sheet: PageObject) -> tuple[list[Place], list[tuple[float, ...]]]:
    """Where words stand on a sheet, and the boxes that are filled: left, low,
    right, high, in points from the lower left corner."""
    words, boxes, path = [], [], []

    def word(text, now, at, *_):
        if text.strip():
            words.append(on_sheet(now, *at[4:]))

    def draw(operator, numbers, now, _):
        if operator == b"re":
            x, y, wide, high = map(float, numbers)
            path[:] = on_sheet(now, x, y), on_sheet(now, x + wide, y + high)
        elif operator in (b"f", b"f*") and path:
            (x, y), (u, v) = path
            boxes.append((min(x, u), min(y, v), max(x, u), max(y, v)))
        elif operator == b"n":
            path.clear()  # it was an edge to cut at

    sheet.extract_text(visitor_text=word, visitor_operand_before=draw)
    return words, boxes


def on_sheet(now: list[float], x: float, y: float) -> Place:
    """Lead a place through the matrix that stands: to points of the sheet."""
    a, b, c, d, e, f = now
    return a * x + c * y + e, b * x + d * y + f


def test_a_chapter_prints_light_and_open_and_cuts_no_figure(visit):
    dark, light = (printed(visit(CHAPTERS[6], s)) for s in ("dark", "light"))
    drawn = [
        [p.get_contents().get_data() for p in b.pages] for b in (dark, light)
    ]
    assert drawn[0] == drawn[1]
    text = " ".join(sheet.extract_text() for sheet in light.pages)
    assert list(pdf.cut_figures(light)) == []
    assert "Show the setup" not in text


def test_a_dark_page_is_dark_again_when_it_is_printed(visit):
    page = visit(CHAPTERS[6], "dark").page
    page.pdf()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")

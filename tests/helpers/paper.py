"""What can be wrong with a page as a browser prints it: it is too large for
the paper, cut, of no use there, or has holes."""

import io
from collections.abc import Iterator

import pdf
from playwright.sync_api import Page
from pypdf import PageObject, PdfReader

from tests.helpers.browser import View

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


def printed_page(view: View) -> PdfReader:
    """A page as its reader prints it, with all that folds closed."""
    close = "all => all.forEach(fold => fold.open = false)"
    view.page.eval_on_selector_all("article details", close)
    paper = {"format": "A4", "print_background": True, "tagged": True}
    return PdfReader(io.BytesIO(view.page.pdf(**paper)))


def paper_faults(view: View) -> list[str]:
    """All that is wrong with a page on paper; each fault with its sheet."""
    sheets = printed_page(view).pages
    faults = [*unlike_paper(view.page)]
    for number, sheet in enumerate(sheets, 1):
        is_last = number == len(sheets)
        faults += [f"page {number}: {x}" for x in gaps(sheet, is_last)]
    return faults


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

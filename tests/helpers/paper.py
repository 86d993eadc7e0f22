"""What is wrong with a page on paper, and with a printed one."""

from collections.abc import Iterator

from playwright.sync_api import Page
from pypdf import PdfReader
from pypdf.generic import DictionaryObject, PdfObject

PIXEL = 25.4 / 96
# The innermost of what is wide, and what hides some of itself.
TOO_WIDE = """wide => [...document.querySelectorAll("body :not(svg *)")]
    .filter(one => one.getBoundingClientRect().right > wide + 1
        || one.matches("pre, table") && one.scrollWidth > one.clientWidth + 1)
    .filter((one, _, all) => !all.some(o => o !== one && one.contains(o)))
    .map(one => one.textContent.trim().slice(0, 60))"""
EMPTY = """() => [...document.querySelectorAll(".figure")]
    .filter(one => one.checkVisibility())
    .filter(one => ![...one.querySelectorAll("path")]
        .some(part => part.checkVisibility()))
    .map(one => one.ariaLabel)"""


def too_wide(page: Page, millimetres: float) -> Iterator[str]:
    """Find what is wider than the paper has room for, and hides some of it."""
    page.emulate_media(media="print")
    wide = round(millimetres / PIXEL)
    page.set_viewport_size({"width": wide, "height": 900})
    for words in page.evaluate(TOO_WIDE, wide):
        yield f"too wide for the paper: {words!r}"


def empty_figures(page: Page) -> Iterator[str]:
    for words in page.evaluate(EMPTY):
        yield f"a figure is empty: {words}"


def empty_pages(reader: PdfReader) -> Iterator[str]:
    """Find pages with nothing but their foot, which has no tag."""
    for number, sheet in enumerate(reader.pages, 1):
        if b"BDC" not in sheet.get_contents().get_data():
            yield f"page {number} is empty"


def cut_figures(reader: PdfReader) -> Iterator[str]:
    for figure in figures(reader):
        numbers = sorted(pages_of(figure, reader))
        if len(numbers) > 1:
            words = figure.get("/Alt", "it has no description")
            yield f"a figure is cut after page {numbers[0]}: {words:.60}"


def figures(reader: PdfReader) -> list[DictionaryObject]:
    """List the figures in the tree of tags, which screen readers follow."""
    tree = reader.trailer["/Root"]["/StructTreeRoot"]
    return [node for node in below(tree) if node.get("/S") == "/Figure"]


def below(node: PdfObject) -> Iterator[DictionaryObject]:
    """Give a node of the tree of tags, and all those below it."""
    if isinstance(node, DictionaryObject):
        yield node
        inside = node.get("/K", [])
        for child in inside if isinstance(inside, list) else [inside]:
            yield from below(child.get_object())


def pages_of(node: DictionaryObject, reader: PdfReader) -> set[int]:
    """Tell on which pages parts of a node stand."""
    sheets = [part["/Pg"] for part in below(node) if "/Pg" in part]
    return {reader.get_page_number(sheet) + 1 for sheet in sheets}

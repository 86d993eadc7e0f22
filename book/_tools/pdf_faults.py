"""Find what is wrong with a printed book: each fault is a sentence.

Some faults can only be seen in the page that was printed, for Chromium leaves
a link out that leads nowhere, and makes all smaller where one line is wide.
"""

from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page
from pypdf import PageObject, PdfReader
from pypdf.generic import DictionaryObject, PdfObject

MEGABYTES = 30
WIDE = 210 - 2 * 25  # millimetres between the margins that print.css leaves
PIXEL = 25.4 / 96
FONT_FILES = {"/FontFile", "/FontFile2", "/FontFile3"}
# The innermost of what is wide, and what hides some of itself.
TOO_WIDE = """wide => [...document.querySelectorAll("body :not(svg *)")]
    .filter(one => one.getBoundingClientRect().right > wide + 1
        || one.matches("pre, table") && one.scrollWidth > one.clientWidth + 1)
    .filter((one, _, all) => !all.some(o => o !== one && one.contains(o)))
    .map(one => one.textContent.trim().slice(0, 60))"""
DEAD = """() => [...document.querySelectorAll('a[href^="#"]')]
    .filter(link => !document.getElementById(decodeURI(link.hash.slice(1))))
    .map(link => `${link.textContent} (${link.hash})`)"""
NUMBERED = """() => [...document.querySelectorAll(".numbered")].map(link =>
    [link.hash.slice(1), link.lastElementChild.textContent])"""
HEADS = "heads => heads.map(head => head.textContent.trim())"


def faults(page: Page, pdf: Path) -> list[str]:
    """List what is wrong with a book: with its page, or as printed."""
    reader = PdfReader(pdf)
    return [
        *too_wide(page),
        *dead_links(page, reader),
        *wrong_numbers(page, pdf),
        *missing_chapters(page, reader),
        *empty_pages(reader),
        *cut_figures(reader),
        *lost_figures(page, reader),
        *loose_fonts(reader),
        *too_large(pdf),
    ]


def page_numbers(pdf: Path) -> dict[str, int]:
    """Tell on which page each place stands that a link leads to."""
    reader = PdfReader(pdf)
    return {
        name.removeprefix("/"): reader.get_destination_page_number(place) + 1
        for name, place in reader.named_destinations.items()
    }


def too_wide(page: Page) -> Iterator[str]:
    page.emulate_media(media="print")
    wide = round(WIDE / PIXEL)
    page.set_viewport_size({"width": wide, "height": 900})
    for words in page.evaluate(TOO_WIDE, wide):
        yield f"too wide for the paper: {words!r}"


def dead_links(page: Page, reader: PdfReader) -> Iterator[str]:
    """Find links to no place in the book, and those to a file beside it."""
    for words in page.evaluate(DEAD):
        yield f"a link leads nowhere: {words}"
    for sheet in reader.pages:
        for link in annotations(sheet):
            target = link.get("/A", {}).get("/URI", "")
            if target.startswith("file:"):
                yield f"a link leads to a file of this machine: {target}"


def annotations(sheet: PageObject) -> list[DictionaryObject]:
    return [link.get_object() for link in sheet.get("/Annots", [])]


def wrong_numbers(page: Page, pdf: Path) -> Iterator[str]:
    numbers = page_numbers(pdf)
    for place, shown in page.evaluate(NUMBERED):
        if shown != str(numbers.get(place)):
            right = numbers.get(place, "no page")
            said = f"the contents or the index say {shown}"
            yield f"{said}, and {place} stands on {right}"


def missing_chapters(page: Page, reader: PdfReader) -> Iterator[str]:
    """Find chapters that a viewer's list of bookmarks does not have."""
    marks = [mark.title for mark in reader.outline if hasattr(mark, "title")]
    for title in page.eval_on_selector_all("h1", HEADS):
        if title not in marks:
            yield f"{title!r} is not in the outline"


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


def lost_figures(page: Page, reader: PdfReader) -> Iterator[str]:
    drawn, printed = page.locator(".figure, img").count(), figures(reader)
    if drawn != len(printed):
        yield f"{drawn} figures are on the page, {len(printed)} in the PDF"


def figures(reader: PdfReader) -> list[DictionaryObject]:
    """List the figures in the tree of tags, which screen readers follow."""
    tree = reader.trailer["/Root"]["/StructTreeRoot"]
    return [node for node in below(tree) if node.get("/S") == "/Figure"]


def below(node: PdfObject) -> Iterator[DictionaryObject]:
    """Give a node of the tree of tags, and all those below it."""
    if isinstance(node, DictionaryObject):
        yield node
        inside = node.get("/K", [])
        for one in inside if isinstance(inside, list) else [inside]:
            yield from below(one.get_object())


def pages_of(node: DictionaryObject, reader: PdfReader) -> set[int]:
    """Tell on which pages parts of a node stand."""
    sheets = [one["/Pg"] for one in below(node) if "/Pg" in one]
    return {reader.get_page_number(sheet) + 1 for sheet in sheets}


def loose_fonts(reader: PdfReader) -> list[str]:
    """Find fonts that the file does not bring along."""
    names = {
        font["/BaseFont"]
        for sheet in reader.pages
        for font in fonts(sheet)
        if font["/Subtype"] != "/Type3"  # drawn in the file
        if not set(font.get("/FontDescriptor", {})) & FONT_FILES
    }
    return [f"the font {name[1:]} is not in the file" for name in names]


def fonts(sheet: PageObject) -> Iterator[DictionaryObject]:
    for font in sheet["/Resources"].get("/Font", {}).values():
        inner = font.get_object().get("/DescendantFonts", [font])
        yield inner[0].get_object()


def too_large(pdf: Path) -> Iterator[str]:
    size = pdf.stat().st_size / 1e6
    if size > MEGABYTES:
        yield f"the file has {size:.1f} MB, and {MEGABYTES} are the most"

"""Print the built book as one PDF, and say what is wrong with it: `make pdf`.

Chromium sets the pages. It cannot say in the contents on which page a chapter
stands, so the book is printed twice: where its links lead the first time are
the numbers that the second shows. Some faults can only be seen in the page
that was printed, for Chromium leaves a link out that leads nowhere, and makes
all smaller where one line is wide.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import browsers
from one_page import as_one_page
from packages import ROOT
from playwright.sync_api import Page
from pypdf import PageObject, PdfReader
from pypdf.generic import DictionaryObject, PdfObject

PDF = ROOT / "_build" / "pdf" / "transformer-shape-by-shape.pdf"
TIMES = 4
PAPER = {"tagged": True, "outline": True, "prefer_css_page_size": True}
READY = """async () => {
    document.body.getBoundingClientRect();
    await document.fonts.ready;
}"""
FILL = """numbers => document.querySelectorAll(".numbered").forEach(link => {
    const place = link.hash.slice(1);
    link.lastElementChild.textContent = numbers[place] ?? "000";
})"""
WIDE = 210 - 2 * 25  # millimetres between the margins that print.css leaves
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
DEAD = """() => [...document.querySelectorAll('a[href^="#"]')]
    .filter(link => !document.getElementById(decodeURI(link.hash.slice(1))))
    .map(link => `${link.textContent} (${link.hash})`)"""


def make(root: Path, pdf: Path) -> list[str]:
    """Print the book whose HTML is built in `root`, and list its faults."""
    pdf.parent.mkdir(parents=True, exist_ok=True)
    html = pdf.with_suffix(".html")
    html.write_text(as_one_page(root), "utf8")
    with browsers.chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(0)  # a slow machine is not a fault
        page.goto(html.as_uri())
        page.evaluate(READY)
        return [*print_pages(page, pdf), *faults(page, pdf)]


def print_pages(page: Page, pdf: Path) -> list[str]:
    """Print until the numbers in the contents are those of the pages."""
    numbers, shown = {}, None
    for _ in range(TIMES):
        if numbers == shown:
            return []
        page.evaluate(FILL, numbers)
        page.pdf(path=pdf, **PAPER)
        shown, numbers = numbers, page_numbers(pdf)
    return ["the contents and the index have wrong numbers"]


def faults(page: Page, pdf: Path) -> list[str]:
    """List what is wrong with a book: with its page, or as printed."""
    reader = PdfReader(pdf)
    return [
        *too_wide(page, WIDE),
        *empty_figures(page),
        *dead_links(page, reader),
        *empty_pages(reader),
        *cut_figures(reader),
    ]


def page_numbers(pdf: Path) -> dict[str, int]:
    """Tell on which page each place stands that a link leads to."""
    reader = PdfReader(pdf)
    return {
        name.removeprefix("/"): reader.get_destination_page_number(place) + 1
        for name, place in reader.named_destinations.items()
    }


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


def main() -> None:
    """Print the book, or say in a sentence why it cannot be."""
    if missing := browsers.lack():
        sys.exit(f"make pdf: {missing}.")
    if problems := make(ROOT, PDF):
        sys.exit(
            "\n".join([f"The PDF has {len(problems)} faults:", *problems])
        )
    print(f"The book: {PDF.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

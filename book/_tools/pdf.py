"""Print the built book as one PDF: `make pdf`.

Chromium sets the pages. It cannot say in the contents on which page a chapter
stands, so the book is printed twice: where its links lead the first time are
the numbers that the second shows.
"""

import sys
from pathlib import Path

import browsers
from one_page import as_one_page
from pdf_faults import faults, page_numbers
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[2]
NAME = "transformer-shape-by-shape.pdf"
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


def make(root: Path, pdf: Path) -> list[str]:
    """Print the book whose HTML is built in `root`, and list its faults."""
    pdf.parent.mkdir(parents=True, exist_ok=True)
    html = pdf.with_suffix(".html")
    html.write_text(as_one_page(root), "utf8")
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=browsers.found(), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.set_default_timeout(0)  # a slow machine is not a fault
        page.goto(html.as_uri())
        page.evaluate(READY)
        print_pages(page, pdf)
        found = faults(page, pdf)
        browser.close()
    return found


def print_pages(page: Page, pdf: Path) -> None:
    """Print until the numbers in the contents are those of the pages."""
    numbers, shown = {}, None
    for _ in range(TIMES):
        if numbers == shown:
            break
        page.evaluate(FILL, numbers)
        page.pdf(path=pdf, **PAPER)
        shown, numbers = numbers, page_numbers(pdf)


def main() -> None:
    """Print the book, or say in a sentence why it cannot be."""
    missing = browsers.missing()
    if missing:
        sys.exit(f"make pdf: {missing}.")
    pdf = ROOT / "_build" / "pdf" / NAME
    found = make(ROOT, pdf)
    if found:
        sys.exit("\n".join([f"The PDF has {len(found)} faults:", *found]))
    print(f"The book: {pdf.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

"""The book as a PDF: a small one is printed, and one with every fault."""

import re
import shutil

import pdf
import pytest
import yaml
from pypdf import PdfReader

from tests.helpers.browser import need_browser
from tests.helpers.project import ROOT

pytestmark = pytest.mark.full

FONT = ROOT / "book/_static/NotoSansDevanagari.woff2"
CONFIG = {
    "title": "A small book",
    "author": "Nobody",
    "copyright": "2026",
    "html": {"extra_footer": "Free"},
    "repository": {"url": "https://example.org/book"},
    "sphinx": {"config": {"language": "en"}},
}
FILES = [{"file": "part/one"}, {"file": "part/two"}]
TOC = {"root": "intro", "parts": [{"caption": "All", "chapters": FILES}]}
FIGURE = (
    '<svg class="figure" role="img" aria-label="{0}" width="50" height="{1}">'
    '<path d="M 0 0 L 50 0 L 50 {1} L 0 {1} z"/></svg>'
)
LONG = "Two, of which the title is so long that it takes a second line of the"
PAGES = {
    "intro": """
        <h1>Before<a class="headerlink" href="#h">#</a></h1>
        <p>See <a href="part/two.html#where">two</a>, and
        <a href="https://example.org">more</a>.</p>"""
    + FIGURE.format("cross-attention, head 1", 90),
    "part/one": """
        <h1>One</h1><p class="colab">Run it in Colab</p>
        <details class="above-input">hidden code</details>
        <section id="where"><h2>Where one is</h2><p>मुख खाली थिएन ।</p>
        </section>"""
    + FIGURE.format("A square", 90),
    "part/two": f"""
        <h1>{LONG}
        page and of this file</h1>
        <details><summary>Why?</summary>Because.</details>
        <section id="where"><h2>Where two is</h2></section>""",
    "genindex": """
        <h1>Index</h1><a href="part/two.html#where">place</a>""",
}
TITLES = [
    "Contents",
    "Before",
    "One",
    f"{LONG} page and of this file",
    "Index",
]


def write_book(root, pages) -> None:
    """Write what `make book` leaves of a book, as far as it is printed."""
    static = root / "_build" / "html" / "_static"
    static.mkdir(parents=True)
    (static / "pygments.css").touch()
    shutil.copy(ROOT / "book" / "_static" / "book.css", static)
    shutil.copy(FONT, static)
    (root / "_config.yml").write_text(yaml.safe_dump(CONFIG))
    (root / "_toc.yml").write_text(yaml.safe_dump(TOC))
    for name, body in pages.items():
        file = static.parent / f"{name}.html"
        file.parent.mkdir(exist_ok=True)
        article = f'<article class="bd-article">{body}</article>'
        file.write_text(f"<html><body>{article}</body></html>", "utf8")


@pytest.fixture(scope="module")
def print_book(tmp_path_factory):
    """Print a book, and give the file and its faults."""
    need_browser()

    def print_book(pages):
        root = tmp_path_factory.mktemp("book")
        write_book(root, pages)
        file = root / "_build" / "pdf" / "book.pdf"
        return file, pdf.make(root, file)

    return print_book


@pytest.fixture(scope="module")
def printed(print_book) -> PdfReader:
    """A small book, which has no fault."""
    file, faults = print_book(PAGES)
    assert faults == []
    return PdfReader(file)


def test_each_page_of_the_book_begins_a_sheet_and_says_its_number(printed):
    texts = [sheet.extract_text() for sheet in printed.pages]
    assert len(texts) == 6
    assert "A small book" in texts[0]
    for number, (title, text) in enumerate(zip(TITLES, texts[1:]), 2):
        assert title.split(" that")[0] in text
        assert re.match(rf"{number}\D", text)
    assert "Because." in texts[4]  # what folds is open on paper
    assert not any("hidden code" in text or "Colab" in text for text in texts)
    marks = [m.title for m in printed.outline if not isinstance(m, list)]
    assert marks == TITLES
    # The contents and the index say on which page a place stands.
    for entry in ("Before 3", "Where one is 4", "Where two is 5"):
        assert entry in texts[1]
    assert "place 5" in texts[5]


def test_links_lead_into_the_book_or_to_the_web_and_nepali_has_its_font(
    printed,
):
    links = [x for sheet in printed.pages for x in pdf.annotations(sheet)]
    addresses = {link["/A"]["/URI"] for link in links if "/A" in link}
    assert addresses == {"https://example.org/", CONFIG["repository"]["url"]}
    assert "/part-two--where" in [link.get("/Dest") for link in links]
    fonts = printed.pages[3]["/Resources"]["/Font"].values()
    names = [font.get_object()["/BaseFont"] for font in fonts]
    assert any("NotoSansDevanagari" in name for name in names)


BROKEN = {
    "too wide for the paper": '<pre style="width: 999px">wide</pre>',
    "too wide for the paper: 'cut'": (
        '<pre style="width: 1em; overflow: hidden; font-size: 40pt">cut</pre>'
    ),
    "a link leads nowhere": '<a href="#gone">gone</a>',
    "a link leads to a file": '<a href="../other.txt">other</a>',
    "is empty": '<div style="break-before: page; height: 1px"></div>'
    '<p style="break-before: page">Then</p>',
    "a figure is cut": FIGURE.format("A tower", 2000).replace(
        "<svg", '<svg style="max-height: none"'
    ),
}


def test_each_fault_is_found(print_book):
    body = "<h1>One</h1>" + "".join(BROKEN.values())
    faults = "\n".join(print_book({**PAGES, "part/one": body})[1])
    assert [fault for fault in BROKEN if fault not in faults] == [], faults


def test_a_wrong_number_in_the_contents_is_found(print_book, monkeypatch):
    monkeypatch.setattr(pdf, "TIMES", 1)
    faults = print_book(PAGES)[1]
    assert "the contents and the index have wrong numbers" in faults

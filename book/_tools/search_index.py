"""Index the built book for its search: each section by itself, so that the
search leads to the place and not to the top of a long page.

Pagefind's own program does the work: nothing is fetched.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from bs4 import BeautifulSoup, Tag

# What is no text of a section: outputs, links of headings, set-up.
FURNITURE = "script, style, .headerlink, .colab, .cell_output, .tag_setup"
# Sections, and the folded parts that have a name of their own.
NAMED_PARTS = "section[id], details[id]"
# This page leads where the search leads, and would stand in front of it: its
# questions are found in the sections that answer them.
ASKS = "book/questions.html"
# A word in a title, or in code, counts as much as so many in the text; where a
# page asks, sums up or lists, as much as so many in a chapter.
TITLE_WEIGHT, CODE_WEIGHT = 3, 0.3
WEIGHTS = {
    "/sources": 0.1,
    "/exercises": 0.3,
    "/what-we-": 0.5,
    "/for-later": 0.5,
    "book/names": 0.3,
    "book/": 0.5,
    "": 1.0,
}


def asked(page: str) -> dict[str, str]:
    """Map the place of each answer to its questions."""
    found: dict[str, str] = {}
    for term in BeautifulSoup(page, "html.parser").select("article dt"):
        link = term.find_next_sibling("dd").select_one("a[href*='#']")
        place = link["href"].removeprefix("../").replace(".html#", "/")
        found[place] = f"{found.get(place, '')} {term.get_text()}"
    return found


def records(
    page: str, html: str, questions: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Cut a page into little pages, one for each section, by their paths."""
    html = re.sub("<svg.*?</svg>", "", html, flags=re.DOTALL)
    article = BeautifulSoup(html, "html.parser").select_one("article")
    if article is None:
        return
    for part in article.select(FURNITURE):
        part.decompose()
    head = article.select_one("h1")
    name = head.get_text(" ", strip=True) if head else page
    # The innermost first, so that what is left of each is its own.
    for part in reversed(article.select(NAMED_PARTS)):
        part.extract()
        path = f"{page}/{part['id']}"
        weight = next(x for key, x in WEIGHTS.items() if key in path)
        yield path, record(part, name, weight, questions.get(path, ""))


def record(part: Tag, page: str, weight: float, question: str) -> str:
    """Write a section as a page of its own: its title, then its text, and
    the questions that it answers."""
    head = part.select_one("h1, h2, h3, summary")
    title = head.extract().get_text(" ", strip=True) if head else page
    code = " ".join(pre.extract().get_text() for pre in part.select("pre"))
    text = part.get_text(" ", strip=True)
    inside = (
        element("h1", title, weight * TITLE_WEIGHT),
        element("p", page, weight, 'data-pagefind-meta="page"'),
        element("p", text, weight),
        element("p", code, weight * CODE_WEIGHT),
        element("p", question, TITLE_WEIGHT),
    )
    return f'<html lang="en"><body>{"".join(inside)}</body></html>'


def element(kind: str, text: str, weight: float, more: str = "") -> str:
    """Write a text whose words count so much."""
    weighed = f'data-pagefind-weight="{weight:.2f}"'
    return f"<{kind} {weighed} {more}>{escape(text)}</{kind}>"


def index(built: Path) -> None:
    """Write the index of a built book into its folder `pagefind`. There the
    section page.html#name is page/name.html."""
    questions = asked((built / ASKS).read_text("utf8"))
    with TemporaryDirectory() as folder:
        for file in sorted({*built.rglob("*.html")} - {built / ASKS}):
            name = file.relative_to(built).with_suffix("").as_posix()
            for path, text in records(name, file.read_text("utf8"), questions):
                target = Path(folder, f"{path}.html")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, "utf8")
        places = "--site", folder, "--output-path", str(built / "pagefind")
        subprocess.run(
            [sys.executable, "-m", "pagefind", *places, "--quiet"], check=True
        )
    for file in (built / "pagefind").glob("pagefind-*ui*"):
        file.unlink()  # the book has a page of its own for its search


if __name__ == "__main__":
    index(Path(sys.argv[1]))

"""Index the built book for its search: each section by itself, so that the
search leads to the place and not to the top of a long page.

Pagefind's own program does the work: nothing is fetched.
"""

import asyncio
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from pagefind.index import IndexConfig, PagefindIndex

# What is no text of a section: figures, outputs, links of headings, set-up.
FURNITURE = (
    "svg, script, style, .headerlink, .colab, .cell_output, .tag_setup, "
    ".tag_imports"
)
# Sections, and the folded parts that have a name of their own.
PARTS = "section[id], details[id]"
# A word in a title counts as much as so many in the text.
TITLE_WEIGHT = 5


def records(page: str, html: str) -> Iterator[tuple[str, str]]:
    """Cut a page into addresses and little pages, one for each section."""
    article = BeautifulSoup(html, "html.parser").select_one("article")
    if article is None:
        return
    for part in article.select(FURNITURE):
        part.decompose()
    heads = article.select("h1, h2, h3, summary")
    name = heads[0].get_text(" ", strip=True) if heads else page
    # The innermost first, so that what is left of each is its own.
    for part in reversed(article.select(PARTS)):
        part.extract()
        yield f"{page}#{part['id']}", record(part, name)


def record(part: Tag, page: str) -> str:
    """Write a section as a page of its own: its title, then its text."""
    head = part.select_one("h1, h2, h3, summary")
    title = head.extract().get_text(" ", strip=True) if head else page
    text = part.get_text(" ", strip=True)
    if title != page:
        text = f"{text} {page}"
    return (
        f'<html lang="en"><body><h1 data-pagefind-weight="{TITLE_WEIGHT}">'
        f"{escape(title)}</h1><p data-pagefind-meta='page'>{escape(page)}</p>"
        f"<p>{escape(text)}</p></body></html>"
    )


async def index(built: Path) -> None:
    """Write the index of a built book into its folder `pagefind`."""
    config = IndexConfig(output_path=str(built / "pagefind"))
    async with PagefindIndex(config=config) as pages:
        for file in sorted(built.rglob("*.html")):
            name = file.relative_to(built).as_posix()
            for url, text in records(name, file.read_text("utf8")):
                await pages.add_html_file(content=text, url=url)


if __name__ == "__main__":
    asyncio.run(index(Path(sys.argv[1])))

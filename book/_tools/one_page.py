"""Make one page of the whole book, for printing: a title, the contents, every
page of the built HTML in the order of `_toc.yml`, and the index.

An id stands once on a page, not once in the book: each gets the name of its
page in front, and links between pages become links within this one.
"""

import json
import posixpath
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from bs4 import BeautifulSoup, SoupStrainer, Tag

TOOLS = Path(__file__).parent
HTML_FOLDER = "../html"  # the built book, seen from the page
INDEX = "genindex"
COVER = '.figure[aria-label^="cross-attention, head 1"]'
# What only a screen needs, beside what book.css hides on paper.
LEFT_OUT = (
    ".headerlink, .genindex-jumpbox, .prev-next-footer, footer, noscript"
)
WITH_IDS = "aria-labelledby", "aria-describedby", "for"
SOLUTION = "A solution"
DRAWS_WITH = re.compile(r"url\(#([^)]+)\)")
TEMPLATE = """\
<!DOCTYPE html>
<html lang="{language}" data-theme="light">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="stylesheet" href="{html}/_static/pygments.css">
<link rel="stylesheet" href="{html}/_static/trace.css">
<link rel="stylesheet" href="{html}/_static/book.css">
<link rel="stylesheet" href="{html}/_static/card.css">
<style>
{css}
{feet}
</style>
</head>
<body>
<header>
<p class="title">{title}</p>
<p class="author">{author}</p>
{cover}
<p>{year}. {licence}<br><a href="{home}">{home}</a></p>
</header>
<nav>
<h1>Contents</h1>
{contents}
</nav>
{pages}
<script>
{js}
</script>
</body>
</html>
"""
Parts = list[tuple[str, list[str]]]


def as_one_page(root: Path) -> str:
    """Write a book, whose HTML is built in `root`, as one page."""
    toc = yaml.safe_load((root / "_toc.yml").read_bytes())
    config = yaml.safe_load((root / "_config.yml").read_bytes())
    html = root / "_build" / "html"
    site = config["html"].get("baseurl", HTML_FOLDER)
    book = [
        (caption, [article(html, page, site) for page in pages])
        for caption, pages in parts(toc)
    ]
    pages = [page for _, those in book for page in those]
    covers = (page.select_one(COVER) for page in pages)
    return TEMPLATE.format(
        title=escape(config["title"]),
        author=escape(config["author"]),
        year=escape(config["copyright"]),
        language=config["sphinx"]["config"]["language"],
        licence=config["html"]["extra_footer"],
        home=escape(config["repository"]["url"]),
        cover=next(filter(None, covers)),
        html=HTML_FOLDER,
        css=(TOOLS / "print.css").read_text("utf8"),
        js=(TOOLS / "print.js").read_text("utf8"),
        feet="\n".join(map(foot, pages)),
        contents="\n".join(part_entry(*part) for part in book),
        pages="\n".join(map(str, pages)),
    )


def parts(toc: dict) -> Parts:
    """List the parts of the book: a caption, and the names of its pages."""
    named = [
        (part["caption"], [*page_names(part["chapters"])])
        for part in toc["parts"]
    ]
    return [("", [toc["root"]]), *named, ("", [INDEX])]


def page_names(pages: list[dict]) -> Iterator[str]:
    """List pages, each with those that stand below it."""
    for page in pages:
        yield page["file"]
        yield from page_names(page.get("sections", []))


def article(html: Path, page: str, site: str) -> Tag:
    """Read a built page, as it is in the book: each id with its name. Links to
    files lead to the site."""
    only = SoupStrainer("article")
    text = (html / f"{page}.html").read_text("utf8")
    body = BeautifulSoup(text, "html.parser", parse_only=only).article
    for tag in body.find_all(True):
        tag.attrs = {n: in_book(n, v, page) for n, v in tag.attrs.items()}
    for link in body.select(f'a[href^="{HTML_FOLDER}/"]'):
        link["href"] = site + link["href"].removeprefix(HTML_FOLDER)  # a file
    lay_open(body)
    if page == INDEX:
        for link in body.select("a"):
            text = link_with_number(link["href"], link.decode_contents())
            link.replace_with(BeautifulSoup(text, "html.parser"))
    body.attrs = {"id": anchor(page), "style": f"page: {anchor(page)}"}
    return body


def lay_open(body: Tag) -> None:
    """Open what a screen folds, and leave out what only a screen needs."""
    for tag in body.select(LEFT_OUT):
        tag.decompose()
    for tag in body.select("details"):
        if tag.summary and tag.summary.text.startswith(SOLUTION):
            tag.decompose()  # paper cannot fold it: it is on the screen
        else:
            tag["open"] = ""
    for link in body.select('a[href*="--explore-"]'):
        link.unwrap()  # there is nothing to choose on paper
    for tag in body.select("h1, h2, h3"):  # a bookmark has one line
        for words in tag.find_all(string=True):
            words.replace_with(re.sub(r"\s+", " ", words))


def anchor(page: str, place: str = "") -> str:
    """Name a page, or a place on it, with an id that the book has once."""
    return f"{page.replace('/', '-')}--{place}".removesuffix("--")


def in_book(name: str, value: str | list[str], page: str) -> str | list[str]:
    """Give the value that an attribute of a page's tag has in the book."""
    if not isinstance(value, str):  # classes
        return value
    if name == "id":
        return anchor(page, value)
    if name in WITH_IDS:
        return " ".join(anchor(page, place) for place in value.split())
    if name in ("href", "xlink:href", "src"):
        return link_in_book(value, page)
    return DRAWS_WITH.sub(lambda m: f"url(#{anchor(page, m[1])})", value)


def link_in_book(link: str, page: str) -> str:
    """Lead to a place in the book, to a file of the HTML, or outside."""
    to = urlsplit(link)
    if to.scheme:
        return link
    path = posixpath.join(posixpath.dirname(page), to.path)
    path = posixpath.normpath(path) if to.path else f"{page}.html"
    if path.endswith(".html"):
        return f"#{anchor(path.removesuffix('.html'), to.fragment)}"
    return f"{HTML_FOLDER}/{path}"


def foot(page: Tag) -> str:
    """Write the rule that puts a page's title at the foot of its sheets."""
    words = json.dumps(page.h1.get_text().strip(), ensure_ascii=False)
    return f"@page {page['id']} {{ @bottom-left {{ content: {words}; }} }}"


def part_entry(caption: str, pages: list[Tag]) -> str:
    """Write the entry of a part in the contents."""
    head = f"<h2>{caption}</h2>\n" if caption else ""
    return f"{head}<dl>\n{''.join(map(page_entry, pages))}</dl>"


def page_entry(page: Tag) -> str:
    """Write the entry of a page in the contents, and of its sections."""
    sections = page.select("section[id]:has(> h2)")
    titles = [entry(section, section.h2) for section in sections]
    return f"<dt>{entry(page, page.h1)}</dt>\n<dd>{' '.join(titles)}</dd>\n"


def entry(part: Tag, head: Tag) -> str:
    return link_with_number(f"#{part['id']}", head.decode_contents().strip())


def link_with_number(href: str, words: str) -> str:
    """Write a link that ends with room for the number of its page."""
    return f'<a class="numbered" href="{href}">{words} <b>000</b></a>'

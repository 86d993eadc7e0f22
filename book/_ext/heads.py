"""What a page says of itself: in its head to those who search and who send
links, in its foot when it was changed. And a page for addresses without one.
"""

import re
import sys
from collections.abc import Iterator
from datetime import date
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import cards
from addresses import SITE, is_set
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "book" / "_tools"))
from dates import changed  # noqa: E402
from version import MODULE  # noqa: E402

SHORT, LONG = 50, 160  # letters of a description
LOST = """<section><h1>Page not found</h1>
<p>There is no page at this address. It may have moved. Start again on the
<a href="book/intro.html">first page</a>, or
<a href="search.html">search the book</a>.</p></section>"""
NO_TEXT = nodes.container, nodes.table, nodes.topic, nodes.list_item
MARKUP = re.compile(r"<[^>]+>|\s+")


def describe(app: Sphinx, page: str, _template, context: dict, doctree):
    """Put the lines about a page into its head and its foot."""
    book = app.config.html_title
    title = MARKUP.sub(" ", context.get("title") or book).strip()
    words = description(doctree) or f"{title}: a page of {book}"
    lines = [meta("name", "description", words)]
    about = {"title": title, "description": words, "type": "article"}
    about["site_name"] = book
    if is_set():
        about["url"] = f"{SITE}/{page}.html"
        about["image"] = f"{SITE}/{cards.of(app, page)}"
        lines.append(meta("name", "twitter:card", "summary_large_image"))
    lines += [meta("property", f"og:{k}", v) for k, v in about.items()]
    if page == "404":
        lines.append(meta("name", "robots", "noindex"))
        path = f"{urlsplit(SITE).path}/" if is_set() else "./"
        lines.append(f'<base href="{path}">')
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])
    # Of a notebook, the text beside it counts: that is what people edit.
    if day := changed(Path(app.srcdir)).get(f"{page}.md"):
        context["last_updated"] = f"{date.fromisoformat(day):%-d %B %Y}"


def meta(kind: str, name: str, words: str) -> str:
    return f'<meta {kind}="{name}" content="{escape(words)}">'


def description(doctree: nodes.document | None) -> str:
    """Take a page's first paragraph, up to the end of a sentence or a word."""
    text = next(filter(None, paragraphs(doctree)), "") if doctree else ""
    if len(text) <= LONG:
        return text
    sentence = text[:LONG].rfind(". ") + 1
    if sentence >= SHORT:
        return text[:sentence]
    return text[: LONG - 2].rpartition(" ")[0].rstrip(",;:") + " …"


def paragraphs(doctree: nodes.document) -> Iterator[str]:
    """Give the paragraphs that are long enough to describe a page."""
    for paragraph in doctree.findall(nodes.paragraph):
        above, inside = paragraph.parent, False
        while above:
            inside |= isinstance(above, NO_TEXT)
            above = above.parent
        text = " ".join(MARKUP.sub(" ", paragraph.astext()).split())
        if not inside and len(text) >= SHORT:
            yield text


def say_version(_app: Sphinx, config: Config) -> None:
    """Say in each page's foot which version of the module it tells of."""
    text = (ROOT / "tformer_lite" / "__init__.py").read_text("utf8")
    number = MODULE.search(text)[0]
    if config.html_theme_options.get("repository_branch") == "main":
        number += ", and what came after it"
    foot = config.html_theme_options.get("extra_footer", "")
    config.html_theme_options["extra_footer"] = f"{foot} Version {number}."


def lost(_app: Sphinx) -> Iterator[tuple[str, dict, str]]:
    """Make the page that is shown where there is none."""
    yield "404", {"title": "Page not found", "body": LOST}, "page.html"


def setup(app: Sphinx) -> dict:
    app.connect("config-inited", say_version)
    app.connect("html-collect-pages", lost)
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

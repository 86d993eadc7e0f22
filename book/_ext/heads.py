"""What a page says of itself: where it is published, in its head to those who
search and who send links, in its foot when it was changed; how to run a
chapter. And a page for addresses without one.

Until `make repository` has said where the book is published, nothing leads
there.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from functools import cache, partial
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from docutils import nodes
from jinja2 import Template
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.nodes import traverse_parent

sys.path.append(str(Path(__file__).parents[1] / "_tools"))
from links import COLAB
from repository import NOBODY, ROOT, addresses, module_version

REPOSITORY, SITE_ADDRESS = addresses(ROOT)
GUIDE = "book/how_to_read"
SHORT, LONG = 50, 160  # letters of a description
NOT_FOUND = Path(__file__).parents[1] / "_templates" / "not_found.html"
NO_TEXT = nodes.container, nodes.table, nodes.topic, nodes.list_item
MARKUP = re.compile(r"<[^>]+>|\s+")


def is_set() -> bool:
    """Tell whether anybody has said where the book is published."""
    return NOBODY not in REPOSITORY


def configure(_app: Sphinx, config: Config) -> None:
    """Say in each page's foot which version of the module it tells of, and
    show no button and no address that leads nowhere."""
    options = config.html_theme_options
    number = module_version()
    if options.get("repository_branch") == "main":
        number += ", and what came after it"
    foot = options.get("extra_footer", "")
    options["extra_footer"] = f"{foot} Version {number}."
    if not is_set():
        options |= {"use_repository_button": False, "launch_buttons": {}}
        options["use_issues_button"] = False
        config.html_baseurl = ""


def describe(app: Sphinx, page: str, _template, context: dict, doctree):
    """Put the lines about a page into its head and its foot, and under a
    chapter's title how to run it."""
    book = app.config.html_title
    title = MARKUP.sub(" ", context.get("title") or book).strip()
    words = description(doctree) or f"{title}: a page of {book}"
    lines = [meta("name", "description", words)]
    about = {"title": title, "description": words, "type": "article"}
    about["site_name"] = book
    if is_set():
        about["url"] = f"{SITE_ADDRESS}/{page}.html"
        about["image"] = f"{SITE_ADDRESS}/_static/preview.png"
        lines.append(meta("name", "twitter:card", "summary_large_image"))
    lines += [meta("property", f"og:{k}", v) for k, v in about.items()]
    if page == "404":
        lines.append(meta("name", "robots", "noindex"))
        path = f"{urlsplit(SITE_ADDRESS).path}/" if is_set() else "./"
        lines.append(f'<base href="{path}">')
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])
    # Of a notebook, the text beside it counts: that is what people edit.
    if day := day_of_change(Path(app.srcdir, f"{page}.md")):
        context["last_updated"] = f"{date.fromisoformat(day):%-d %B %Y}"


def day_of_change(file: Path) -> str:
    """Tell on which day git has a file changed last, as in 2026-11-23.

    Nothing is known outside a repository, or in a clone without the past.
    """
    ask = partial(git, file.parent)
    if ask("rev-parse", "--is-shallow-repository") != "false":
        return ""
    return ask("log", "-1", "--format=%cs", "--", file.name)


@cache
def git(root: Path, *command: str) -> str:
    """Ask git about a folder; where it knows nothing it says nothing."""
    said = subprocess.run(
        ["git", *command], cwd=root, capture_output=True, text=True
    )
    return said.stdout.strip()


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
        inside = any(traverse_parent(paragraph, NO_TEXT))
        text = " ".join(MARKUP.sub(" ", paragraph.astext()).split())
        if not inside and len(text) >= SHORT:
            yield text


def lead(app: Sphinx, page: str, _template, context: dict, doctree) -> None:
    """Say under a chapter's title how to run it. And let links to the site
    lead to the page beside this one: notebooks have them in full, and a copy
    of the book is read without a network."""
    body = context.get("body", "")
    if doctree is not None and page.startswith("chapters/"):
        way = f'</h1>\n<p class="colab">{way_to_run(app, page)}</p>'
        body = body.replace("</h1>", way, 1)
    if body:
        top = "../" * page.count("/")
        absolute = f'href="{SITE_ADDRESS}/'
        context["body"] = body.replace(absolute, f'href="{top}')


def way_to_run(app: Sphinx, page: str) -> str:
    """Write the link that opens a chapter in Colab, or else leads to how to
    run it on the reader's own machine."""
    if not is_set():
        url = app.builder.get_relative_uri(page, GUIDE)
        return f'<a href="{url}#run-it-yourself">How to run this chapter</a>'
    name = REPOSITORY.removeprefix("https://github.com/")
    branch = app.config.html_theme_options["repository_branch"]
    url = escape(f"{COLAB}/{name}/blob/{branch}/{page}.ipynb")
    return f'<a href="{url}">Run this chapter in Colab</a>'


def page_not_found(app: Sphinx) -> Iterator[tuple[str, dict, str]]:
    """Make the page that is shown where there is none."""
    chapters = {
        page: title.astext()
        for page, title in sorted(app.env.titles.items())
        if re.fullmatch(r"chapters/\d+\w*", page)
    }
    body = Template(NOT_FOUND.read_text("utf8")).render(chapters=chapters)
    yield "404", {"title": "Page not found", "body": body}, "page.html"


def setup(app: Sphinx) -> dict:
    app.connect("config-inited", configure)
    app.connect("html-collect-pages", page_not_found)
    app.connect("html-page-context", lead)
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""What a page knows of where it is published: how to run its chapter, links
between pages that notebooks have in full, and the site's list of pages.

Until `make repository` has said where that is, nothing leads there.
"""

import sys
from html import escape
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

sys.path.append(str(Path(__file__).parents[1] / "_tools"))
from repository import NOBODY, ROOT, addresses

COLAB = "https://colab.research.google.com/github"
GUIDE = "book/how_to_read", "run-it-yourself"
SITEMAP = """<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}
</urlset>
"""
REPOSITORY, SITE = addresses(ROOT)


def is_set() -> bool:
    """Tell whether anybody has said where the book is published."""
    return NOBODY not in REPOSITORY


def leave_out(_app: Sphinx, config: Config) -> None:
    """Show no button and no address that leads nowhere."""
    if is_set():
        return
    options = config.html_theme_options
    for name in "use_repository_button", "use_issues_button":
        options[name] = False
    options["launch_buttons"] = {}
    config.html_baseurl = ""


def add_way(app: Sphinx, page: str, _template, context: dict, doctree):
    """Say under a chapter's title how to run it."""
    if doctree is None or not page.startswith("chapters/"):
        return
    title = f'</h1>\n<p class="colab">{way_to_run(app, page)}</p>'
    context["body"] = context["body"].replace("</h1>", title, 1)


def way_to_run(app: Sphinx, page: str) -> str:
    """Write the link that opens a chapter in Colab, or else leads to how to
    run it on the reader's own machine."""
    if not is_set():
        guide, place = GUIDE
        url = f"{app.builder.get_relative_uri(page, guide)}#{place}"
        return f'<a href="{url}">How to run this chapter</a>'
    name = REPOSITORY.removeprefix("https://github.com/")
    branch = app.config.html_theme_options["repository_branch"]
    url = escape(f"{COLAB}/{name}/blob/{branch}/{page}.ipynb")
    return f'<a href="{url}">Run this chapter in Colab</a>'


def stay_here(app: Sphinx, page: str, _template, context: dict, _doctree):
    """Let links to the site lead to the page beside this one: notebooks have
    them in full, and a copy of the book is read without a network."""
    if "body" in context:
        top = "../" * page.count("/")
        body = context["body"].replace(f'href="{SITE}/', f'href="{top}')
        context["body"] = body


def write_sitemap(app: Sphinx, error: Exception | None) -> None:
    """List all pages for those who search."""
    if error or not app.config.html_baseurl:
        return
    pages = sorted(app.env.found_docs)
    lines = [f"<url><loc>{SITE}/{page}.html</loc></url>" for page in pages]
    text = SITEMAP.format("\n".join(lines))
    Path(app.outdir, "sitemap.xml").write_text(text, "utf8")


def setup(app: Sphinx) -> dict:
    app.connect("config-inited", leave_out)
    app.connect("html-page-context", add_way)
    app.connect("html-page-context", stay_here)
    app.connect("build-finished", write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

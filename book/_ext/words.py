"""What pages say from elsewhere: roles, {axis}`B` or {cite}`key`, as in
`book/_tools/roles.py`; a table of all exercises, ```{exercises}```; and in the
glossary, on which page each term is introduced: the first that links to it.
"""

import re
import sys
from collections.abc import Iterator
from html import escape, unescape
from itertools import groupby
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode, traverse_parent

sys.path.append(str(Path(__file__).parents[1] / "_tools"))
import roles
from packages import BOOK

FOLDER = "chapters/exercises"
TABLE_HEAD = "<tr><th>exercise</th><th>what it teaches</th></tr>"
GLOSSARY = "book/glossary"
# In a chapter, which came through a notebook.
TERM_LINK = re.compile(r'<data value="term (?:[^"<]*<)?([^">]+)')


class FilledRole(SphinxRole):
    """Words that come from the recorded run."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            words = roles.as_html(self.name, self.text, BOOK)
        except roles.UnknownNameError as error:
            log = logging.getLogger(__name__)
            log.warning(str(error), location=self.get_location())
            words = self.text
        return [nodes.raw("", words, format="html")], []


class Exercises(SphinxDirective):
    """Writes a row for each exercise, under its chapter's number."""

    def run(self) -> list[nodes.Node]:
        every = roles.exercises(BOOK).items()
        uri = self.env.app.builder.get_relative_uri
        rows = [TABLE_HEAD]
        for number, group in groupby(every, lambda item: item[1]["chapter"]):
            page = next((BOOK.parent / FOLDER).glob(f"{number:02}_*.md")).stem
            url = uri(self.env.docname, f"{FOLDER}/{page}")
            title = f'<a href="{url}">Chapter {number}</a>'
            rows.append(f'<tr><th colspan="2">{title}</th></tr>')
            for name, about in group:
                place = uri(self.env.docname, about["page"])
                rows.append(exercise_row(name, about, place))
        table = f'<table class="exercises">{"".join(rows)}</table>'
        return [nodes.raw("", table, format="html")]


def exercise_row(name: str, about: dict, url: str) -> str:
    """Write one exercise."""
    use = "no solution" if about["assignable"] else "solution"
    # As the page has it, with the apostrophe that it prints.
    place = nodes.make_id(about["title"].replace("'", "’"))
    return (
        f'<tr><td><a href="{url}#{place}">{escape(about["title"])}</a><br>'
        f"<code>{name}</code><br>{about['kind']}, {about['minutes']} minutes, "
        f"level {about['level']}, {use}</td>"
        f"<td>{escape(about['teaches'])}</td></tr>"
    )


def pages_in_order(env: BuildEnvironment, page: str) -> Iterator[str]:
    """Give the pages in the order of the contents, this one first."""
    yield page
    for below in env.toctree_includes.get(page, []):
        yield from pages_in_order(env, below)


def introductions(env: BuildEnvironment) -> dict[str, tuple[str, str]]:
    """Map each term to where it is linked first: a page and its section."""
    found: dict[str, tuple[str, str]] = {}
    for page in pages_in_order(env, env.config.root_doc):
        if page != GLOSSARY and "/exercises/" not in page:
            for node in env.get_doctree(page).findall():
                for name in linked_terms(node):
                    section = next(traverse_parent(node, nodes.section))
                    found.setdefault(name, (page, section["ids"][0]))
    return found


def linked_terms(node: nodes.Node) -> list[str]:
    """Name the terms that a node links to."""
    if isinstance(node, addnodes.pending_xref) and node["reftype"] == "term":
        return [node["reftarget"].lower()]
    if isinstance(node, nodes.raw):
        names = TERM_LINK.findall(node.astext())
        return [unescape(name).lower() for name in names]
    return []


def say_where(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put behind each explanation where its term comes up."""
    if page != GLOSSARY:
        return
    places = introductions(app.env)
    for item in doctree.findall(nodes.definition_list_item):
        [term, explained] = item.children
        home, section = places.get(term.astext().lower(), (None, None))
        if home and explained.children:
            title = nodes.Text(app.env.titles[home].astext())
            link = make_refnode(app.builder, page, home, section, title)
            where = nodes.inline("", "", nodes.Text(" → "), link)
            explained.children[-1].append(where)


def setup(app: Sphinx) -> dict:
    for name in roles.WRITERS.keys() - {"term"}:  # it is Sphinx's own
        app.add_role(name, FilledRole())
    app.add_directive("exercises", Exercises)
    app.connect("doctree-resolved", say_where)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

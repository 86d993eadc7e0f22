"""Say in the glossary where each term is introduced: on the page that links
to it first. tests/book/test_introduced.py holds that no page uses it before.
"""

import re
from collections.abc import Iterator
from html import unescape

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

GLOSSARY = "book/glossary"
Place = tuple[str, str]  # a page, and a section of it
# In a chapter, which came through a notebook.
LINK = re.compile(r'<data value="term (?:[^"<]*<)?([^">]+)')


def in_order(env: BuildEnvironment, page: str) -> Iterator[str]:
    """Give the pages in the order of the contents, this one first."""
    yield page
    for below in env.toctree_includes.get(page, []):
        yield from in_order(env, below)


def introductions(env: BuildEnvironment) -> dict[str, Place]:
    """Map each term to where it is linked first."""
    found: dict[str, Place] = {}
    for page in in_order(env, env.config.root_doc):
        if page != GLOSSARY and "/exercises/" not in page:
            for node in env.get_doctree(page).findall():
                for name in linked(node):
                    found.setdefault(name, (page, section_of(node)))
    return found


def linked(node: nodes.Node) -> list[str]:
    """Name the terms that a node links to."""
    if isinstance(node, addnodes.pending_xref) and node["reftype"] == "term":
        return [node["reftarget"].lower()]
    if isinstance(node, nodes.raw):
        return [unescape(name).lower() for name in LINK.findall(node.astext())]
    return []


def section_of(node: nodes.Node) -> str:
    """Give the name of the section that a node stands in."""
    while not isinstance(node, nodes.section):
        node = node.parent
    return node["ids"][0]


def say_where(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put behind each explanation where its term comes up."""
    if page != GLOSSARY:
        return
    places = introductions(app.env)
    for item in doctree.findall(nodes.definition_list_item):
        [term, explained] = item.children
        home, section = places.get(term.astext().lower(), (None, None))
        if home and explained.children:
            title = app.env.titles[home].astext()
            link = make_refnode(
                app.builder, page, home, section, nodes.Text(title)
            )
            where = nodes.inline("", "", nodes.Text(" → "), link)
            explained.children[-1].append(where)


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", say_where)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

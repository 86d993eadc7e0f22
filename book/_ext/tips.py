"""Tips: what a word means, where it stands. Each link to the glossary has the
words of its entry with it; and where a page first has a name of PyTorch's, in
text or code, the name becomes a link to its line in book/pytorch.md, with that
line: in each fold again, since nobody has to open one. A script shows them
(book/_static/tips.mjs).
"""

import re
from functools import cache
from html import escape

from docutils import nodes
from outputs import TAGS
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from words import GLOSSARY

PYTORCH = "book/pytorch"
# A term, or a name: after a dot, imported, or as code in the text. Nothing
# within other links, in titles, and in the lines that open folds.
PLACES = re.compile(
    r"<a\b(?![^>]*#term-).*?</a>|<h\d.*?</h\d>|<summary.*?</summary>"
    r"|(?P<fold></?details)"
    r'|href="[^"#]*#term-(?P<term>[^"]+)"'
    r'|(?<=<span class="o">\.</span>)<span class="n">(?P<attribute>\w+)</span>'
    r'|<span class="n">(?P<bare>\w+)</span>'
    r'|<span class="pre">(?P<code>\w+)</span>',
    re.DOTALL,
)
IMPORTED = re.compile(r"^from torch\S* import (.+)$", re.MULTILINE)


@cache
def meanings(env: BuildEnvironment, page: str) -> dict[str, str]:
    """Map each entry of a list of words, and its id, to what it says."""
    items = env.get_doctree(page).findall(nodes.definition_list_item)
    return {
        name: TAGS.sub("", explained.astext()).replace("\n", " ")
        for term, explained in (item.children for item in items)
        for name in (term.astext(), *(term["ids"] or []))
    }


def add_tips(app: Sphinx, page: str, _template, context: dict, doctree):
    """Put tips into a page that is no list of words itself."""
    if doctree is None or page in (GLOSSARY, PYTORCH):
        return
    terms = meanings(app.env, GLOSSARY)
    left = [{**meanings(app.env, PYTORCH)}]  # on the page, and in each fold
    url = app.builder.get_relative_uri(page, PYTORCH)
    code = "\n".join(n.astext() for n in doctree.findall(nodes.literal_block))
    imported = re.findall(r"\w+", " ".join(IMPORTED.findall(code)))

    def with_tip(found: re.Match) -> str:
        if found["fold"] == "<details":
            left.append({**left[-1]})
        elif found["fold"]:
            left.pop()
        if found["term"]:
            return f"{found[0]}{tip(terms['term-' + found['term']])}"
        name = found["attribute"] or found["code"]
        if found["bare"] in imported:
            name = found["bare"]
        if name not in left[-1]:
            return found[0]
        place = f'class="name" href="{url}#{nodes.make_id(name)}"'
        return f"<a {place}{tip(left[-1].pop(name))}>{found[0]}</a>"

    context["body"] = PLACES.sub(with_tip, context["body"])


def tip(text: str) -> str:
    return f' data-tip="{escape(text)}"'


def setup(app: Sphinx) -> dict:
    # Before scripts.py asks what a page has.
    app.connect("html-page-context", add_tips, priority=90)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

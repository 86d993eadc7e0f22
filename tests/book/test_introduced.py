"""No page uses a word, or a name of PyTorch's, before one explains it."""

import ast
import re
from pathlib import Path

import notebooks
import pytest
import torch
from torch import nn

import tformer_lite
from tests.helpers.browser import HTML
from tests.helpers.project import NOTEBOOKS, ROOT

CHAPTERS = [file.with_suffix(".md") for file in NOTEBOOKS]
FRONT = [ROOT / "book" / "intro.md", ROOT / "book" / "how_to_read.md"]
GLOSSARY = (ROOT / "book" / "glossary.md").read_text("utf8")
TERMS = re.findall(r"^(\w[^\n:{]*)\n  \S", GLOSSARY, re.MULTILINE)
LINK = re.compile(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`")
# What is not read in order: code, headings, what a chapter promises,
# formulas, links' addresses, code and roles in a line.
APART = [
    r"\A---\n.*?\n---\n",
    r"^ *```.*?^ *```",
    r"^#[^\n]*",
    r"^After this chapter you can\n\n(?:- [^\n]*\n(?:  [^\n]*\n)*)+",
    r"\$\$.*?\$\$|\$[^$\n]+\$",
    r"\]\([^)]*\)",
    r"<details[^>]*>",
    r"(\{term\}`[^`]*`)|(?:\{[\w:-]+\})?`(?:[^`\n]|\n(?!\n))*`",
]
# Words that also mean something to everybody: chapter 5 has a computer's
# memory before chapter 10 has the encoder's.
EVERYDAY = {"memory"}


def read(page: Path) -> str:
    """What of a page is read in order."""
    text = page.read_text("utf8")
    heads = text.split("\n## Sources\n")[0]
    for pattern in APART:
        kept = r"\1 " if pattern.startswith(r"(\{term") else " "
        heads = re.sub(pattern, kept, heads, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\s+", " ", heads)


def early(pages: dict[str, str], terms: list[str]) -> dict[str, str]:
    """Of each term that is used before it is linked, the page that does."""
    pages_by_term = {}
    for term in terms:
        used = re.compile(rf"\b{re.escape(term)}(?:s|es)?\b", re.IGNORECASE)
        for name, text in pages.items():
            links = (m for m in LINK.finditer(text) if m[1] == term)
            linked = next(links, None)
            before = text[: linked.start()] if linked else text
            if term not in EVERYDAY and used.search(LINK.sub(" ", before)):
                pages_by_term[term] = name
            if linked or term in pages_by_term:
                break
        else:
            pages_by_term[term] = "never"
    return pages_by_term


@pytest.mark.slow
def test_every_term_is_linked_where_it_is_first_used():
    pages = {page.stem: read(page) for page in FRONT + CHAPTERS}
    assert len(TERMS) > 70
    assert early(pages, TERMS) == {}


# --- names in code ---------------------------------------------------------

PYTHONS = {n for kind in (str, list, dict, set, Path, ast) for n in dir(kind)}
PYTORCHS = {
    name
    for home in (torch, torch.Tensor, nn, nn.functional, nn.Module, nn.init)
    for name in dir(home)
    if not name.startswith("_")
}
# They say what they do, as in any language.
CLEAR = {"abs", "ceil", "cos", "equal", "exp", "log", "max", "mean", "min"}
CLEAR |= {"ones", "pi", "round", "sin", "sqrt", "sum", "T", "zeros"}


def names_in(source: str) -> list[str]:
    """The names of PyTorch's that a cell uses, in their order."""
    tree = ast.parse(source)
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return [
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        or (isinstance(node, ast.Name) and node.id in imported)
    ]


def unexplained(chapters: list[list]) -> list[tuple[int, str]]:
    """Names whose first chapter does not name them in its text."""
    explained = PYTHONS | CLEAR | {*tformer_lite.__all__}
    unnamed = []
    for number, cells in enumerate(chapters):
        prose = "".join(c.source for c in cells if c.cell_type == "markdown")
        quoted = set(re.findall(r"\w+", " ".join(re.findall(CODE, prose))))
        for cell in cells:
            hidden = "setup" in cell.metadata.get("tags", [])
            if cell.cell_type == "code" and not hidden:
                new = [n for n in names_in(cell.source) if n not in explained]
                new = [n for n in dict.fromkeys(new) if n in PYTORCHS]
                unnamed += [(number, n) for n in new if n not in quoted]
                explained.update(new)
    return unnamed


CODE = re.compile(r"`[^`]+`|<code>[^<]+</code>")


@pytest.mark.slow
def test_every_name_of_pytorchs_is_explained_where_it_is_first_used():
    chapters = [notebooks.chapter_of(text).cells for text in CHAPTERS]
    assert unexplained(chapters) == []


ENTRY = re.compile(
    r'<dt id="term-([^"]+)">(?:(?!</dd>).)*?'
    r'→ <a [^>]*href="(?:[^"]*/)?(\w+)\.html#',
    re.DOTALL,
)


def test_the_glossary_says_where_each_term_is_introduced():
    """The first page that links it, by the page's own contents."""
    page = (HTML / "book" / "glossary.html").read_text("utf8")
    said = dict(ENTRY.findall(page))
    first = {}
    for text in FRONT + CHAPTERS:
        for link in LINK.finditer(read(text)):
            first.setdefault(link[1], text.stem)
    assert said == {t.replace(" ", "-"): first.get(t) for t in TERMS}

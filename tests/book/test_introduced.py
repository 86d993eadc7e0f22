"""No page uses a word before one explains it, and each name of PyTorch's that
a chapter uses is explained."""

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

PYTORCHS = {
    name
    for home in (torch, torch.Tensor, nn, nn.functional, nn.Module, nn.init)
    for name in dir(home)
    if not name.startswith("_")
}
# What else is called so: of a trace, of our models, of a module in PyTorch.
OTHERS = {"add", "attention", "embedding", "linear", "masked", "name", "norm"}
OTHERS |= {"pad", *tformer_lite.__all__, *dir(str), *dir(list), *dir(dict)}
EXPLAINED = re.findall(
    r"^`(\w+)`\{#(\w+)\}\n: \S",
    (ROOT / "book" / "pytorch.md").read_text("utf8"),
    re.MULTILINE,
)


def names_in(source: str) -> set[str]:
    """The names that a cell uses and that may be PyTorch's."""
    tree = ast.parse(source)
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        or (isinstance(node, ast.Name) and node.id in imported)
    }


@pytest.mark.slow
def test_every_name_of_pytorchs_has_a_line_and_no_line_is_idle():
    used = set()
    for text in CHAPTERS:
        for cell in notebooks.chapter_of(text).cells:
            hidden = "setup" in cell.metadata.get("tags", [])
            if cell.cell_type == "code" and not hidden:
                used |= names_in(cell.source)
    explained = {name for name, _ in EXPLAINED}
    assert all(name == place for name, place in EXPLAINED)
    assert used & PYTORCHS - OTHERS <= explained <= used


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

"""Fill in what a chapter's prose leaves to the run: shapes, terms, sources.

A chapter writes {axes}`scores`, {sizes}`scores`, {size}`F`, {count}`encoder`,
{axis}`T`, {term}`query`, {term}`queries <query>`, {cite}`vaswani2017` or
{exercise}`dealt_out`; the notebook has the words for it, so that they can be
read in Colab as well, and a page of the book has them in HTML
(book/_ext/axes.py). Around the words, the
notebook keeps what they stand for, <data value="size F">48</data>, which no
reader sees: so the words can be turned back into the role.
"""

import html
import json
import re
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pybtex.database import Entry, parse_file
from repository import addresses

KINDS = "axes|axis|sizes|size|count|term|cite|exercise"
ROLE = re.compile(rf"\{{({KINDS})\}}`([^`]+)`")
SHOWN = re.compile(rf'<data value="({KINDS}) ([^"]+)">(.*?)</data>', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
TERM = re.compile(r"^(\S.*)$(?=\n  \S)", re.MULTILINE)


class UnknownNameError(Exception):
    """A role names what there is not."""


class Title(NamedTuple):
    """The title of a source, in HTML, and where to read it, or ""."""

    text: str
    url: str

    @property
    def markdown(self) -> str:
        """Write it for a notebook."""
        return f"[{self.text}]({self.url})" if self.url else f"*{self.text}*"

    @property
    def html(self) -> str:
        """Write it for a page."""
        if self.url:
            return f'<a href="{self.url}">{self.text}</a>'
        return f"<cite>{self.text}</cite>"


# What a role says. A text may have HTML in it, which Markdown allows.
Words = list[str | Title]


def filled(text: str, book: Path) -> str:
    """Put words in the place of each role; `book` has what they refer to.

    Raises UnknownNameError for a name that does not exist.
    """

    def markdown(match: re.Match) -> str:
        said = "".join(
            word if isinstance(word, str) else word.markdown
            for word in words(match[1], match[2], book)
        )
        return (
            f'<data value="{match[1]} {about(*match.groups())}">{said}</data>'
        )

    return ROLE.sub(markdown, text)


def about(kind: str, text: str) -> str:
    """Name what a role is about: queries <query> is about the second."""
    if kind == "term":
        return text.removesuffix(">").rpartition(" <")[2]
    return text


def written(text: str) -> str:
    """Put the roles back in the place of their words: `filled`, undone.

    Only a term's words are its author's own, and may have been changed.
    """

    def role(match: re.Match) -> str:
        name = match[2]
        if match[1] == "term":
            shown = TAG.sub("", match[3])
            name = name if shown == name else f"{shown} <{name}>"
        return f"{{{match[1]}}}`{name}`"

    return SHOWN.sub(role, text)


def as_html(role: str, text: str, book: Path) -> str:
    """Write what a role says for a page.

    Raises UnknownNameError for a name that does not exist.
    """
    return "".join(
        word if isinstance(word, str) else word.html
        for word in words(role, text, book)
    )


def words(role: str, text: str, book: Path) -> Words:
    """Say what a role stands for."""
    said = WRITERS[role](text, book)
    return [said] if isinstance(said, str) else said


@cache
def shapes(book: Path) -> dict:
    return json.loads((book / "shapes.json").read_text("utf8"))


def found(name: str, known: dict, what: str):
    """Look a name up; UnknownNameError, with names like it, without it."""
    if name not in known:
        near = get_close_matches(name, known, cutoff=0)
        raise UnknownNameError(f"there is no {what} {name!r}; near are {near}")
    return known[name]


def axis(letter: str, book: Path) -> str:
    """Write an axis letter in its colour."""
    found(letter, shapes(book)["sizes"], "axis")
    return coloured(letter)


def coloured(name: str) -> str:
    """Write each letter of an axis's name in its colour: B, H*D, 1. Where
    colours are dropped, in Colab and on GitHub, it is still bold."""
    bold = r'<b class="axis axis-\g<0>">\g<0></b>'
    return re.sub(r"[A-Z]", bold, name).replace("*", "·")


def measured(name: str, book: Path) -> list[tuple[str, int]]:
    """Give the axes of a tensor; scores[0, 1] lacks the first two."""
    known = shapes(book)["shapes"]
    index = re.search(r"\[[\d, ]+\]$", name)
    if name in known or not index:
        return found(name, known, "shape")
    left = index[0].count(",") + 1
    return found(name[: index.start()], known, "shape")[left:]


def axes(name: str, book: Path) -> str:
    """Write the letters of a measured shape: (B, T, C)."""
    letters = [coloured(letter) for letter, _ in measured(name, book)]
    return f"({', '.join(letters)})"


def sizes(name: str, book: Path) -> str:
    """Write a measured shape in numbers: (2, 8, 12)."""
    return f"({', '.join(str(n) for _, n in measured(name, book))})"


def size(letter: str, book: Path) -> str:
    """Write the size of an axis."""
    return f"{found(letter, shapes(book)['sizes'], 'axis'):,}"


def count(path: str, book: Path) -> str:
    """Write how many parameters a module has; . is the whole model."""
    counts = shapes(book)["counts"]
    return f"{found(path.strip('.'), counts, 'module'):,}"


def term(text: str, book: Path) -> str:
    """Link a term to the glossary: queries <query> shows the first word. The
    address is a full one, so that it leads there from Colab, too."""
    shown, _, name = text.removesuffix(">").partition(" <")
    name = name or shown
    found(name, terms(book), "term")
    place = f"book/glossary.html#term-{name.replace(' ', '-')}"
    return f'<a class="term" href="{site(book)}/{place}">{shown}</a>'


@cache
def site(book: Path) -> str:
    """Give the address at which the book is published."""
    return addresses(book.parent)[1]


@cache
def terms(book: Path) -> dict[str, None]:
    page = (book / "glossary.md").read_text("utf8")
    return dict.fromkeys(TERM.findall(page))


@cache
def exercises(book: Path) -> dict[str, dict]:
    return json.loads((book / "exercises.json").read_text("utf8"))


def exercise(name: str, book: Path) -> str:
    """Write what kind of exercise it is, how long it takes, how hard."""
    about = found(name, exercises(book), "exercise")
    kind = about["kind"].capitalize()
    use = " · homework: no solution here" if about["assignable"] else ""
    return (
        f"{kind} · {about['minutes']} minutes · "
        f"level {about['level']} of 3{use}"
    )


def cite(key: str, book: Path) -> Words:
    """Write a source in full, with a link."""
    return reference(found(key, references(book), "source"))


@cache
def references(book: Path) -> dict[str, Entry]:
    return dict(parse_file(book / "references.bib").entries)


def reference(entry: Entry) -> Words:
    """Write who, what, where and when."""
    fields = entry.fields
    people = [str(p.last_names[-1]) for p in entry.persons.get("author", [])]
    who = (
        " and ".join(people) if len(people) < 3 else f"{people[0]} and others"
    )
    title = html.escape(fields["title"].translate({123: None, 125: None}))
    rest = [fields.get("journal") or fields.get("booktitle", "")]
    rest = [part for part in (*rest, fields.get("year", "")) if part]
    before, after = f"{who}, " if who else "", "".join(f", {x}" for x in rest)
    return [before, Title(title, fields.get("url", "")), after]


WRITERS = {
    "axis": axis,
    "axes": axes,
    "sizes": sizes,
    "size": size,
    "count": count,
    "term": term,
    "cite": cite,
    "exercise": exercise,
}

"""Fill in what a chapter's prose leaves to the run: shapes, terms, sources.

A chapter writes {axes}`scores`, {sizes}`scores`, {size}`F`, {count}`encoder`,
{axis}`T`, {term}`query`, {term}`queries <query>`, {cite}`vaswani2017` or
{exercise}`dealt_out`; the notebook has the words for it, so that they can be
read in Colab as well, and a page of the book has them in HTML
(book/_ext/words.py). Around the words, the notebook keeps what they stand
for, <data value="size F">48</data>, which no reader sees: so the words can be
turned back into the role.
"""

import html
import json
import re
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from pybtex.database import Entry, parse_file
from repository import addresses

KINDS = "axes|axis|sizes|size|count|term|cite|exercise"
ROLE = re.compile(rf"\{{({KINDS})\}}`([^`]+)`")
WORDS = re.compile(rf'<data value="({KINDS}) ([^"]+)">(.*?)</data>', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
LINK = re.compile(r"\[(.*?)\]\((\S*?)\)")
TERM = re.compile(r"^(\S.*)$(?=\n  \S)", re.MULTILINE)


class UnknownNameError(Exception):
    """A role names what there is not."""


def with_words(text: str, book: Path) -> str:
    """Put words in the place of each role; `book` has what they refer to.

    Raises UnknownNameError for a name that does not exist.
    """

    def said(match: re.Match) -> str:
        name = f"{match[1]} {target(*match.groups())}"
        words = WRITERS[match[1]](match[2], book)
        return f'<data value="{name}">{words}</data>'

    return ROLE.sub(said, text)


def target(kind: str, text: str) -> str:
    """Name what a role is about: queries <query> is about the second."""
    if kind == "term":
        return text.removesuffix(">").rpartition(" <")[2]
    return text


def with_roles(text: str) -> str:
    """Put the roles back in the place of their words: `with_words`, undone.

    Only a term's words are its author's own, and may have been changed.
    """

    def role(match: re.Match) -> str:
        name = match[2]
        if match[1] == "term":
            shown = TAG.sub("", match[3])
            name = name if shown == name else f"{shown} <{name}>"
        return f"{{{match[1]}}}`{name}`"

    return WORDS.sub(role, text)


def as_html(role: str, text: str, book: Path) -> str:
    """Write what a role says for a page.

    Raises UnknownNameError for a name that does not exist.
    """
    words = LINK.sub(r'<a href="\2">\1</a>', WRITERS[role](text, book))
    return re.sub(r"\*(.*)\*", r"<cite>\1</cite>", words)


@cache
def shapes(book: Path) -> dict:
    return json.loads((book / "shapes.json").read_text("utf8"))


def look_up(name: str, names: dict, what: str):
    """Look a name up; UnknownNameError, with names like it, without it."""
    if name not in names:
        near = get_close_matches(name, names, cutoff=0)
        raise UnknownNameError(f"there is no {what} {name!r}; near are {near}")
    return names[name]


def axis(letter: str, book: Path) -> str:
    """Write an axis letter in its colour."""
    look_up(letter, shapes(book)["sizes"], "axis")
    return axis_html(letter)


def axis_html(name: str) -> str:
    """Write each letter of an axis's name in its colour: B, H*D, 1. Where
    colours are dropped, in Colab and on GitHub, it is still bold."""
    bold = r'<b class="axis axis-\g<0>">\g<0></b>'
    return re.sub(r"[A-Z]", bold, name).replace("*", "·")


def axes_of(name: str, book: Path) -> list[tuple[str, int]]:
    """Give the axes of a tensor; scores[0, 1] lacks the first two."""
    measured = shapes(book)["shapes"]
    index = re.search(r"\[[\d, ]+\]$", name)
    if name in measured or not index:
        return look_up(name, measured, "shape")
    left = index[0].count(",") + 1
    return look_up(name[: index.start()], measured, "shape")[left:]


def axes(name: str, book: Path) -> str:
    """Write the letters of a measured shape: (B, T, C)."""
    letters = [axis_html(letter) for letter, _ in axes_of(name, book)]
    return f"({', '.join(letters)})"


def sizes(name: str, book: Path) -> str:
    """Write a measured shape in numbers: (2, 8, 12)."""
    return f"({', '.join(str(n) for _, n in axes_of(name, book))})"


def size(letter: str, book: Path) -> str:
    """Write the size of an axis."""
    return f"{look_up(letter, shapes(book)['sizes'], 'axis'):,}"


def count(path: str, book: Path) -> str:
    """Write how many parameters a module has; . is the whole model."""
    counts = shapes(book)["counts"]
    return f"{look_up(path.strip('.'), counts, 'module'):,}"


def term(text: str, book: Path) -> str:
    """Link a term to the glossary: queries <query> shows the first word. The
    address is a full one, so that it leads there from Colab, too."""
    shown, _, name = text.removesuffix(">").partition(" <")
    name = name or shown
    look_up(name, terms(book), "term")
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
    target = look_up(name, exercises(book), "exercise")
    kind = target["kind"].capitalize()
    use = " · homework: no solution here" if target["assignable"] else ""
    return (
        f"{kind} · {target['minutes']} minutes · "
        f"level {target['level']} of 3{use}"
    )


@cache
def references(book: Path) -> dict[str, Entry]:
    return dict(parse_file(book / "references.bib").entries)


def cite(key: str, book: Path) -> str:
    """Write a source in Markdown, with a link: who, what, where, when."""
    entry = look_up(key, references(book), "source")
    fields = entry.fields
    people = [str(p.last_names[-1]) for p in entry.persons.get("author", [])]
    who = (
        " and ".join(people) if len(people) < 3 else f"{people[0]} and others"
    )
    title = html.escape(fields["title"].translate({123: None, 125: None}))
    rest = [fields.get("journal") or fields.get("booktitle", "")]
    rest = [part for part in (*rest, fields.get("year", "")) if part]
    url = fields.get("url", "")
    what = f"[{title}]({url})" if url else f"*{title}*"
    return ", ".join([*([who] if who else []), what, *rest])


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

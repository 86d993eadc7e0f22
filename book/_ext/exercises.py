"""A table of all exercises: ```{exercises}```, from book/exercises.json."""

import sys
from html import escape
from itertools import groupby
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).parents[1]
sys.path.append(str(BOOK / "_tools"))
import roles  # noqa: E402

FOLDER = "chapters/exercises"
HEAD = "<tr><th>exercise</th><th>what it teaches</th></tr>"


class Exercises(SphinxDirective):
    """Writes a row for each exercise, under its chapter's number."""

    def run(self) -> list[nodes.Node]:
        found = roles.exercises(BOOK).items()
        uri = self.env.app.builder.get_relative_uri
        rows = [HEAD]
        for number, group in groupby(found, lambda item: item[1]["chapter"]):
            page = page_of(number)
            url = uri(self.env.docname, page)
            title = f'<a href="{url}">Chapter {number}</a>'
            rows.append(f'<tr><th colspan="2">{title}</th></tr>')
            rows += [row(name, about, url) for name, about in group]
        table = f'<table class="exercises">{"".join(rows)}</table>'
        return [nodes.raw("", table, format="html")]


def page_of(chapter: int) -> str:
    """Find the page with the exercises on a chapter."""
    found = (BOOK.parent / FOLDER).glob(f"{chapter:02}_*.md")
    return f"{FOLDER}/{next(found).stem}"


def row(name: str, about: dict, url: str) -> str:
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


def setup(app: Sphinx) -> dict:
    app.add_directive("exercises", Exercises)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The atlas: ```{atlas} wall``` draws all models, ```{atlas} table``` lists
them, ```{atlas} cards``` has a section for each, and {atlas}`models` says how
many there are. `make atlas` has measured them; nothing here needs PyTorch."""

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

sys.path.append(str(Path(__file__).parents[1] / "_tools"))
from packages import BOOK, ROOT

sys.path.append(str(ROOT))
from model_cards.drawing import cache_text, expert_text, heads_text, parameters
from model_cards.page import card_html, tile_html

Data = dict[str, Any]
Uri = Callable[[str], str]
OURS, OUR_NAME = "translator", "Our translator"
OUR_PAGE = "chapters/12_the_whole_model"
TITLE_LINE = re.compile(
    r"^#+ (?P<head>.+)|"
    r'^<details [^>]*id="(?P<id>[^"]+)">\n<summary>(?P<summary>.*)</summary>',
    re.MULTILINE,
)
COLUMNS = {
    "year": lambda data: str(data.get("year", "")),
    "parameters": lambda data: f"{parameters(data):,}",
    "heads": lambda data: heads_text(data["run"]),
    "window": lambda data: data["parts"].get("window", "none"),
    "feed-forward": lambda data: data["parts"].get("feed-forward", "none"),
    "experts": lambda data: expert_text(data) or "none",
    "cache": lambda data: cache_text(data),
}
# What has a tree's colours and sizes; the page's script puts colours back.
TREE_MARKS = re.compile(r"<sub>\d+</sub>|</?(var|b|span)\b[^>]*>")
MODEL = """\
<p>{made}{news} Source: {source}. Built as <code>{kind}</code>.</p>
{card}
<p class="ways-on">
<a href="resize.html#preset={preset}">Change its sizes</a>
<a class="scripted" href="#compare={place}">Compare with ours</a></p>"""


@cache
def models() -> dict[str, Data]:
    """Read what was measured, the smallest model first: the book's own."""
    cards = json.loads((BOOK / "_static" / "atlas.json").read_text("utf8"))
    cards[OURS] = {"name": OUR_NAME} | cards[OURS]
    return dict(sorted(cards.items(), key=lambda x: parameters(x[1])))


@cache
def explanations() -> dict[str, dict[str, str]]:
    """Read what explains each kind of a part."""
    return tomllib.loads((BOOK / "_tools/atlas_links.toml").read_text("utf8"))


@cache
def headings(page: str) -> dict[str, str]:
    """Read the headings of a page, and what folds, by their anchors."""
    text = (ROOT / f"{page}.md").read_text("utf8")
    return {
        title["id"] or nodes.make_id(title["head"]): title["head"]
        or title["summary"]
        for title in TITLE_LINE.finditer(text)
    }


def targets(part: str, text: str) -> Iterator[str]:
    """Give what explains a kind of a part."""
    for pattern, target in explanations().get(part, {}).items():
        if re.search(pattern, text):
            yield target


def target_html(target: str, uri: Uri) -> str:
    """Write a link to a section, or a sentence."""
    page, is_link, place = target.partition("#")
    if not is_link:
        return escape(target)
    title = escape(headings(page)[place].rstrip("?"))
    words = f"chapter {int(page.split('/')[1][:2])}, <cite>{title}</cite>"
    return f'see <a href="{uri(page)}#{place}">{words}</a>'


def place_of(name: str) -> str:
    """Write a model's name as an anchor."""
    return name.replace("_", "-")


class Atlas(SphinxDirective):
    """Puts the table of all models in its place, or their cards."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        written = {"table": models_table, "wall": wall}
        if write := written.get(self.arguments[0]):
            return [nodes.raw("", write(), format="html")]
        builder, here = self.env.app.builder, self.env.docname
        return [
            section(name, data, lambda to: builder.get_relative_uri(here, to))
            for name, data in models().items()
        ]


def wall() -> str:
    """Draw all models below what sorts them."""
    tiles = "\n".join(
        tile_html(data["name"], place_of(x), data)
        for x, data in models().items()
    )
    return (BOOK / "_static" / "models.html").read_text("utf8") + (
        f'<ul class="models">{tiles}</ul>'
    )


def models_table() -> str:
    """Write a row for each model, whose name leads to its card."""
    head = "".join(f'<th scope="col">{x}</th>' for x in ("model", *COLUMNS))
    rows = []
    for name, data in models().items():
        cells = "".join(
            f'<td data-name="{column}">{escape(read(data))}</td>'
            for column, read in COLUMNS.items()
        )
        link = f'<a href="#{place_of(name)}">{escape(data["name"])}</a>'
        rows.append(f'<tr><th scope="row">{link}</th>{cells}</tr>')
    return (
        "<details><summary>All of it as a table</summary>"
        f'<table class="atlas"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></details>"
    )


def section(name: str, data: Data, uri: Uri) -> nodes.section:
    """Make the section of a model: where it is from, and its card."""
    node = nodes.section(ids=[place_of(name)], names=[place_of(name)])
    node += nodes.title("", data["name"])
    node += nodes.raw("", model_html(name, data, uri), format="html")
    return node


def model_html(name: str, data: Data, uri: Uri) -> str:
    """Write what a section says of its model."""
    parts, our_parts = data["parts"], models()[OURS]["parts"]
    both = dict.fromkeys(our_parts, "none") | parts
    links = {
        part: ". ".join(target_html(x, uri) for x in targets(part, text))
        for part, text in both.items()
    }
    shown = data | {"rows": with_published(data)}
    shown["tree"] = TREE_MARKS.sub("", data["tree"])
    return MODEL.format(
        kind=data["class"],
        news=escape(data.get("news", "")),
        card=card_html(shown, links, our_parts),
        preset=name if name != OURS else "tiny_translator",
        place=f"{OURS},{place_of(name)}",
        **origin(data, uri),
    )


def origin(data: Data, uri: Uri) -> dict[str, str]:
    """Say who made a model and when, and where it is published."""
    if "maker" not in data:
        link = f'<a href="{uri(OUR_PAGE)}">chapter 12</a>'
        return {"made": "", "source": link}
    link = f'<a href="{escape(data["url"])}">{escape(data["source"])}</a>'
    return {"made": f"{data['maker']}, {data['year']}. ", "source": link}


def with_published(data: Data) -> list[list[str]]:
    """Put what is published below what was measured."""
    rows = [[*row] for row in data["rows"]]
    if not data.get("published"):
        return rows
    active, counted = data.get("published active"), data.get("counted")
    said = data["published"]
    said += f", {active} of them at work for a word" * bool(active)
    said += f" ({counted})" * bool(counted)
    last = max(i for i, (name, _) in enumerate(rows) if "parameters" in name)
    return [*rows[: last + 1], ["published", said], *rows[last + 1 :]]


class AtlasRole(SphinxRole):
    """How many there are of something in the atlas."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [nodes.Text(str(len(models()) - 1))], []


def add_style(app: Sphinx, _page, _template, context: dict, _doctree) -> None:
    """Give a page with cards their style."""
    if 'class="card-of"' in context.get("body", ""):
        app.add_css_file("card.css")


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", add_style)
    app.add_directive("atlas", Atlas)
    app.add_role("atlas", AtlasRole())
    return {"parallel_read_safe": True, "parallel_write_safe": True}

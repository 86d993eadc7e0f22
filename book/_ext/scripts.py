"""Scripts, and the pages that have them. Panels: in ```{explorer} landing```
two change places, in ```{explorer} play``` one types, ```{explorer} bugs```
plants bugs, ```{explorer} inside``` shows all steps of the translator,
```{explorer} resize``` has sliders for sizes, ```{explorer} atlas``` puts two
models side by side. A legend of the axis letters on every page that has any;
and what judges a typed shape.

What a letter means stands in book/notation.md, its size in the running
example in book/shapes.json. A page from a disk may not load modules, so each
script is put into one; that of a panel is fetched when the page is drawn, so
that nobody waits for it.
"""

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parents[1]
sys.path += [str(HERE / "_tools"), str(HERE.parent)]
import roles  # noqa: E402
from packages import BOOK  # noqa: E402

from explorer.scripts import FOLDER, join_modules  # noqa: E402

STATIC = BOOK / "_static"
STYLE = FOLDER / "explorer.css"
FILES = {x.stem: x for y in (FOLDER, STATIC) for x in y.glob("*.mjs")}
NO_PAGE = "\nif (!globalThis.document) return;\n"  # a worker has none
FETCH = """\
addEventListener("load", () => requestAnimationFrame(() => setTimeout(() =>
document.head.append(Object.assign(document.createElement("script"),
{{ src: "{}" }})))));"""
# | {axis}`H` | heads | `n_heads` |
ROW = re.compile(r"^\| \{axis\}`(\w)` \| (.*?) \| (?:`(\w+)`)? *\|$", re.M)
CARD_KEYS = "dims layers steps parameters cache"  # of a card
LETTER, QUESTION = 'class="axis', "data-shape="
LEGEND = """\
<details class="axes"{state}>
<summary>Axes of the running example</summary>
<dl>
{rows}
</dl>
</details>
"""
LEGEND_ROW = """\
<div data-letter="{letter}" data-size="{size}" data-code="{code}" \
data-name="{name}" data-means="{means}">
<dt>{shown} <span>{size:,}</span></dt>
<dd>{name}</dd>
</div>"""


def data_of(file: str, less: str = "") -> dict[str, Any]:
    """Read a file of data, less some of it."""
    data = json.loads((STATIC / file).read_text("utf8"))
    return {x: data[x] for x in data if x not in less.split()}


def cards() -> dict[str, Any]:
    """Read what is counted of the models of the atlas, without their trees;
    which parameters work for a word only where others rest."""
    return {
        name: {x: card[x] for x in CARD_KEYS.split()}
        | ({"active": card["active"]} if "top_k" in card["dims"] else {})
        | {"window": card["parts"].get("window", "")}
        for name, card in data_of("atlas.json", less="translator").items()
    }


def resize_data() -> dict[str, Any]:
    """Give the presets of the book, and say which models the atlas has."""
    atlas = data_of("atlas.json", less="translator")
    return {
        "presets": data_of("sizes.json"),
        "models": {name: card["name"] for name, card in atlas.items()},
        "cardsFile": address("cards.js"),
    }


def address(file: str) -> str:
    """Add to the name of a script what changes with it, so that no browser
    takes an old one."""
    text = SCRIPTS[file].text().encode()
    return f"{file}?v={hashlib.sha256(text).hexdigest()[:8]}"


class Script(NamedTuple):
    """What a script is made of: modules that have a page, before them the
    engine, which a worker has as well, and data that they find by its
    names."""

    modules: str
    engine: str = ""
    data: Callable[[], dict[str, Any]] = dict

    def text(self) -> str:
        """Join all of it, in a function that a worker may run again."""
        names = self.engine.split()
        files = [FILES[name] for name in names + self.modules.split()]
        engine, both = (join_modules(x) for x in (files[: len(names)], files))
        write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
        constants = (
            f"const {name} = {write.encode(value)};\n"
            for name, value in self.data().items()
        )
        code = "".join(constants) + engine + NO_PAGE + both[len(engine) :]
        return f'(function script() {{\n"use strict";\n{code}}})();\n'


ENGINE = "tensor parameters parts model translate sentences translator"
FOR_BUGS = " bugs sums steps checks findings"
BASICS = "elements alignment"
SCRIPTS = {
    "letters.js": Script("memory letters"),
    "predict.js": Script("shapes predict"),
    "landing.js": Script(
        f"{BASICS} landing",
        ENGINE,
        lambda: {"translator": data_of("translator.json", "tests bugs")},
    ),
    "play.js": Script(
        f"{BASICS} address memory days grid attending inside hunt lamps play",
        ENGINE + FOR_BUGS,
        lambda: {"translator": data_of("translator.json")},
    ),
    "atlas.js": Script("written besides atlas"),
    "cards.js": Script("cards", data=lambda: {"cards": cards()}),
    "resize.js": Script(
        "address written sliders resize", "sizes", resize_data
    ),
}
PANELS = dict.fromkeys(("play", "bugs", "inside"), "play.js")
PANELS |= {name: f"{name}.js" for name in ("landing", "resize", "atlas")}


class Explorer(SphinxDirective):
    """Puts a panel in its place, and asks for its script."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        file = STATIC / f"{name}.html"
        panel = nodes.raw("", file.read_text("utf8"), format="html")
        panel["explorer"] = PANELS[name]
        return [panel]


def add_scripts(app: Sphinx, page: str, _template, context, doctree) -> None:
    """Give a page the scripts that it has use for, and the legend."""
    panels = doctree.findall(nodes.raw) if doctree else []
    for file in dict.fromkeys(panel.get("explorer") for panel in panels):
        if file:
            place = context["pathto"](f"_static/{address(file)}", 1)
            app.add_js_file(None, body=FETCH.format(place))
            app.add_css_file(STYLE.name)
            app.add_css_file("panels.css")
    body = context.get("body", "")
    if doctree is not None and LETTER in body:
        context["axes"] = legend(page.startswith("chapters/"))
        app.add_js_file("letters.js", loading_method="defer")
        if QUESTION in body:
            app.add_js_file("predict.js", loading_method="defer")


def legend(is_open: bool) -> str:
    """Write the legend of the axis letters, with all of it for scripts."""
    rows = [
        LEGEND_ROW.format(
            letter=letter,
            size=size_of(letter),
            code=code,
            name=escape(name_of(means)),
            means=escape(means),
            shown=roles.axis_html(letter),
        )
        for letter, means, code in notation()
    ]
    return LEGEND.format(state=" open" * is_open, rows="\n".join(rows))


def notation() -> list[tuple[str, str, str]]:
    """Read each letter, what it means, and its name in code, or ""."""
    return ROW.findall((BOOK / "notation.md").read_text("utf8"))


def name_of(means: str) -> str:
    """Take the first words of a meaning: target positions."""
    return re.split(r"[:;,(]", means)[0].strip()


def size_of(letter: str) -> int:
    return roles.shapes(BOOK)["sizes"][letter]


def write_scripts(app: Sphinx) -> None:
    """Join the modules and the data of each script."""
    folder = Path(app.outdir, "_static")
    folder.mkdir(parents=True, exist_ok=True)
    for name, script in SCRIPTS.items():
        (folder / name).write_text(script.text(), "utf8")
    shutil.copy(STYLE, folder)


def setup(app: Sphinx) -> dict:
    app.add_directive("explorer", Explorer)
    app.connect("builder-inited", write_scripts)
    # Before the theme asks which parts of its sidebar are empty.
    app.connect("html-page-context", add_scripts, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

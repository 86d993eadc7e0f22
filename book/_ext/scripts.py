"""Scripts, and the pages that have them. Panels: in ```{explorer} landing```
two change places, in ```{explorer} play``` one types and
plants bugs, ```{explorer} inside``` shows all steps of the translator,
```{explorer} resize``` has sliders for sizes, ```{explorer} atlas``` puts two
models side by side. A legend of the axis letters on every page that has any;
and what judges a typed shape.

What a letter means stands in book/notation.md, its size in the running
example in book/shapes.json. A page from a disk may not load modules, so each
script is put into one; that of a panel is fetched when the page is drawn, so
that nobody waits for it.
"""

import base64
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from jinja2 import Template
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parents[1]
sys.path += [str(HERE / "_tools"), str(HERE.parent)]
import roles  # noqa: E402
from packages import BOOK, MY_TRANSFORMER, PAIRS  # noqa: E402

from chapters import one_file  # noqa: E402
from engine import HERE as ENGINE  # noqa: E402
from engine import engine_script  # noqa: E402
from explorer.scripts import FOLDER, join_modules  # noqa: E402

STATIC = BOOK / "_static"
STYLE = FOLDER / "explorer.css"
FOLDERS = FOLDER, STATIC, ENGINE, ENGINE / "pages"
FILES = {file.stem: file for x in FOLDERS for file in x.glob("*.mjs")}
FETCH = """\
addEventListener("load", () => requestAnimationFrame(() => setTimeout(() =>
document.head.append(Object.assign(document.createElement("script"),
{{ src: "{}" }})))));"""
# At a cell that the reader can write; it loads the rest when it is pressed.
WRITE_BUTTON = '<button type="button" class="write">Write it here</button>'
ON_PRESS = """\
addEventListener("click", ({{ target }}) => {{
if (!target.matches?.("button.write")) return;
target.ariaBusy = true;
document.head.append(Object.assign(document.createElement("script"),
{{ src: "{}" }})); }});"""
# | {axis}`H` | heads | `n_heads` |
ROW = re.compile(r"^\| \{axis\}`(\w)` \| (.*?) \| (?:`(\w+)`)? *\|$", re.M)
# All that runs the reader's file, in one page that needs no other. There is
# no theme to say the colours.
ONE_PAGE = BOOK / "_templates" / "one_page.html"
ENGINE_DATA = "sizes words shapes numbers"  # of the translator, for the engine
OWN_SITE = re.compile(r"https://\S+")  # of the book, in the reader's file
CARD_KEYS = "dims layers steps parameters cache"  # of a card
LETTER, TIP, QUESTION = 'class="axis', "data-tip=", "data-shape="


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


@cache
def address(file: str) -> str:
    """Add to the name of a script what changes with it, so that no browser
    takes an old one."""
    text = SCRIPTS[file].text().encode()
    return f"{file}?v={hashlib.sha256(text).hexdigest()[:8]}"


class Script(NamedTuple):
    """What a script is made of: modules, and data that they find by its
    names."""

    modules: str
    data: Callable[[], dict[str, Any]] = dict

    def text(self) -> str:
        """Join all of it, in a function."""
        return in_function(constants(self.data()) + self.code())

    def code(self) -> str:
        return join_modules(FILES[name] for name in self.modules.split())


def constants(data: dict[str, Any]) -> str:
    """Write data as constants."""
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    return "".join(
        f"const {name} = {write.encode(value)};\n"
        for name, value in data.items()
    )


def in_function(code: str) -> str:
    """Keep the names of a script to itself."""
    return f'(() => {{\n"use strict";\n{code}}})();\n'


class EngineScript:
    """What runs the reader's file: fetched by a page when it is asked to."""

    def text(self) -> str:
        data = data_of("translator.json")
        model = {name: data[name] for name in ENGINE_DATA.split()}
        return engine_script(model, PAIRS.read_text("utf8"))


def file_data(less: str = "") -> dict[str, Any]:
    """Give what a page needs that runs the reader's file: its text, where the
    engine lies, and what is said of words, bugs and parts, `less` some."""
    return {
        "engineFile": address("engine.js"),
        "myTransformer": MY_TRANSFORMER.read_text("utf8"),
        "translator": data_of("translator.json", f"{ENGINE_DATA} {less}"),
    }


@cache
def parts_to_write() -> set[str]:
    """Gather the parts of the reader's file that chapters 2 to 12 build."""
    chapters = sorted(one_file.CHAPTERS.glob("*.md"))
    parts = one_file.parts_of(chapters, {"build"}).values()
    return {code for chapter, code in parts if "02" <= chapter <= "12"}


def write_data() -> dict[str, Any]:
    """Give what a page needs where one writes a part of the file."""
    data = file_data()
    return {x: data[x] for x in ("engineFile", "myTransformer")} | {
        "style": (STATIC / "engine.css").read_text("utf8"),
        "parts": len(parts_to_write()),
    }


SCRIPTS = {
    "tips.js": Script("memory tips"),
    "predict.js": Script("shapes predict"),
    "engine.js": EngineScript(),
    "landing.js": Script(
        "elements alignment sentences address client landing",
        lambda: file_data(less="tests bugs left_out"),
    ),
    "play.js": Script(
        "elements alignment sentences address sums grid client "
        "wall attending differences hunt recorded inside play",
        file_data,
    ),
    "workbench.js": Script(
        "elements alignment sentences address memory heatmaps editor "
        "attending client workbench",
        file_data,
    ),
    "train.js": Script(
        "elements alignment sentences address memory client chart train",
        file_data,
    ),
    "write.js": Script("elements memory editor client write", write_data),
    "atlas.js": Script("written besides atlas"),
    "cards.js": Script("cards", lambda: {"cards": cards()}),
    "resize.js": Script("address written sizes sliders resize", resize_data),
}
OWN_STYLES = {"workbench.js": "engine.css", "train.js": "train.css"}
PANELS = dict.fromkeys(("play", "inside"), "play.js")
PANELS |= {
    name: f"{name}.js"
    for name in ("landing", "resize", "atlas", "workbench", "train")
}


class Explorer(SphinxDirective):
    """Puts a panel in its place, and asks for its script."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        file = STATIC / f"{name}.html"
        panel = nodes.raw("", file.read_text("utf8"), format="html")
        panel["explorer"] = PANELS[name]
        return [panel]


def add_buttons(_app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Put a button below each cell that builds parts to write."""
    for cell in doctree.findall(nodes.container):
        if "tag_build" in cell["classes"]:
            source = next(cell.findall(nodes.literal_block)).astext()
            if set(one_file.definitions(source).values()) <= parts_to_write():
                cell += nodes.raw("", WRITE_BUTTON, format="html")


def add_scripts(app: Sphinx, page: str, _template, context, doctree) -> None:
    """Give a page the scripts that it has use for, and the legend."""
    panels = doctree.findall(nodes.raw) if doctree else []
    for file in dict.fromkeys(panel.get("explorer") for panel in panels):
        if file:
            place = context["pathto"](f"_static/{address(file)}", 1)
            app.add_js_file(None, body=FETCH.format(place))
            app.add_css_file(STYLE.name)
            app.add_css_file("panels.css")
            if file in OWN_STYLES:
                app.add_css_file(OWN_STYLES[file])
    body = context.get("body", "")
    if WRITE_BUTTON in body:
        place = context["pathto"](f"_static/{address('write.js')}", 1)
        app.add_js_file(None, body=ON_PRESS.format(place))
        app.add_css_file("write.css")
    if doctree is not None and LETTER in body:
        context["axes"] = legend()
        if QUESTION in body:
            app.add_js_file("predict.js", loading_method="defer")
    if doctree is not None and (LETTER in body or TIP in body):
        app.add_js_file("tips.js", loading_method="defer")


def legend() -> list[dict[str, Any]]:
    """Gather what the legend says of each axis letter, to scripts, too."""
    return [
        {
            "letter": roles.axis_html(letter),
            "size": size_of(letter),
            "name": name_of(means),
            "data": {"letter": letter, "code": code, "means": means},
        }
        for letter, means, code in notation()
    ]


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


def one_page(site: str) -> str:
    """Write the workbench and the training as one page."""
    font = (STATIC / "NotoSansDevanagari.woff2").read_bytes()
    both = "workbench", "train"
    styles = [STATIC / f"{name}.css" for name in ("panels", "engine", "train")]
    texts = [(STATIC / f"{name}.html").read_text("utf8") for name in both]
    panels = "\n<h1>Train it</h1>\n".join(texts)
    scripts = [SCRIPTS["engine.js"].text(), constants(file_data())]
    scripts += [in_function(SCRIPTS[f"{name}.js"].code()) for name in both]
    return Template(ONE_PAGE.read_text("utf8")).render(
        font=base64.b64encode(font).decode(),
        style="\n".join(style.read_text("utf8") for style in styles),
        site=site,
        panels=panels.replace('"../', f'"{site}/'),
        scripts="\n".join(map(in_html, scripts)),
    )


def write_page(app: Sphinx, error: Exception | None) -> None:
    """Write that page beside the book's, which are made lighter before."""
    page = one_page(OWN_SITE.search(MY_TRANSFORMER.read_text("utf8"))[0])
    Path(app.outdir, "my_transformer.html").write_text(page, "utf8")


def in_html(script: str) -> str:
    """Put a script into a page: no text in it may end it."""
    inside = script.replace("</script", r"<\/script")
    return f"<script>{inside}</script>"


def setup(app: Sphinx) -> dict:
    app.add_directive("explorer", Explorer)
    app.connect("builder-inited", write_scripts)
    app.connect("build-finished", write_page, priority=950)
    app.connect("doctree-resolved", add_buttons)
    # Before the theme asks which parts of its sidebar are empty.
    app.connect("html-page-context", add_scripts, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

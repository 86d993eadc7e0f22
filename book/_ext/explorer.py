"""Panels on pages, each with the script that it needs. The translator: in
```{explorer} play``` one types and plants bugs, ```{explorer} inside``` shows
all of its steps. And ```{explorer} resize``` has sliders for sizes.

A script is fetched when the page stands, so that nobody waits for it.
"""

import hashlib
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).parents[1]
sys.path.append(str(BOOK.parent))
from tformer_lite.explorer.scripts import FOLDER, join_modules  # noqa: E402

STATIC = BOOK / "_static"
STYLE = FOLDER / "explorer.css"
TEXT = '(() => {{\n"use strict";\nconst {} = {};\n{}}})();\n'
FETCH = """\
addEventListener("load", () => document.head.append(Object.assign(
document.createElement("script"), {{ src: "{}" }})));"""


class Script(NamedTuple):
    """What a script is made of: modules, and a file whose data it finds by
    a name."""

    file: str
    name: str
    data: str
    engine: str
    page: str

    def text(self) -> str:
        """Join all of it."""
        modules = [FOLDER / f"{name}.mjs" for name in self.engine.split()]
        modules += [STATIC / f"{name}.mjs" for name in self.page.split()]
        data = (STATIC / self.data).read_text("utf8").strip()
        return TEXT.format(self.name, data, join_modules(modules))


PLAY = Script(
    "play.js",
    "translator",
    "translator.json",
    "tensor parameters parts model bugs translate sums steps grid checks "
    "sentences",
    "inside hunt lamps alignment play",
)
RESIZE = Script(
    "resize.js",
    "presets",
    "sizes.json",
    "sizes",
    "written sliders resize",
)
PANELS = {"play": PLAY, "inside": PLAY, "resize": RESIZE}


class Explorer(SphinxDirective):
    """Puts a panel in its place, and asks for its script."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        file = STATIC / f"{name}.html"
        panel = nodes.raw("", file.read_text("utf8"), format="html")
        panel["explorer"] = PANELS[name]
        return [panel]


def add_scripts(app: Sphinx, _page, _template, context, doctree) -> None:
    """Let a page with panels fetch their scripts."""
    panels = doctree.findall(nodes.raw) if doctree else []
    for script in dict.fromkeys(panel.get("explorer") for panel in panels):
        if script:
            place = context["pathto"](f"_static/{script.file}", 1)
            state = hashlib.sha256(script.text().encode()).hexdigest()[:8]
            app.add_js_file(None, body=FETCH.format(f"{place}?v={state}"))
            app.add_css_file(STYLE.name)


def write_scripts(app: Sphinx) -> None:
    """Join the modules and the data of each script."""
    folder = Path(app.outdir, "_static")
    folder.mkdir(parents=True, exist_ok=True)
    for script in PLAY, RESIZE:
        (folder / script.file).write_text(script.text(), "utf8")
    shutil.copy(STYLE, folder)


def setup(app: Sphinx) -> dict:
    app.add_directive("explorer", Explorer)
    app.connect("builder-inited", write_scripts)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

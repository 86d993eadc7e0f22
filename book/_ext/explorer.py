"""The translator on a page: ```{explorer}```, with its scripts and numbers."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).parents[1]
sys.path.append(str(BOOK / "_tools"))
import scripts  # noqa: E402

ENGINE = BOOK.parent / "tformer_lite" / "explorer"
NAMES = ["tensor", "parameters", "parts", "model", "bugs", "translate"]
MODULES = [ENGINE / f"{name}.mjs" for name in NAMES]
MODULES.append(BOOK / "_static" / "play.mjs")
NUMBERS = BOOK / "_static" / "translator.json"
PANEL = BOOK / "_static" / "play.html"
SCRIPT = '(() => {{\n"use strict";\nconst translator = {};\n{}}})();\n'


class Explorer(SphinxDirective):
    """Puts the panel in its place, and asks for its script."""

    def run(self) -> list[nodes.Node]:
        panel = nodes.raw("", PANEL.read_text("utf8"), format="html")
        panel["explorer"] = True
        return [panel]


def add_script(app: Sphinx, _page, _template, _context, doctree) -> None:
    """Give a page with a panel its script."""
    if doctree and any(n.get("explorer") for n in doctree.findall(nodes.raw)):
        app.add_js_file("play.js", loading_method="defer")


def write_script(app: Sphinx) -> None:
    """Join the modules and the numbers into one script."""
    folder = Path(app.outdir, "_static")
    folder.mkdir(parents=True, exist_ok=True)
    text = SCRIPT.format(
        NUMBERS.read_text("utf8").strip(), scripts.joined(MODULES)
    )
    (folder / "play.js").write_text(text, "utf8")


def setup(app: Sphinx) -> dict:
    app.add_directive("explorer", Explorer)
    app.connect("builder-inited", write_script)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

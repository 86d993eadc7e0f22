"""The translator on a page, with its scripts and numbers: in the panel
```{explorer} play``` one types and plants bugs, ```{explorer} inside``` shows
all of its steps."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).parents[1]
sys.path.append(str(BOOK / "_tools"))
import scripts  # noqa: E402

ENGINE = BOOK.parent / "tformer_lite" / "explorer"
STATIC = BOOK / "_static"
NAMES = ["tensor", "parameters", "parts", "model", "bugs", "translate"]
MODULES = [ENGINE / f"{name}.mjs" for name in [*NAMES, "steps"]]
MODULES += [STATIC / f"{name}.mjs" for name in ("inside", "play")]
NUMBERS = STATIC / "translator.json"
SCRIPT = '(() => {{\n"use strict";\nconst translator = {};\n{}}})();\n'


class Explorer(SphinxDirective):
    """Puts a panel in its place, and asks for its script."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        file = STATIC / f"{self.arguments[0]}.html"
        panel = nodes.raw("", file.read_text("utf8"), format="html")
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

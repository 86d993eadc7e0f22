"""Keep the meaning of the axis letters in reach: a legend on every page that
has any, which its scripts read, too.

What a letter means stands in book/notation.md, its size in the running
example in book/shapes.json.
"""

import re
import sys
from html import escape
from pathlib import Path

from sphinx.application import Sphinx

BOOK = Path(__file__).parents[1]
sys.path += [str(BOOK / "_tools"), str(BOOK.parent)]
import roles  # noqa: E402

from tformer_lite.explorer.scripts import join_modules  # noqa: E402

# | {axis}`H` | heads | `n_heads` |
ROW = re.compile(r"^\| \{axis\}`(\w)` \| (.*?) \| (?:`(\w+)`)? *\|$", re.M)
LETTER, QUESTION = 'class="axis', "data-shape="
# A page from a disk may not load modules, so each script is put into one.
SCRIPTS = {
    "letters.js": ["letters.mjs"],
    "predict.js": ["shapes.mjs", "predict.mjs"],
}
LEGEND = """\
<details class="axes"{state}>
<summary>Axes of the running example</summary>
<dl>
{rows}
</dl>
</details>
"""
MEANING = """\
<div data-letter="{letter}" data-size="{size}" data-code="{code}" \
data-name="{name}" data-means="{means}">
<dt>{shown} <span>{size:,}</span></dt>
<dd>{name}</dd>
</div>"""


def legend(is_open: bool) -> str:
    """Write the legend of the axis letters."""
    return LEGEND.format(
        state=" open" * is_open,
        rows="\n".join(meaning(*row) for row in notation()),
    )


def notation() -> list[tuple[str, str, str]]:
    """Read each letter, what it means, and its name in code, or ""."""
    return ROW.findall((BOOK / "notation.md").read_text("utf8"))


def name_of(means: str) -> str:
    """Take the first words of a meaning: query positions."""
    return re.split(r"[:;,(]", means)[0].strip()


def size_of(letter: str) -> int:
    return roles.shapes(BOOK)["sizes"][letter]


def meaning(letter: str, means: str, code: str) -> str:
    """Write a row of the legend, with all of it for the scripts."""
    return MEANING.format(
        letter=letter,
        size=size_of(letter),
        code=code,
        name=escape(name_of(means)),
        means=escape(means),
        shown=roles.coloured(letter),
    )


def add_legend(app: Sphinx, page: str, _template, context: dict, doctree):
    """Give a page the legend and the scripts that it has use for."""
    body = context.get("body", "")
    if doctree is None or LETTER not in body:
        return
    context["axes"] = legend(page.startswith("chapters/"))
    app.add_js_file("letters.js", loading_method="defer")
    if QUESTION in body:
        app.add_js_file("predict.js", loading_method="defer")


def write_scripts(app: Sphinx) -> None:
    """Write each script of the modules that it is made of."""
    folder = Path(app.outdir, "_static")
    folder.mkdir(parents=True, exist_ok=True)
    for name, modules in SCRIPTS.items():
        whole = join_modules(BOOK / "_static" / name for name in modules)
        text = f'(() => {{\n"use strict";\n{whole}}})();\n'
        (folder / name).write_text(text, "utf8")


def setup(app: Sphinx) -> dict:
    app.connect("builder-inited", write_scripts)
    # Before the theme asks which parts of its sidebar are empty.
    app.connect("html-page-context", add_legend, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Fold the cells that give an answer away together with the answer.

A chapter asks in `<details class="predict">`; the code cells right after it
that are tagged `answer` go into the fold. Where the answer begins with a
shape that the run has measured, the fold is told which, so that a script
(book/_static/predict.mjs) can say of a typed shape which axis is wrong.

What a page imports, and the code of its first picture, are one fold below it.
"""

import re
import sys
from itertools import accumulate, pairwise, takewhile
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

sys.path.append(str(Path(__file__).parents[1] / "_tools"))
import roles
from packages import BOOK

FOLD, END = '<details class="predict"', "</details>"
SHAPE_DATA = re.compile(r'<data value="(?:axes|sizes) ([^"]+)">')
SOURCE = """<details class="hide above-input">
<summary>Imports and the code of this picture</summary>"""
STRAY = "this cell is tagged `answer`, but stands right after no question"
NO_TAG = "the cell right after this question is not tagged `answer`"
ENDLESS = "this question needs </details> on a line of its own"


class Folds(SphinxTransform):
    """Moves cells into folds, and warns where a cell or a tag is amiss."""

    default_priority = 800

    def apply(self, **_kwargs) -> None:
        folded = []
        for fold in list(self.document.findall(is_fold)):
            folded += fill(fold)
        for cell in self.document.findall(is_answer):
            if cell not in folded:
                warn(STRAY, cell)
        for pair in pairwise([*self.document.findall(is_code)]):
            if [cell.get("hide_mode") for cell in pair] == ["all", "input"]:
                picture_first(*pair)


def picture_first(imports: nodes.Node, picture: nodes.Node) -> None:
    """Fold imports and the code of a picture together, below the picture."""
    code, shown = picture.children
    ends = [nodes.raw("", tag, format="html") for tag in (SOURCE, END)]
    picture.clear()
    picture += [shown, ends[0], *imports.children, code, ends[1]]
    del picture["hide_mode"]
    imports.parent.remove(imports)


def fill(fold: nodes.raw) -> list[nodes.Node]:
    """Move the cells of an answer into its fold; give these cells."""
    answer = nodes_after(fold)
    end = end_of([fold, *answer])
    if end is None:
        warn(ENDLESS, fold)
        return []
    cells = list(takewhile(is_answer, nodes_after(end)))
    if not cells and any(map(is_code, nodes_after(end)[:1])):
        warn(NO_TAG, fold)
    if named := SHAPE_DATA.match(first_html(answer[0])):
        tell(fold, named[1])
    if cells:
        end.parent.remove(end)
        fold.parent.insert(fold.parent.index(cells[-1]) + 1, end)
    return cells


def is_fold(node: nodes.Node) -> bool:
    return isinstance(node, nodes.raw) and node.astext().startswith(FOLD)


def is_code(node: nodes.Node) -> bool:
    return (
        isinstance(node, nodes.container)
        and node.get("nb_element") == "cell_code"
    )


def is_answer(node: nodes.Node) -> bool:
    return is_code(node) and "tag_answer" in node["classes"]


def nodes_after(node: nodes.Node) -> list[nodes.Node]:
    """List what stands after a node, and beside it."""
    return node.parent[node.parent.index(node) + 1 :]


def end_of(parts: list[nodes.Node]) -> nodes.Node | None:
    """Find the end of the fold that the first part begins."""
    html = [p.astext() if isinstance(p, nodes.raw) else "" for p in parts]
    open_now = accumulate(h.count("<details") - h.count(END) for h in html)
    ends = (part for part, n in zip(parts, open_now) if n == 0)
    end = next(ends, None)
    return end if end is not None and end.astext().strip() == END else None


def first_html(answer: nodes.Node) -> str:
    """Give the HTML with which an answer begins, if it does."""
    first = next(iter(answer.children), None)
    return first.astext() if isinstance(first, nodes.raw) else ""


def tell(fold: nodes.raw, name: str) -> None:
    """Write the axes of a measured shape into a fold: B 2,T 8,C 12."""
    axes = ",".join(f"{n} {size}" for n, size in roles.axes_of(name, BOOK))
    told = fold.astext().replace(FOLD, f'{FOLD} data-shape="{axes}"', 1)
    fold.replace_self(nodes.raw("", told, format="html"))


def warn(message: str, node: nodes.Node) -> None:
    logging.getLogger(__name__).warning(message, location=node)


def setup(app: Sphinx) -> dict:
    app.add_transform(Folds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

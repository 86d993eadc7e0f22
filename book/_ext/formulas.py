"""Write formulas as MathML, which browsers draw and screen readers read: no
script, no font, and on paper as on the screen."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

# \mathrm{softmax} is one name, not seven letters.
NAME_LETTERS = re.compile(r'(?:<mi mathvariant="normal">\w</mi>){2,}')
# The theme lets the keyboard reach what is called so and scrolls.
BLOCK_CLASS = "math pst-scrollable-table-container"
NOT_READ = re.compile(r"<m\w+>(?:\\\w|&(?!#))")


def mathml(tex: str, display: str) -> str:
    """Turn a formula into MathML; of several lines, each `&` is one place.

    `r"d_k"` gives `<math ...><msub><mi>d</mi><mi>k</mi></msub></math>`.
    """
    tex = re.sub(r"{(aligned|align\*?)}", "{split}", tex)
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{split}}{tex}\end{{split}}"
    return NAME_LETTERS.sub(one_name, convert(tex, display=display))


def one_name(letters: re.Match) -> str:
    return f"<mi>{re.sub('<.*?>', '', letters[0])}</mi>"


def formula_html(node: nodes.Element, display: str) -> str:
    """Write the formula of a node, and warn where one cannot be read."""
    formula = mathml(node.astext(), display)
    if NOT_READ.search(formula):
        log = logging.getLogger(__name__)
        log.warning("not a formula: %s", node.astext(), location=node)
    return formula


def inline(self, node: nodes.math) -> None:
    """Write a formula within a line."""
    html = f'<span class="math">{formula_html(node, "inline")}</span>'
    self.body.append(html)
    raise nodes.SkipNode


def block(self, node: nodes.math_block) -> None:
    """Write a formula that stands alone."""
    tag = self.starttag(node, "div", CLASS=BLOCK_CLASS)
    self.body.append(f"{tag}{formula_html(node, 'block')}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

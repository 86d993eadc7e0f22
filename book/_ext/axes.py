"""The role {axis}`B`: an axis letter in the axis's own colour."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

# The colours are in book.css.
LETTERS = "BTSHDCFV"


class Axis(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if len(self.text) != 1 or self.text not in LETTERS:
            logging.getLogger(__name__).warning(
                f"{self.text!r} is not an axis letter: write one of "
                f"{' '.join(LETTERS)}",
                location=self.get_location(),
            )
        classes = ["axis", f"axis-{self.text}"]
        return [nodes.inline("", self.text, classes=classes)], []


def setup(app: Sphinx) -> dict:
    app.add_role("axis", Axis())
    return {"parallel_read_safe": True, "parallel_write_safe": True}

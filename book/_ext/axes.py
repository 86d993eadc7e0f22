"""Roles for pages: {axis}`B`, {axes}`scores`, {count}`encoder`, {cite}`key`.

They say what chapters let the same roles say: `book/_tools/roles.py`.
"""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

BOOK = Path(__file__).parents[1]
sys.path.append(str(BOOK / "_tools"))
import roles  # noqa: E402


class Measured(SphinxRole):
    """Words that come from the recorded run."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            words = roles.as_html(self.name, self.text, BOOK)
        except roles.UnknownNameError as error:
            log = logging.getLogger(__name__)
            log.warning(str(error), location=self.get_location())
            words = self.text
        return [nodes.raw("", words, format="html")], []


def setup(app: Sphinx) -> dict:
    for name in ("axis", "axes", "sizes", "size", "count", "cite", "exercise"):
        app.add_role(name, Measured())
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Keep the icons that the book shows, and drop the others.

The theme's icon script holds 2,045 of them and is 1.5 MB of every page.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

NAME = re.compile(r"\bfa-([a-z0-9-]+)")
# bars:[448,512,["navicon"],"f0c9","M0 96C0 ..."]
ICON = re.compile(
    r'"?(?P<name>[\w-]+)"?:\[\d+,\d+,\[(?P<aliases>[^\]]*)\],"[0-9a-f]+",'
    r'(?:"[^"]*"|\["[^"]*"(?:,"[^"]*")*\])\],?'
)


def keep_used(app: Sphinx, error: Exception | None) -> None:
    """Rewrite the icon script of a finished HTML build."""
    script = Path(app.outdir, "_static/scripts/fontawesome.js")
    if error or app.builder.format != "html":
        return
    pages = Path(app.outdir).rglob("*.html")
    used = {n for page in pages for n in NAME.findall(page.read_text("utf8"))}
    kept = []

    def choose(icon: re.Match) -> str:
        names = {icon["name"], *re.findall(r'"([^"]+)"', icon["aliases"])}
        kept.extend(names & used)
        return icon[0] if names & used else ""

    script.write_text(ICON.sub(choose, script.read_text("utf8")), "utf8")
    if not kept:
        message = "The theme's icon script has changed: no icon found in it"
        logging.getLogger(__name__).warning(message)


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", keep_used)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

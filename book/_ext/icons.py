"""Draw the icons that a page shows into the page.

The theme brings a script with 2,045 of them, and three web fonts: 400 KB that
every page would load for a dozen.
"""

import re
import shutil
from html import escape
from pathlib import Path

from sphinx.application import Sphinx

SCRIPT = "scripts/fontawesome.js"
FONTS = "vendor/fontawesome"
# bars:[448,512,["navicon"],"f0c9","M0 96C0 ..."]
ICON = re.compile(
    r'"?(?P<name>[\w-]+)"?:\[(?P<wide>\d+),(?P<high>\d+),'
    r'\[(?P<aliases>[^\]]*)\],"[0-9a-f]+","(?P<path>[^"]*)"\]'
)
SHOWN = re.compile(
    r'<(?P<tag>i|span) class="(?P<class>[^"]*\bfa(?:s|-solid)\b[^"]*)"'
    r"(?P<rest>[^>]*)>\s*</(?P=tag)>"
)
KIND = re.compile(r"\bfa(?:s|-solid)\b")
SVG = (
    '<svg class="svg-inline--fa {classes}" aria-hidden="true"{rest} '
    'viewBox="0 0 {wide} {high}"><path fill="currentColor" d="{path}"/></svg>'
)
MISSING = '<path class="missing"/>'


def drawn(page: str, icons: dict[str, re.Match]) -> str:
    """Put a drawing into a page wherever it names an icon."""

    def draw(icon: re.Match) -> str:
        names = re.findall(r"\bfa-([\w-]+)", icon["class"])
        found = next((icons[name] for name in names if name in icons), None)
        if found is None:
            return f"<svg>{MISSING}{escape(icon['class'])}</svg>"
        return SVG.format(
            classes=KIND.sub("", icon["class"]).strip(),
            rest=re.sub(r'\s+title="[^"]*"', "", icon["rest"]),
            **found.groupdict(),
        )

    return SHOWN.sub(draw, page)


def read(script: Path) -> dict[str, re.Match]:
    """Read the theme's icons; the solid ones come last in its script."""
    found = {}
    for icon in ICON.finditer(script.read_text("utf8")):
        aliases = re.findall(r'"([a-z][^"]*)"', icon["aliases"])
        found |= dict.fromkeys([icon["name"], *aliases], icon)
    return found


def draw_all(app: Sphinx, error: Exception | None) -> None:
    """Draw the icons of a finished HTML build; drop script and fonts."""
    static = Path(app.outdir, "_static")
    if error or app.builder.format != "html":
        return
    icons = read(static / SCRIPT)
    for page in Path(app.outdir).rglob("*.html"):
        page.write_text(drawn(page.read_text("utf8"), icons), "utf8")
    for made in static.glob(f"{SCRIPT}*"):
        made.unlink()
    shutil.rmtree(static / FONTS)


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", draw_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""A picture for whom somebody sends a link to: one of the page's figures, on
a card of the size that such pictures have."""

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageOps
from sphinx.application import Sphinx

MARGIN = 40
ROOM = 1200 - 2 * MARGIN, 630 - 2 * MARGIN
README_PICTURE = "_static/preview.png"


def place_of_card(app: Sphinx, page: str) -> str:
    """Draw the card of a page, and tell its place on the site."""
    found = list(figures_of(Path(app.srcdir, f"{page}.ipynb")))
    if not found:
        return README_PICTURE
    place = f"_static/cards/{page.replace('/', '-')}.png"
    file = Path(app.outdir, place)
    file.parent.mkdir(parents=True, exist_ok=True)
    card(max(found, key=area_on_card)).save(file, optimize=True)
    return place


def figures_of(notebook: Path) -> Iterator[Image.Image]:
    """Read the figures of a notebook."""
    if not notebook.exists():
        return
    for cell in json.loads(notebook.read_text("utf8"))["cells"]:
        for output in cell.get("outputs", []):
            if code := output.get("data", {}).get("image/png"):
                png = base64.b64decode("".join(code))
                yield Image.open(io.BytesIO(png)).convert("RGB")


def area_on_card(figure: Image.Image) -> int:
    """Tell how much of the card a figure fills."""
    wide, high = ImageOps.contain(figure, ROOM).size
    return wide * high


def card(figure: Image.Image) -> Image.Image:
    """Put a figure in the middle of a card of its own paper."""
    paper, smooth = figure.getpixel((0, 0)), Image.Resampling.LANCZOS
    inner = ImageOps.pad(figure, ROOM, smooth, paper)
    return ImageOps.expand(inner, MARGIN, paper)

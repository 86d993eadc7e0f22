"""A picture for whom somebody sends a link to: one of the page's figures, on
a card of the size that such pictures have."""

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from sphinx.application import Sphinx

SIZE = WIDE, HIGH = 1200, 630
MARGIN = 40
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


def scale(figure: Image.Image) -> float:
    """Tell how much larger a figure can be on the card."""
    wide, high = figure.size
    return min((WIDE - 2 * MARGIN) / wide, (HIGH - 2 * MARGIN) / high)


def area_on_card(figure: Image.Image) -> float:
    """Tell how much of the card a figure fills."""
    return figure.width * figure.height * scale(figure) ** 2


def card(figure: Image.Image) -> Image.Image:
    """Put a figure in the middle of a card of its own paper."""
    larger = scale(figure)
    size = round(figure.width * larger), round(figure.height * larger)
    made = Image.new("RGB", SIZE, figure.getpixel((0, 0)))
    corner = (WIDE - size[0]) // 2, (HIGH - size[1]) // 2
    made.paste(figure.resize(size, Image.Resampling.LANCZOS), corner)
    return made

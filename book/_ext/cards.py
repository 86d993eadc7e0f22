"""A picture for whom somebody sends a link to: below the book's emblem and
name the page's title and one of its figures, on a card of the size that such
pictures have."""

import base64
import io
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps
from sphinx.application import Sphinx

SIZE, MARGIN, FIGURE_TOP = (1200, 630), 40, 170
ROOM = SIZE[0] - 2 * MARGIN, SIZE[1] - FIGURE_TOP - MARGIN
WHITE, INK, GREY = "#ffffff", "#1f2328", "#57606a"
LETTERS_FILE = Path(__file__).parents[1] / "_static" / "Eczar.woff2"
SQUARE = re.compile(r'd="M(\d+) (\d+)h\S+" opacity="([\d.]+)"')


def place_of_card(app: Sphinx, page: str, title: str) -> str:
    """Draw the card of a page, and tell its place on the site."""
    figures = figures_of(Path(app.srcdir, f"{page}.ipynb"))
    place = f"_static/cards/{page.replace('/', '-')}.png"
    file = Path(app.outdir, place)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure = max(figures, key=area_on_card, default=None)
    card(title, app.config.html_title, figure).save(file, optimize=True)
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


def card(
    title: str, book: str, figure: Image.Image | None = None
) -> Image.Image:
    """Write a page's title below the book's, and a figure below that; where
    there is none, the emblem once more, large."""
    picture = Image.new("RGB", SIZE, WHITE)
    small = emblem(10)
    picture.paste(small, (MARGIN, MARGIN))
    if title != book:
        beside = MARGIN + small.width + 20, MARGIN - 2
        write(picture, book, beside, 30, GREY)
    place = MARGIN, MARGIN + small.height + 14
    write(picture, title, place, 52, INK)
    below = figure or emblem(50)
    below = ImageOps.contain(below, ROOM, Image.Resampling.LANCZOS)
    wide, high = ((room - size) // 2 for room, size in zip(ROOM, below.size))
    picture.paste(below, (MARGIN + wide, FIGURE_TOP + high))
    return picture


def write(
    picture: Image.Image,
    text: str,
    place: tuple[int, int],
    size: int,
    colour: str,
) -> None:
    """Write a line in the letters of headings, smaller if it is long."""
    font = ImageFont.truetype(LETTERS_FILE, size)
    while font.getlength(text) > SIZE[0] - MARGIN - place[0]:
        font = font.font_variant(size=font.size - 1)
    ImageDraw.Draw(picture).text(place, text, colour, font)


@cache
def emblem(side: int) -> Image.Image:
    """Draw the book's emblem with squares of so many dots a side, as
    emblem.svg has them."""
    svg = LETTERS_FILE.with_name("emblem.svg").read_text("utf8")
    squares = [map(float, square) for square in SQUARE.findall(svg)]
    colour = re.search(r'fill="(#\w+)"', svg)[1]
    dots = Image.new("RGB", (5 * side, 4 * side), WHITE)
    for x, y, opacity in squares:
        ink = Image.new("L", (side - side // 8, side - side // 8))
        ink.paste(round(255 * opacity), (0, 0, *ink.size))
        dots.paste(colour, (int(x / 10 * side), int(y / 10 * side)), ink)
    return dots

"""A figure's faces: SVG that follows light and dark, PNG, and plain text."""

import base64
import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from xml.sax.saxutils import quoteattr

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from PIL import Image

from tformer_lite.drawing.surface.palette import PAPER
from tformer_lite.drawing.surface.panels import Panel, attribute

FONT = Path(__file__).parents[1] / "fonts" / "NotoSansDevanagari-Regular.ttf"
fontManager.addfont(FONT)
# Before any copy that the machine has, so that drawings are the same; and
# for bold words too, or matplotlib warns that it has no bold ones.
REGULAR = fontManager.ttflist.pop()
fontManager.ttflist[:0] = REGULAR, replace(REGULAR, weight=700)

FAMILIES = ["DejaVu Sans", "Noto Sans Devanagari"]
STYLE: dict[Any, Any] = {
    "font.family": FAMILIES,
    "font.size": 10,
    "figure.facecolor": PAPER[0],
    "axes.facecolor": PAPER[0],
    "hatch.linewidth": 0.6,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar is a dollar
}
styled = mpl.rc_context(STYLE)  # for what draws: @styled
FAMILY = f"font-family: {', '.join(map(repr, FAMILIES))}, sans-serif"
CLUTTER = (
    r"(?s)<metadata>.*?</metadata>",
    r"(?s)<defs>\s*<style.*?</style>\s*</defs>",
    r' id="[A-Za-z][\w.]*_\d+"',
    r' transform="rotate\(-0 [^"]*"',
    r" font-family: [^;\"]*;?",
)
RECTANGLE = r'd="M (\S+) (\S+) L (\S+) \2 L \3 (\S+) L \1 \4 L \1 \2 z? ?"'
# Scripts whose letters change shape and place with their neighbours.
COMPLEX = re.compile("[\u0590-\u1cff]")
SHAPES_COMPLEX = tuple(map(int, mpl.__version__.split(".")[:2])) >= (3, 11)


@dataclass(frozen=True)
class Picture:
    """A figure as `heatmap`, `curves` and `where` give it: in a notebook,
    each front end shows the face that it can; `svg()` and `png()` give one
    to save.

    `figure` is matplotlib's, to be changed further; `narrow` is the same for
    a page as narrow as a phone's, in the same SVG: the book's style sheet
    chooses. `text` describes it in words and numbers: its first paragraph is
    the alternative text. `dark` gives each colour of the drawing its
    counterpart on a dark page. The `panels` are matrices whose cells a reader
    of the book can point at. A matplotlib that would draw Nepali letter by
    letter (before 3.11) gives no PNG of it in a notebook: the browser sets
    the SVG.
    """

    figure: Figure
    text: str
    dark: dict[str, str]
    narrow: Figure | None = None
    panels: Sequence[Panel] = ()
    DPI: ClassVar[int] = 144  # of the PNG
    COLOURS: ClassVar[int] = 96

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, str]:
        faces = {"text/plain": self.text, "image/svg+xml": self.svg()}
        if SHAPES_COMPLEX or not COMPLEX.search(faces["image/svg+xml"]):
            faces["image/png"] = base64.b64encode(self.png()).decode()
        return faces

    def svg(self) -> str:
        """Draw as SVG: text stays text, `light-dark()` picks the colours."""
        salt = hashlib.sha256(self.text.encode()).hexdigest()
        alt = quoteattr(self.text.split("\n\n")[0])
        width, height, inside = drawing(self.figure, salt, self.dark)
        inside, style = f'<g class="wide">{inside}</g>', FAMILY
        if self.narrow is not None:
            w, h, small = drawing(self.narrow, f"{salt} narrow", self.dark)
            inside += phone(width, w, h, small)
            style += f"; --width: {w}px; --ratio: {w} / {h}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" '
            f'xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
            f'aria-label={alt} style="{style}" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" '
            f'preserveAspectRatio="xMinYMin"{attribute(self.panels)}>'
            f"{inside}</svg>"
        )

    def png(self) -> bytes:
        """Draw as PNG on white, in few colours."""
        whole = drawn(self.figure, "png", "", dpi=self.DPI)
        return in_few_colours(whole, self.COLOURS)


def in_few_colours(png: bytes, count: int) -> bytes:
    """Make a PNG smaller by giving it so many colours."""
    plain = Image.open(io.BytesIO(png)).convert("RGB")
    file = io.BytesIO()
    few = plain.quantize(count, dither=Image.Dither.NONE)
    few.save(file, "png", optimize=True)
    return file.getvalue()


def drawing(
    figure: Figure, salt: str, dark: dict[str, str]
) -> tuple[float, float, str]:
    """Give a figure's width and height in pixels, and what is in it."""
    svg = drawn(figure, "svg", salt, metadata={"Date": None}).decode()
    start, end = svg.index(">", svg.index("<svg")) + 1, svg.index("</svg>")
    width, height = (
        round(72 * inches, 1) for inches in figure.get_size_inches()
    )
    return width, height, themed(svg[start:end], dark)


def phone(wide: float, width: float, height: float, inside: str) -> str:
    """Give a phone's drawing, as wide as the other, until it is shown."""
    return (
        f'<svg class="narrow" display="none" viewBox="0 0 {width} {height}" '
        f'width="{wide}" height="{wide * height / width:.1f}">{inside}</svg>'
    )


def drawn(figure: Figure, form: str, salt: str, **options: Any) -> bytes:
    """Draw in a format that matplotlib knows."""
    file = io.BytesIO()
    with mpl.rc_context(STYLE | {"svg.hashsalt": salt}):
        figure.savefig(file, format=form, **options)
    return file.getvalue()


def themed(svg: str, dark: dict[str, str]) -> str:
    """Make matplotlib's SVG fit to stand in a page, and give it two themes.

    A browser without `light-dark()` keeps the light colour before it. Ids,
    styles and notes that would leak into the page are taken out.
    """
    for clutter in CLUTTER:
        svg = re.sub(clutter, "", svg)
    svg = re.sub(r"\s+", " ", svg).replace("> <", ">\n<")
    # Tenths of a pixel do, but for what an image is stretched by.
    svg = re.sub(r"<(?!image)[^>]*>", in_tenths, svg)
    svg = re.sub(RECTANGLE, shorter, svg)

    def two_themes(match: re.Match) -> str:
        what, light = match.groups()
        themes = f"light-dark({light}, {dark.get(light, light)})"
        return f"{match[0]}; {what}: {themes}"

    return re.sub(r"(fill|stroke): (#[0-9a-f]{6})", two_themes, svg)


def in_tenths(match: re.Match) -> str:
    """Write the numbers of a tag with one decimal."""
    return re.sub(r"(\.\d)\d+", r"\1", match[0])


def shorter(match: re.Match) -> str:
    """Write a rectangle by its sides: most are the cells of a matrix."""
    x, y, right, low = map(float, match.groups())
    wide, high = (f"{round(side, 1):g}" for side in (right - x, low - y))
    return f'd="M{x:g} {y:g}h{wide}v{high}h-{wide}z"'

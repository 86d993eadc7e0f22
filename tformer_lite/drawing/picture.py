"""A figure's faces: SVG that follows light and dark, PNG, and plain text."""

import base64
import hashlib
import io
import re
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

FONTS = ["DejaVu Sans", "Noto Sans Devanagari"]
STYLE = {
    "font.family": FONTS,
    "font.size": 10,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "none",
}
FAMILY = f"font-family: {', '.join(map(repr, FONTS))}, sans-serif"
CLUTTER = (
    r"(?s)<metadata>.*?</metadata>",
    r"(?s)<defs>\s*<style.*?</style>\s*</defs>",
    r' id="[A-Za-z][\w.]*_\d+"',
    r' transform="rotate\(-0 [^"]*"',
    r" font-family: [^;\"]*;?",
)
# Scripts whose letters change shape and place with their neighbours.
COMPLEX = re.compile("[\u0590-\u1cff]")
SHAPES_COMPLEX = tuple(map(int, mpl.__version__.split(".")[:2])) >= (3, 11)


@dataclass(frozen=True)
class Picture:
    """What a notebook shows of a figure; each front end picks a face.

    `text` describes the figure in words and numbers: its first paragraph
    is the alternative text. `dark` gives each colour of the drawing its
    counterpart on a dark page. A matplotlib that would draw Nepali letter
    by letter (before 3.11) gives no PNG of it: the browser sets the SVG.
    """

    figure: Figure
    text: str
    dark: dict[str, str]

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        faces = {"text/plain": self.text, "image/svg+xml": self.svg()}
        if SHAPES_COMPLEX or not COMPLEX.search(faces["image/svg+xml"]):
            faces["image/png"] = base64.b64encode(self.png()).decode()
        return faces

    def svg(self) -> str:
        """Draw as SVG: text stays text, `light-dark()` picks the colours."""
        salt = hashlib.sha256(self.text.encode()).hexdigest()
        svg = self.save("svg", salt, metadata={"Date": None}).decode()
        return themed(svg, self.text.split("\n\n")[0], self.dark)

    def png(self) -> bytes:
        """Draw as PNG on white, in 48 colours."""
        picture = Image.open(io.BytesIO(self.save("png", "", dpi=100)))
        few = picture.convert("RGB").quantize(48, dither=Image.Dither.NONE)
        file = io.BytesIO()
        few.save(file, "png", optimize=True)
        return file.getvalue()

    def save(self, form: str, salt: str, **options) -> bytes:
        """Draw in a format that matplotlib knows."""
        file = io.BytesIO()
        with mpl.rc_context(STYLE | {"svg.hashsalt": salt}):
            self.figure.savefig(
                file,
                format=form,
                bbox_inches="tight",
                pad_inches=0.05,
                **options,
            )
        return file.getvalue()


def themed(svg: str, alt: str, dark: dict[str, str]) -> str:
    """Make matplotlib's SVG fit to stand in a page, and give it two themes.

    A browser without `light-dark()` keeps the light colour before it. Ids,
    styles and notes that would leak into the page are taken out. `alt` is
    what a screen reader says.
    """
    svg = svg[svg.index("<svg") :]
    for clutter in CLUTTER:
        svg = re.sub(clutter, "", svg)
    svg = re.sub(r"\s+", " ", svg).replace("> <", ">\n<")
    svg = re.sub(r'(?<= )[\w-]+="[^"]*"', short, svg)
    name = f'<svg role="img" aria-label={quoteattr(alt)} style="{FAMILY}" '
    svg = svg.replace("<svg ", name, 1)

    def both(match: re.Match) -> str:
        light = match[2]
        themes = f"light-dark({light}, {dark.get(light, light)})"
        return f"{match[0]}; {match[1]}: {themes}"

    return re.sub(r"(fill|stroke): (#[0-9a-f]{6})", both, svg)


def short(attribute: re.Match) -> str:
    """Keep one decimal of an attribute's lengths: a tenth of a point."""
    return re.sub(r"(\.\d)\d+", r"\1", attribute[0])

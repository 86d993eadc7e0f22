"""A figure's faces: SVG that follows light and dark, PNG, and plain text."""

import base64
import hashlib
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from xml.sax.saxutils import quoteattr

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from PIL import Image

from tformer_lite.drawing.surface.matrix import Matrix
from tformer_lite.drawing.surface.palette import EDGE, INK, PAPER

FONT = Path(__file__).parents[1] / "fonts" / "NotoSansDevanagari-Regular.ttf"
fontManager.addfont(FONT)
# Before any copy that the machine has, so that drawings are the same; and
# for bold words too, or matplotlib warns that it has no bold ones.
REGULAR = fontManager.ttflist.pop()
fontManager.ttflist[:0] = REGULAR, replace(REGULAR, weight=700)

Place = tuple[float, float]  # x, y
Box = tuple[float, float, float, float]  # left, top, width, height
MOST_CELLS = 1024  # cells of a panel that one can point at
WIDE, GUTTER = 730, 14  # how wide a column of text is; between panels
FAMILIES = ["DejaVu Sans", "Noto Sans Devanagari"]
STYLE: dict[Any, Any] = {
    "font.family": FAMILIES,
    "font.size": 11,
    "figure.facecolor": PAPER[0],
    "axes.facecolor": PAPER[0],
    "hatch.linewidth": 0.6,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar is a dollar
    "text.color": INK[0],
    "axes.labelcolor": INK[0],
    "axes.edgecolor": EDGE[0],
    **{f"axes.spines.{x}": False for x in ("left", "bottom", "top", "right")},
    "axes.axisbelow": True,
    "grid.color": EDGE[0],
    "grid.linewidth": 0.7,
    **{f"{x}tick.labelcolor": INK[0] for x in "xy"},
    **{f"{x}tick.{n}.size": 0 for x in "xy" for n in ("major", "minor")},
}
with_style = mpl.rc_context(STYLE)  # for what draws: @styled
FAMILY = f"font-family: {', '.join(map(repr, FAMILIES))}, sans-serif"
CLUTTER = (
    r"(?s)<metadata>.*?</metadata>",
    r"(?s)<defs>\s*<style.*?</style>\s*</defs>",
    r' id="[A-Za-z][\w.]*_\d{1,6}"',  # a marker's ends in ten, and is used
    r' transform="rotate\(-0 [^"]*"',
    r" font-family: [^;\"]*;?",
)
RECTANGLE = r'd="M (\S+) (\S+) L (\S+) \2 L \3 (\S+) L \1 \4 L \1 \2 z? ?"'
# Scripts whose letters change shape and place with their neighbours.
COMPLEX = re.compile("[\u0590-\u1cff]")
SHAPES_COMPLEX = tuple(map(int, mpl.__version__.split(".")[:2])) >= (3, 11)


@dataclass(frozen=True)
class Panel:
    """A matrix of a picture, and where its cells are: the number of its
    drawing, and its place there in pixels.

    A cell that one points at is lit in all panels.
    """

    matrix: Matrix
    box: Box
    drawing: int = 0


def panels_attribute(panels: Iterable[Panel]) -> str:
    """Write panels as an attribute of the drawing, for the page's script
    `linked.js`: of matrices that are small enough, the axes, the words, and
    the values as they are printed. Empty when there are none."""
    few = [
        panel_entry(p) for p in panels if p.matrix.values.numel() <= MOST_CELLS
    ]
    data = json.dumps(few, ensure_ascii=False, separators=(",", ":"))
    return f" data-panels={quoteattr(data)}" if few else ""


def panel_entry(panel: Panel) -> dict[str, Any]:
    """List what the script knows of a panel."""
    matrix, (rows, columns) = panel.matrix, panel.matrix.labels
    return {
        "name": matrix.title,
        "words": [rows, columns],
        "values": list(map(values_text, matrix.cells, matrix.hidden.tolist())),
        "drawing": panel.drawing,
        "box": panel.box,
    }


def values_text(cells: list[str], hidden: list[bool]) -> str:
    """Write a row of values; of those that are masked, say so."""
    said = [f"{c} (masked)" if h else c for c, h in zip(cells, hidden)]
    return ";".join(said).replace("-", "−")


@dataclass(frozen=True)
class Picture:
    """A figure as `heatmap`, `curves` and `where` give it: in a notebook,
    each front end shows the face that it can; `svg()` and `png()` give one
    to save.

    `figure` is matplotlib's, to be changed further, or one for each panel:
    these stand side by side, and a page of the book lets them wrap. `text`
    describes it in words and numbers: its first paragraph is the alternative
    text. `dark` gives each colour of the drawing its counterpart on a dark
    page. The `panels` are matrices whose cells a reader of the book can
    point at. Where a page of the book has room, it shows a `broad` figure in
    place of all others. A matplotlib that would draw Nepali letter by letter
    (before 3.11) gives no PNG of it in a notebook: the browser sets the SVG.
    """

    figure: Figure | Sequence[Figure]
    text: str
    dark: dict[str, str]
    panels: Sequence[Panel] = ()
    broad: Figure | None = None
    DPI: ClassVar[int] = 144  # of the PNG: two dots a pixel
    COLOURS: ClassVar[int] = 96

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        faces = {"text/plain": self.text, "image/svg+xml": self.svg()}
        if SHAPES_COMPLEX or not COMPLEX.search(faces["image/svg+xml"]):
            faces["image/png"] = base64.b64encode(self.png()).decode()
        _, (width, _) = side_by_side(self.figures)
        return faces, {"image/png": {"width": round(width)}}

    @property
    def figures(self) -> Sequence[Figure]:
        """The figure of each panel."""
        figure = self.figure
        return [figure] if isinstance(figure, Figure) else figure

    def svg(self) -> str:
        """Draw as SVG: text stays text, `light-dark()` picks the colours."""
        salt = hashlib.sha256(self.text.encode()).hexdigest()
        alt = quoteattr(self.text.split("\n\n")[0])
        places, (width, height) = side_by_side(self.figures)
        inside = "\n".join(
            svg_panel(figure, place, self.dark, f"{salt} {i}")
            for i, (figure, place) in enumerate(zip(self.figures, places))
        )
        if self.broad:  # a style sheet shows it
            other = svg_panel(self.broad, (0, 0), self.dark, f"{salt} broad")
            inside += other.replace('"panel"', '"panel" display="none"', 1)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" '
            f'xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
            f'aria-label={alt} style="{FAMILY}; --width: {width}px" '
            f'width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}"{panels_attribute(self.panels)}>'
            f"{inside}</svg>"
        )

    def png(self) -> bytes:
        """Draw as PNG on white, in few colours."""
        return png_of(self.figures, self.DPI, self.COLOURS)


def png_of(figures: Sequence[Figure], dpi: int, colours: int) -> bytes:
    """Draw panels side by side as a PNG in so many colours."""
    places, size = side_by_side(figures)
    page = Image.new("RGB", dots(size, dpi), PAPER[0])
    for figure, place in zip(figures, places):
        panel = Image.open(io.BytesIO(render(figure, "png", "", dpi=dpi)))
        page.paste(panel, dots(place, dpi))
    file = io.BytesIO()
    few = page.quantize(colours, dither=Image.Dither.NONE)
    few.save(file, "png", optimize=True)
    return file.getvalue()


def dots(place: Place, dpi: int) -> tuple[int, int]:
    """Give a place, or a size, in dots."""
    x, y = (math.ceil(side * dpi / 72) for side in place)
    return x, y


def size_of_figure(figure: Figure) -> Place:
    """Give a figure's width and height in pixels."""
    width, height = (round(72 * side, 1) for side in figure.get_size_inches())
    return width, height


def side_by_side(figures: Sequence[Figure]) -> tuple[list[Place], Place]:
    """Place panels in rows no wider than a page; give the size of all."""
    places, x, y, low, right = list[Place](), 0.0, 0.0, 0.0, 0.0
    for width, height in map(size_of_figure, figures):
        if x and x + width > WIDE:
            x, y = 0.0, low + GUTTER
        places.append((round(x, 1), round(y, 1)))
        right, low = max(right, x + width), max(low, y + height)
        x += width + GUTTER
    return places, (round(right, 1), round(low, 1))


def svg_panel(
    figure: Figure, place: Place, dark: dict[str, str], salt: str
) -> str:
    """Draw a panel as an SVG inside the picture's."""
    svg = render(figure, "svg", salt, metadata={"Date": None}).decode()
    start, end = svg.index(">", svg.index("<svg")) + 1, svg.index("</svg>")
    (x, y), (width, height) = place, size_of_figure(figure)
    return (
        f'<svg class="panel" x="{x}" y="{y}" width="{width}" height="{height}"'
        f' style="--width: {width}px" viewBox="0 0 {width} {height}" '
        f'overflow="visible">'
        f"{add_dark_colours(svg[start:end], dark)}</svg>"
    )


def render(figure: Figure, form: str, salt: str, **options: Any) -> bytes:
    """Draw in a format that matplotlib knows."""
    file = io.BytesIO()
    with mpl.rc_context(STYLE | {"svg.hashsalt": salt}):
        figure.savefig(file, format=form, **options)
    return file.getvalue()


def add_dark_colours(svg: str, dark: dict[str, str]) -> str:
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

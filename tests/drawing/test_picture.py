"""The faces of a figure: SVG in two themes, PNG with Nepali shaped, text."""

import base64
import io
import re
from itertools import product
from xml.etree import ElementTree

import pytest
import torch
from matplotlib import colors
from outputs import figure as in_page
from PIL import Image

from tests.helpers.colours import contrast, rgb
from tests.helpers.drawings import NEPALI, SCORES
from tformer_lite import heatmap
from tformer_lite.drawing.surface import palette, picture
from tformer_lite.drawing.surface.palette import AXES, INK, KINDS, LINES
from tformer_lite.drawing.surface.picture import Picture

FIRST = torch.tensor([[1.0, 0.0], [0.0, 0.0]])


def root_of(picture: Picture) -> ElementTree.Element:
    """A picture's SVG, as an XML parser reads it."""
    return ElementTree.fromstring(picture.svg())


@pytest.mark.slow
def test_a_screen_reader_says_the_first_paragraph_in_the_page_too():
    words = ['<b> "it\'s" &', "b", "c", "d"]
    drawing = heatmap(SCORES, SCORES, rows=NEPALI, columns=words)
    for svg in drawing.svg(), in_page(drawing.svg()):
        svg = svg.replace("xlink:", "")
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img"
        assert root.get("aria-label") == drawing.text.split("\n\n")[0]


@pytest.mark.slow
def test_panels_stand_side_by_side_and_are_set_free_in_a_page():
    four = heatmap(*[SCORES] * 4, titles=["x"] * 4)
    root = root_of(four)
    first, second, _, last = (p for p in root if p.get("class") == "panel")
    assert first.get("x") == first.get("y") == second.get("y") == "0.0"
    assert float(second.get("x")) > float(first.get("width"))
    assert last.get("x") == "0.0"
    assert float(last.get("y")) > float(first.get("height"))
    png, high = Image.open(io.BytesIO(four.png())), float(root.get("height"))
    assert png.height == pytest.approx(2 * high, abs=2)
    page = in_page(four.svg())
    assert page.startswith('<div class="figure"')
    assert page.count('<svg class="panel" width=') == 4
    assert in_page(heatmap(SCORES).svg()).startswith('<svg class="figure"')


PANELS = ("#f6f8fa", "#1b2128")  # what outputs may stand on, a little off
CELLS = [pair for k in KINDS.values() for pair in k.counterparts().items()]
# What is written or drawn, and the grounds that it may stand on.
INKS = {
    "lines": ([pair for pair, *_ in LINES], [palette.PAPER, PANELS]),
    "letters": ([INK, *(ink for _, ink in AXES.values())], [palette.PAPER]),
    "lit": ([INK, *(ink for _, ink in AXES.values())], [palette.HIGHLIGHT]),
    "numbers": ([INK], [*CELLS, palette.SHADE]),
}


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("name", INKS)
def test_it_can_be_read_on_every_ground_in_both_themes(name, theme):
    for ink, ground in product(*INKS[name]):
        assert contrast(rgb(ink[theme]), rgb(ground[theme])) >= 4.5


@pytest.mark.slow
def test_the_same_figure_is_the_same_bytes_with_no_ids_that_leak():
    one, two = (heatmap(SCORES, SCORES, rows=NEPALI) for _ in range(2))
    assert one.svg() == two.svg()
    assert one.png() == two.png()
    found = re.findall(r' id="([^"]+)"', one.svg())
    assert len(found) == len({*found}) > 1
    assert {*found}.isdisjoint(
        re.findall(r' id="([^"]+)"', heatmap(SCORES * 2).svg())
    )
    assert "<style" not in one.svg()
    assert "<metadata" not in one.svg()


@pytest.mark.slow
def test_a_notebook_gets_text_svg_and_png_unless_nepali_would_be_wrong(
    monkeypatch,
):
    bundle, sizes = heatmap(SCORES)._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "image/svg+xml", "image/png"]
    png = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert png.width > 200
    # As wide as the SVG, where a notebook is not trusted and has the PNG.
    assert sizes["image/png"]["width"] == png.width // 2
    monkeypatch.setattr(picture, "SHAPES_COMPLEX", False)
    bundle, _ = heatmap(SCORES, rows=NEPALI)._repr_mimebundle_()
    assert "image/png" not in bundle
    assert "image/png" in heatmap(SCORES)._repr_mimebundle_()[0]


@pytest.mark.slow
def test_the_first_cell_is_painted_where_its_panel_says():
    """Seen in the pixels, which is all that a reader has."""
    picture = heatmap(FIRST, kind="weights")
    image = Image.open(io.BytesIO(picture.png())).convert("RGB")
    full = colors.to_rgb(KINDS["weights"].light[-1])
    painted = tuple(round(255 * x) for x in full)
    left, top, wide, high = (2 * side for side in picture.panels[0].box)
    for x, y in (0.05, 0.2), (0.45, 0.2), (0.05, 0.45):
        at = round(left + x * wide), round(top + y * high)
        assert image.getpixel(at) == painted
    beside = round(left + 0.55 * wide), round(top + 0.2 * high)
    assert image.getpixel(beside) == (255,) * 3

"""The faces of a figure: SVG in two themes, PNG with Nepali shaped, text."""

import base64
import io
import re
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from tests.helpers.drawings import ENGLISH, NEPALI, SCORES
from tformer_lite import heatmap
from tformer_lite.drawing.surface import picture
from tformer_lite.drawing.surface.palette import PAPER
from tformer_lite.drawing.surface.picture import FONT


@pytest.mark.slow
def test_a_screen_reader_says_the_first_paragraph():
    drawing = heatmap(
        SCORES, rows=NEPALI, columns=['<b> "it\'s" &', "b", "c", "d"]
    )
    root = ElementTree.fromstring(drawing.svg())
    assert root.get("role") == "img"
    assert root.get("aria-label") == drawing.text.split("\n\n")[0]


@pytest.mark.slow
def test_every_colour_has_its_dark_counterpart():
    svg = heatmap(SCORES, rows=NEPALI, columns=ENGLISH).svg()
    light = set(re.findall(r"(?:fill|stroke): (#\w{6})", svg))
    pairs = dict(re.findall(r"light-dark\((#\w+), (#\w+)\)", svg))
    assert light == set(pairs)
    assert all(pairs[colour] != colour for colour in light)
    assert pairs[PAPER[0]] == PAPER[1]


@pytest.mark.slow
def test_the_same_figure_is_the_same_bytes():
    one, two = (heatmap(SCORES, rows=NEPALI) for _ in range(2))
    assert one.svg() == two.svg()
    assert one.png() == two.png()
    assert heatmap(SCORES[:2]).svg().count("url(#h") == 2


@pytest.mark.slow
def test_a_drawing_brings_no_ids_or_styles_that_leak_into_a_page():
    a, b = heatmap(SCORES).svg(), heatmap(SCORES * 2).svg()
    ids = [set(re.findall(r'id="([^"]+)"', svg)) for svg in (a, b)]
    assert ids[0]
    assert ids[0].isdisjoint(ids[1])
    assert "<style" not in a
    assert "<metadata" not in a


@pytest.mark.slow
def test_a_notebook_gets_text_svg_and_png():
    bundle = heatmap(SCORES)._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "image/svg+xml", "image/png"]
    png = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert png.width > 200


@pytest.mark.slow
def test_a_matplotlib_that_cannot_shape_nepali_draws_no_wrong_png(monkeypatch):
    monkeypatch.setattr(picture, "SHAPES_COMPLEX", False)
    assert "image/png" not in heatmap(SCORES, rows=NEPALI)._repr_mimebundle_()
    assert "image/png" in heatmap(SCORES)._repr_mimebundle_()


@pytest.mark.skipif(
    not picture.SHAPES_COMPLEX, reason="needs matplotlib 3.11 or newer"
)
def test_nepali_is_shaped_in_the_png():
    """The vowel sign of थि is typed after its consonant and read before it.

    The witness sets letters one by one, as they are typed or as they are
    read; matplotlib must have drawn the latter.
    """
    with mpl.rc_context(picture.STYLE):
        figure = Figure(figsize=(2, 1), dpi=100)
        figure.text(0.1, 0.3, "थिएन", size=40)
        file = io.BytesIO()
        figure.savefig(file, format="png")
    drawn = ink(Image.open(file))
    one_by_one = ImageFont.Layout.BASIC
    font = ImageFont.truetype(str(FONT), 56, layout_engine=one_by_one)
    pages = []
    for letters in ("\u093f\u0925\u090f\u0928", "\u0925\u093f\u090f\u0928"):
        page = Image.new("RGB", (300, 150), "white")
        ImageDraw.Draw(page).text((30, 20), letters, fill=0, font=font)
        pages.append(ink(page))
    as_read, as_typed = ((drawn - page).abs().mean() for page in pages)
    assert as_read < 0.5 * as_typed


def ink(page: Image.Image) -> torch.Tensor:
    """Where the ink of a page is, cropped and brought to one size."""
    grey = page.convert("L").point(lambda value: 255 - value)
    cut = grey.crop(grey.getbbox()).resize((120, 60))
    return torch.tensor(list(cut.tobytes())).view(60, 120) / 255

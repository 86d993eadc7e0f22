"""Pictures stand upright: what comes first is on top, in what is painted."""

import io

import pytest
import torch
from matplotlib import colors
from pictures.blocks import blocks
from PIL import Image

from tests.helpers.drawings import texts_on
from tformer_lite import bars, heatmap, strip
from tformer_lite.drawing.surface.palette import KINDS

FIRST = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
WORDS = ["one", "two"]
PLACES = torch.arange(24).view(2, 12)
NAMED = {"rows": WORDS, "columns": [".", "."]}
PICTURES = {
    "heatmap": heatmap(FIRST, **NAMED, titles=["above"]),
    "strip": strip(FIRST, "=", FIRST, **NAMED, titles=["above"] * 2),
    "bars": bars(FIRST[0], labels=WORDS, titles=["above"]),
    "blocks": blocks(PLACES, words=WORDS, titles=["above"]),
}


@pytest.mark.slow
def test_the_first_cell_is_painted_at_the_top_left():
    """Seen in the pixels, which is all that a reader has."""
    picture = heatmap(FIRST, kind="weights")
    image = Image.open(io.BytesIO(picture.png())).convert("RGB")
    full = colors.to_rgb(KINDS["weights"].light[-1])
    painted = tuple(round(255 * x) for x in full)
    places = [
        (x, y)
        for x in range(image.width)
        for y in range(image.height)
        if image.getpixel((x, y)) == painted
    ]
    assert len(places) > 100
    x, y = (sum(side) / len(places) for side in zip(*places))
    assert x < image.width / 2
    assert y < image.height / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_title_is_painted_above_the_first_row_and_that_above_the_next(name):
    picture = PICTURES[name]
    for figure in filter(None, (picture.figure, picture.narrow)):
        figure.canvas.draw()
        boxes = {x.get_text(): x.get_window_extent() for x in texts_on(figure)}
        heights = [boxes[x].y0 for x in ("above", *WORDS) if x in boxes]
        assert len(heights) == 3
        assert heights == sorted(heights, reverse=True)

"""What a picture tells the page's script of its matrices."""

import json
from xml.etree import ElementTree

from matplotlib.figure import Figure

from tests.helpers.drawings import ENGLISH, NEPALI, SCORES
from tformer_lite.drawing.surface.matrix import Matrix
from tformer_lite.drawing.surface.panels import Panel
from tformer_lite.drawing.surface.picture import Picture


def told(*panels: Panel) -> list[dict]:
    """The panels, as a page's script reads them."""
    picture = Picture(Figure((2, 1)), "", {}, panels=panels)
    return json.loads(ElementTree.fromstring(picture.svg()).get("data-panels"))


def test_a_panel_has_its_place_its_words_and_its_values_as_printed():
    words = [['<b> "it\'s" &', *NEPALI[1:]], ENGLISH]
    matrix = Matrix("raw", SCORES, ("T", "S"), words, None, None)
    (panel,) = told(Panel(matrix, (1, 2, 30, 40), chain=2))
    assert panel == {
        "name": "raw",
        "chain": 2,
        "axes": ["T", "S"],
        "words": words,
        "values": [
            "0.10;−1.00;2.00;−∞ (masked)",
            "0.00;0.00;1.24;−∞ (masked)",
            "3.00;−3.46;0.50;−∞ (masked)",
            "−0.25;0.75;1.00;−∞ (masked)",
        ],
        "wide": [1, 2, 30, 40],
        "narrow": [1, 2, 30, 40],
    }


def test_a_large_matrix_and_a_picture_without_one_tell_nothing():
    large = Matrix(
        "x", SCORES.repeat(20, 20), ("T", "S"), [None] * 2, *[None] * 2
    )
    assert "data-panels" not in Picture(Figure((2, 1)), "", {}).svg()
    few = [Panel(large, (0, 0, 9, 9)), Panel(large, (9, 0, 9, 9))]
    assert (
        "data-panels" not in Picture(Figure((2, 1)), "", {}, None, few).svg()
    )

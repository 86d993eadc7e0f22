"""No letters of a picture overlap, leave it, or are too small."""

import pytest

from tests.helpers.drawings import letter_faults
from tformer_lite.drawing.page import Page
from tformer_lite.drawing.picture import Picture

SLANTED = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ([(50, 20, "one"), (50, 34, "two")], ""),
        ([(50, 20, "one"), (60, 20, "two")], "'one' overlaps 'two'"),
        ([(50, 60, "bel", SLANTED), (66, 60, "beside", SLANTED)], ""),
        ([(60, 60, "bel", SLANTED), (66, 60, "beside", SLANTED)], "overlaps"),
        ([(8, 20, "first")], "'first' leaves the figure"),
        ([(8, 90, "last", SLANTED)], "'last' leaves the figure"),
        ([(50, 20, "tiny", {"size": 8})], "'tiny' has 8.0 px"),
    ],
)
def test_faults_of_letters_are_found(words, fault):
    page, phone = Page(600, 100), Page(358, 100)
    for x, y, text, *style in words:
        phone.write(x, y, text, **dict(*style))
    faults = letter_faults(Picture(page.figure, "", {}, phone.figure))
    assert all(text.startswith("of 358 px: ") for text in faults)
    assert (fault in "".join(faults)) if fault else not faults

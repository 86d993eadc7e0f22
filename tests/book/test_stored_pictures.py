"""Pictures that are stored beside the book are not older than the book."""

import re

import pytest
from PIL import Image
from stored_pictures import DRAWN, SWAP

NUMBER = r"-?\d+\.?\d*"
OLD = "the picture is old: run `make picture`"


@pytest.mark.slow
@pytest.mark.parametrize("file", DRAWN, ids=lambda file: file.stem)
def test_the_first_page_shows_what_is_drawn_today(file):
    texts = file.read_text("utf8"), DRAWN[file]()
    words = [re.split(NUMBER, text) for text in texts]
    assert words[0] == words[1], OLD
    places = [list(map(float, re.findall(NUMBER, x))) for x in texts]
    assert places[0] == pytest.approx(places[1], abs=0.11), OLD


def test_the_picture_of_the_readme_is_light_and_moves_for_ever():
    assert SWAP.stat().st_size <= 1_000_000
    with Image.open(SWAP) as picture:
        assert (picture.n_frames > 40, picture.info["loop"]) == (True, 0)

"""Pictures that are stored beside the book are not older than the book."""

import re

import pytest
import stored_pictures

NUMBER = r"-?\d+\.?\d*"
OLD = "the picture is old: run `make picture`"


@pytest.mark.slow
def test_the_first_page_shows_what_is_drawn_today():
    stored = stored_pictures.FIRST_PAGE.read_text("utf8")
    texts = stored, stored_pictures.figure_text()
    words = [re.split(NUMBER, text) for text in texts]
    assert words[0] == words[1], OLD
    places = [list(map(float, re.findall(NUMBER, x))) for x in texts]
    assert places[0] == pytest.approx(places[1], abs=0.11), OLD

"""The picture of the first page is what the translator does today."""

import re

import landing
import pytest

NUMBER = r"-?\d+\.?\d*"
STALE = "the picture is old: run `make picture`"


def test_the_first_page_shows_what_the_trained_translator_attends_to():
    stored, now = landing.PICTURE.read_text("utf8"), f"{landing.drawing()}\n"
    words = [re.split(NUMBER, each) for each in (stored, now)]
    assert words[0] == words[1], STALE
    places = [list(map(float, re.findall(NUMBER, x))) for x in (stored, now)]
    assert places[0] == pytest.approx(places[1], abs=0.11), STALE

"""Dots: which things have which marks."""

import pytest
from pictures.dots import column_width, dots

from tests.helpers.drawings import texts
from tformer_lite.drawing.surface.page import NARROW, WIDE

FOUND = {"first": ["two", "one", "two"], "थिएन": ["one"], "none": []}


def test_words_and_sums_stand_in_the_drawing_for_each_width():
    svg = dots(FOUND, {"first": "a title"}).svg()
    words = ["one", "two", *FOUND, "a title", "in all", "2", "1"]
    assert all(texts(svg).count(word) == 2 for word in words)
    assert texts(svg).index("one") < texts(svg).index("two")  # has more dots


def test_it_is_told_in_words():
    first, _, *rows = dots(FOUND).text.splitlines()
    assert first == (
        "3 rows, 2 columns (3, 2): 1 rows have one dot alone, 1 none. "
        "Most dots, 2, are in the column one."
    )
    assert rows == ["first: two, one", "थिएन: one", "none: "]


def test_a_row_has_one_dot_for_each_of_its_marks():
    """Two rings, a dot, and one of each in the key: on either width."""
    marks = dots(FOUND).svg().count("<use ")
    more = {**FOUND, "none": ["one", "two", "three"]}
    assert dots(more).svg().count("<use ") - marks == 2 * 3


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("many", [1, 5, 17])
@pytest.mark.parametrize("long", [10, 100])
def test_tilted_words_stay_on_the_page(width, many, long):
    lengths = [long] * many
    step = column_width(width - 140, lengths)
    assert 0 < step <= 24
    assert (many - 0.5) * step + long / 2 <= width - 140


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="2 rows, and no mark in any"):
        dots({"a": [], "b": []})
    with pytest.raises(ValueError, match="no row 'x': there are first"):
        dots(FOUND, {"x": "title"})

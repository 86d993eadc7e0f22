"""The map of the model can be read: wide or narrow, in light and in dark."""

import re
from itertools import combinations

import pytest

from tests.helpers.colours import contrast, rgb
from tests.helpers.diagrams import boxes, drawn, traced, written
from tformer_lite import where
from tformer_lite.drawing.diagram.map import FRAME, HERE, LIT, PARTS
from tformer_lite.drawing.palette import AXES, INK, PAPER


@pytest.fixture
def seen():
    return traced("tiny")


def overlaps(figure) -> list[tuple[str, str]]:
    """The texts that share ink with another; what is measured is higher
    than the ink by a few pixels."""
    return [
        (one.get_text(), other.get_text())
        for (one, a), (other, b) in combinations(written(figure).items(), 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 0.5
        and min(a.y1, b.y1) - max(a.y0, b.y0) > 3
    ]


def strays(figure) -> list[str]:
    """The texts that stand across the edge of a box, a frame or the page."""
    found, grounds = [], boxes(figure).values()
    for text, place in written(figure).items():
        for ground in [figure.bbox, *grounds]:
            apart = not ground.overlaps(place)
            within = ground.contains(*place.min) and ground.contains(
                *place.max
            )
            if not (within or (apart and ground is not figure.bbox)):
                found.append(text.get_text())
    return found


@pytest.mark.parametrize("part", PARTS)
def test_no_text_overlaps_another_or_leaves_its_box(part):
    assert overlaps(drawn("tiny", part)) == []
    assert strays(drawn("tiny", part)) == []


@pytest.mark.parametrize("part", ["encoder", "mask", "cross_attention"])
@pytest.mark.parametrize("name", ["paper", "large", "unproved"])
def test_long_sizes_and_names_have_the_room_they_need(name, part):
    assert overlaps(drawn(name, part)) == []
    assert strays(drawn(name, part)) == []


def test_text_that_overlaps_or_leaves_its_box_is_found(seen):
    figure = where(seen, "head").figure
    figure.renderer = drawn("tiny", "head").renderer
    mark = next(t for t in written(figure) if HERE in t.get_text())
    figure.axes[0].text(*mark.get_position(), "twice", size=9)
    mark.set_text("head, with words that leave")
    assert overlaps(figure)
    assert strays(figure) == [mark.get_text()]


@pytest.mark.parametrize(("name", "inches"), [("tiny", 4.5), ("large", 7.1)])
def test_it_fits_the_page_and_is_as_wide_in_every_part(name, inches):
    parts = "head", "mask", "cross_attention"
    (wide,) = {drawn(name, part).get_figwidth() for part in parts}
    assert wide <= inches
    assert min(t.get_size() for t in written(drawn(name, "mask"))) >= 8


def test_letters_have_the_colours_of_their_axes():
    for text in written(drawn("tiny", "cross_attention")):
        if text.get_text() in AXES:
            assert text.get_color() == AXES[text.get_text()][1][0]


@pytest.mark.parametrize("theme", [0, 1])
def test_text_can_be_read_on_every_ground(theme):
    for ground in PAPER, FRAME, LIT:
        for _, ink in [("", INK), *AXES.values()]:
            assert contrast(rgb(ink[theme]), rgb(ground[theme])) >= 4.5


@pytest.mark.parametrize("part", ["scores", "encoder"])
def test_every_colour_has_its_dark_counterpart(seen, part):
    svg = where(seen, part).svg()
    light = set(re.findall(r"(?:fill|stroke): (#\w{6})", svg))
    pairs = dict(re.findall(r"light-dark\((#\w+), (#\w+)\)", svg))
    assert light == set(pairs)
    assert all(pairs[colour] != colour for colour in light)


def test_the_same_map_is_the_same_bytes(seen):
    one, two = (where(seen, "scores") for _ in range(2))
    assert one.svg() == two.svg()
    assert one.png() == two.png()

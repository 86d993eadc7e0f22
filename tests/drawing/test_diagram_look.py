"""The strips and the map can be read: wide or narrow, in light and in dark;
the poster, when it is printed."""

import re
from dataclasses import replace

import pytest
from pictures.poster import poster
from pictures.thumbs import thumbs_of

from tests.helpers.colours import contrast, rgb
from tests.helpers.diagrams import traced
from tests.helpers.drawings import letter_faults
from tformer_lite import overview, running_trace, where
from tformer_lite.drawing.diagram.anatomy import sides_of
from tformer_lite.drawing.diagram.here import PARTS
from tformer_lite.drawing.surface.palette import AXES, INK, LIT, PAPER, SHARE


@pytest.fixture(scope="module")
def seen():
    return running_trace()


@pytest.mark.full
@pytest.mark.parametrize("part", PARTS)
def test_a_strip_is_low_and_its_letters_are_apart(seen, part):
    picture = where(seen, part)
    assert letter_faults(picture) == []
    assert picture.figure.get_figheight() * 72 <= 120
    assert picture.narrow.get_figheight() * 72 <= 172


@pytest.mark.full
@pytest.mark.parametrize("part", ["norm", "mask", "cross_attention"])
@pytest.mark.parametrize("name", ["paper", "large", "unproved"])
def test_long_sizes_and_names_have_the_room_they_need(name, part):
    assert letter_faults(where(traced(name), part)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "large", "writer"])
def test_the_letters_of_the_whole_map_are_apart(name):
    assert letter_faults(overview(traced(name))) == []


@pytest.mark.parametrize("theme", [0, 1])
def test_text_can_be_read_on_every_ground(theme):
    for ground in PAPER, LIT:
        for _, ink in [("", INK), *AXES.values()]:
            assert contrast(rgb(ink[theme]), rgb(ground[theme])) >= 4.5


@pytest.mark.slow
@pytest.mark.parametrize("part", ["scores", "encoder"])
def test_every_colour_of_a_strip_has_its_dark_counterpart(seen, part):
    svg = where(seen, part).svg()
    light = set(re.findall(r"(?:fill|stroke): (#\w{6})", svg))
    pairs = dict(re.findall(r"light-dark\((#\w+), (#\w+)\)", svg))
    assert light == set(pairs)
    assert all(pairs[colour] != colour for colour in light)


# --- the poster ----------------------------------------------------------


@pytest.mark.full
def test_the_costs_on_the_poster_add_up_to_those_of_the_model(seen):
    thumbs = [t for s in sides_of(seen) for t in thumbs_of(seen, s)]
    whole = seen.flops()[""]
    counted = sum(thumb.cost for thumb in thumbs).tolist()
    assert counted == [whole.parameters, whole.flops]


@pytest.mark.slow
def test_the_poster_shows_the_tensors_of_the_run(seen):
    thumbs = [t for s in sides_of(seen) for t in thumbs_of(seen, s)]
    attentions = seen.attention()
    weights = [thumb for thumb in thumbs if thumb.kind is SHARE]
    assert len(weights) == len(attentions) == 3
    for thumb, found in zip(weights, attentions):
        for drawn, head in zip(thumb.matrices, found.weights[0]):
            shown = ~drawn.isneginf()
            assert drawn[shown].equal(head[shown])
            assert not head[~shown].any()
    assert thumbs[-1].matrices[0].equal(seen.result[0])


@pytest.mark.full
@pytest.mark.parametrize("name", ["running", "writer"])
def test_the_letters_of_the_poster_are_apart(seen, name):
    kept = seen if name == "running" else traced("kept writer")
    picture = poster(kept, ["longest_words"] * 8)
    faults = letter_faults(replace(picture, narrow=picture.figure))
    assert [f for f in faults if "overlaps" in f or "leaves" in f] == []
    assert list(picture._repr_mimebundle_()) == ["text/plain", "image/png"]

"""Pictures of layers."""

import re
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from atlas_page import models
from model_cards.drawing import BREADTH, HEIGHT, picture, spoken, views

WIDE = {"stacks": "encoder", "window": "128 positions in 14 of 22 layers"}
BOX = r"M([\d.]+) ([\d.]+)h([\d.]+)"
# What a picture of the page says, beside the number of its heads.
WORDS = {
    "gpt_2": ["12 query heads", "one each", "all so far", "3,072"],
    "llama_3_8b": ["8 heads of keys and values, each for 4", "gated"],
    "deepseek_v3": ["512 + 64", "8 of 256 experts, 1"],
    "mistral_7b": ["last 4,096"],
    "modernbert_base": ["encoder: each", "nearest 128"],
    "t5_base": ["encoder", "decoder"],
}


def place(text: ET.Element) -> tuple[float, float, float]:
    """Where a text begins, ends and stands, if a letter takes six."""
    wide = 6 * len("".join(text.itertext()))
    before = {"start": 0, "middle": wide / 2, "end": wide}
    left = float(text.get("x")) - before[text.get("text-anchor")]
    return left, left + wide, float(text.get("y"))


@pytest.mark.parametrize("name", models())
def test_a_picture_says_its_numbers_on_free_ground(name):
    sizes, parts = models()[name]["run"], models()[name]["parts"]
    svg = ET.fromstring(picture(sizes, parts))
    words = " ".join(svg.itertext())
    assert [x for x in WORDS.get(name, []) if x not in words] == []
    assert svg.get("aria-label") == spoken(sizes, parts)
    paths = svg.findall("{*}path")
    for path in paths:
        half = float(path.get("stroke-width", 0)) / 2
        for box in re.findall(BOX, path.get("d")):
            x, y, wide = map(float, box)
            assert 0 < x < x + wide < BREADTH
            assert 0 < y - half <= y + half < HEIGHT
    assert paths[0].get("d").count("M") == sizes["H"]
    places = [*map(place, svg.findall("{*}text"))]
    assert all(0 < a < b < BREADTH and 11 < y < HEIGHT for a, b, y in places)
    for (a, b, y), (c, d, z) in combinations(places, 2):
        assert b < c or d < a or abs(y - z) >= 11


def test_a_mask_hides_what_comes_later_or_is_far():
    kinds = {}, WIDE | {"stacks": "decoder"}, WIDE
    rules = [sees for parts in kinds for sees, _ in views(parts)]
    spots = [divmod(n, 8) for n in range(64)]
    open_spots = [sum(sees(*spot) for spot in spots) for sees in rules]
    assert open_spots == [36, 21, 36, 22, 64]

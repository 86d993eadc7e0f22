"""Pictures of layers."""

import re
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from model_cards.drawing import BREADTH, HEIGHT, picture, spoken, views

PLAIN = {"C": 768, "F": 3072, "D": 64, "expert_F": 12048}
BOTH = {"stacks": "encoder and decoder"}
MANY = {"H": 128, "kv_rank": 512, "rope_D": 64, "experts": 256, "top_k": 8}
SOME = {"expert layers": "8 of 256 for each, and one for every word"}
SOME |= {"feed-forward": "gated"}
WIDE = {"stacks": "encoder", "window": "128 positions in 14 of 22 layers"}
CASES = [
    (
        {"H": 12},
        {},
        ["12 query heads", "12 heads of keys", "one each", "all so far"],
    ),
    ({"H": 32, "kv_heads": 8}, {}, ["8 heads of keys and values, each for 4"]),
    ({"H": 128, "kv_heads": 8}, {}, ["each for 16"]),
    ({"H": 10, "kv_heads": 4}, {}, ["4 heads of keys and values, shared"]),
    ({"H": 65, "kv_heads": 1}, BOTH, ["1 head of keys", "encoder", "decoder"]),
    (MANY, SOME, ["512 + 64", "8 of 256 experts, 1", "gated"]),
    ({"H": 1}, {}, ["1 query head", "feed-forward", "3,072"]),
    ({}, {"window": "4,096 positions in all layers"}, ["last 4,096", "all"]),
    ({}, WIDE, ["encoder: each", "nearest 128", "14 layers"]),
    ({}, WIDE | BOTH, ["nearest 128", "last 128"]),
    (
        MANY,
        SOME | {"window": "128 positions in 18 of 36 layers"},
        ["last 128"],
    ),
]
BOX = r"M([\d.]+) ([\d.]+)h([\d.]+)"


def place(text: ET.Element) -> tuple[float, float, float]:
    """Where a text begins, ends and stands, if a letter takes six."""
    wide = 6 * len("".join(text.itertext()))
    before = {"start": 0, "middle": wide / 2, "end": wide}
    left = float(text.get("x")) - before[text.get("text-anchor")]
    return left, left + wide, float(text.get("y"))


@pytest.mark.parametrize(("sizes", "parts", "words"), CASES)
def test_a_picture_says_its_numbers_on_free_ground(sizes, parts, words):
    svg = ET.fromstring(picture(PLAIN | sizes, parts))
    assert all(word in " ".join(svg.itertext()) for word in words)
    assert svg.get("aria-label") == spoken(PLAIN | sizes, parts)
    paths = svg.findall("{*}path")
    for path in paths:
        half = float(path.get("stroke-width", 0)) / 2
        for found in re.findall(BOX, path.get("d")):
            x, y, wide = map(float, found)
            assert 0 < x < x + wide < BREADTH
            assert 0 < y - half <= y + half < HEIGHT
    assert not sizes.get("H") or paths[0].get("d").count("M") == sizes["H"]
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

"""The page of models that one has heard of: each has a card, each difference
is explanations, and the address says which two stand side by side."""

import re
import sys
import tomllib
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from atlas_page import (
    OURS,
    model_html,
    models,
    models_table,
    place_of,
    targets,
)
from model_cards.drawing import BREADTH, HEIGHT, picture, spoken, views
from playwright.sync_api import expect

from tests.helpers.project import ROOT, run
from tests.helpers.scripts import answer

BOOK = ROOT / "book"
MODULES = [BOOK / "_static" / "besides.mjs"]
OTHERS = [name for name in models() if name != OURS]
PAGE = "book/atlas.html"
BOTH = "#atlas thead th"


def shown(name: str) -> str:
    """What the section of a model has, with links as on the page."""
    return model_html(name, models()[name], lambda page: f"../{page}.html")


def test_every_model_that_is_listed_is_measured_and_stands_in_the_table():
    listed = tomllib.loads((BOOK / "_tools" / "atlas.toml").read_text("utf8"))
    assert set(OTHERS) == set(listed)
    linked = re.findall('<a href="#([^"]*)">', models_table())
    assert linked == [place_of(name) for name in models()]
    years = [models()[name]["year"] for name in OTHERS]
    assert years == sorted(years)


@pytest.mark.parametrize("name", OTHERS)
def test_a_card_has_its_source_and_its_costs_beside_what_is_published(name):
    data, html = models()[name], shown(name)
    assert f'href="{data["url"]}"' in html
    assert data["published"] in html
    for row, text in data["rows"]:
        assert row == "sizes" or f">{row}</th>" in html
        assert row != "parameters" or text.partition(" = ")[0] in html


@pytest.mark.parametrize("name", OTHERS)
def test_every_difference_is_marked_and_explained(name):
    parts, ours = models()[name]["parts"], models()[OURS]["parts"]
    other = {
        part: parts.get(part, "none")
        for part in {**ours, **parts}
        if parts.get(part) != ours.get(part)
    }
    lines = re.findall('<tr class="other"><th[^>]*>(.*?)<.*?≠', shown(name))
    assert lines == [*other]
    assert not [x for x in other.items() if not [*targets(*x)]]


def test_the_cards_are_written_without_pytorch():
    says = "import sys; sys.modules['torch'] = None; sys.path[:0] = {}; {}"
    use = "import atlas_page as a; [a.model_html(n, d, str) for n, d in " + (
        "a.models().items()]"
    )
    paths = [str(BOOK / "_ext"), str(BOOK / "_tools")]
    done = run(ROOT, sys.executable, "-c", says.format(paths, use))
    assert done.returncode == 0, done.stderr


# The two names that an address asks for, and those that nobody knows.
ADDRESSES = {
    "#compare=gpt-2,llama-3-8b": (["gpt-2", "llama-3-8b"], []),
    "#compare=gpt_2,llama_3_8b": (["gpt-2", "llama-3-8b"], []),
    "#compare=,gpt-2,": (["", "gpt-2"], []),
    "#compare=gpt-9,gpt-2": (["", "gpt-2"], ["gpt-9"]),
    "#compare=%zz,gpt-2": (["", "gpt-2"], ["%zz"]),
    # About something else.
    "#gpt-2": None,
}


def test_an_address_says_which_two_are_compared():
    ask = """(all) => all.map((address) =>
        asked(address, ["gpt-2", "llama-3-8b"]))"""
    answers = answer(MODULES, ask, [*ADDRESSES])
    compared = [x and (x["names"], x["unknown"]) for x in answers]
    assert dict(zip(ADDRESSES, compared, strict=True)) == ADDRESSES


def test_rows_of_two_cards_stand_beside_each_other():
    left = [["H", "3"], ["D", "4"], ["window", "none"]]
    right = [["H", "3"], ["groups", "2"], ["D", "8"]]
    ask = "([left, right]) => besides(left, right)"
    assert answer(MODULES, ask, [left, right]) == [
        {"name": "H", "both": True, "differs": False},
        {"name": "groups", "both": False, "differs": False},
        {"name": "D", "both": True, "differs": True},
        {"name": "window", "both": False, "differs": False},
    ]


@pytest.mark.full
def test_a_reader_chooses_two_and_goes_back_and_forward(visit):
    page = visit(f"{PAGE}#compare=gpt-2,nobody").page
    said = page.locator("#atlas [role=status]")
    expect(said).to_have_text("There is no card “nobody”. Choose two models.")
    page.get_by_label("with").focus()
    page.keyboard.type("Llama 3")
    expect(page.locator(BOTH)).to_have_text(["GPT-2 (small)", "Llama 3 8B"])
    page.get_by_label("with").select_option("t5-base")
    assert page.url.endswith("#compare=gpt-2,t5-base")
    page.go_back()
    expect(page.locator(BOTH)).to_have_text(["GPT-2 (small)", "Llama 3 8B"])
    page.go_forward()
    expect(page.locator(BOTH)).to_have_text(["GPT-2 (small)", "T5 base"])
    differ = page.locator("#atlas tr.other")
    expect(said).to_contain_text(f"{differ.count()} rows differ")
    page.get_by_label("with").select_option("gpt-oss-120b")
    experts = page.locator("#atlas tbody th", has_text="expert")
    expect(experts).to_have_count(2)  # a size, and a part
    card = page.locator("#mistral-7b")
    card.get_by_role("button").click()
    expect(page.locator(BOTH).last).to_have_text("Mistral 7B v0.1")
    link = card.get_by_role("link", name="Open in Resize")
    assert link.get_attribute("href").endswith("#preset=mistral_7b")


# --- pictures of layers ----------------------------------------------------

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


def place_of_text(text: ET.Element) -> tuple[float, float, float]:
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
    places = [*map(place_of_text, svg.findall("{*}text"))]
    assert all(0 < a < b < BREADTH and 11 < y < HEIGHT for a, b, y in places)
    for (a, b, y), (c, d, z) in combinations(places, 2):
        assert b < c or d < a or abs(y - z) >= 11


def test_a_mask_hides_what_comes_later_or_is_far():
    kinds = {}, WIDE | {"stacks": "decoder"}, WIDE
    rules = [sees for parts in kinds for sees, _ in views(parts)]
    spots = [divmod(n, 8) for n in range(64)]
    open_spots = [sum(sees(*spot) for spot in spots) for sees in rules]
    assert open_spots == [36, 21, 36, 22, 64]

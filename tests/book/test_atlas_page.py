"""The page of models that one has heard of: each has a card, each difference
is explanations, and the address says which two stand side by side."""

import re
import sys
import tomllib

import atlas_page
import pytest
from atlas_page import OURS, models, place_of, targets
from model_cards import drawing
from playwright.sync_api import expect

from tests.helpers.project import ROOT, run
from tests.helpers.scripts import answer

BOOK = ROOT / "book"
MODULES = [BOOK / "_static" / "besides.mjs"]
OTHERS = [name for name in models() if name != OURS]
PAGE = "book/atlas.html"
BOTH = "#atlas thead th > a"


def shown(name: str) -> str:
    """What the section of a model has, with links as on the page."""
    return atlas_page.model_html(
        name, models()[name], lambda page: f"../{page}.html"
    )


def test_every_model_that_is_listed_is_measured_and_stands_on_the_wall():
    listed = tomllib.loads((BOOK / "_tools" / "atlas.toml").read_text("utf8"))
    assert set(OTHERS) == set(listed)
    link = re.compile('<a href="#([^"=]*)">')
    linked = link.findall(atlas_page.models_table())
    assert linked == [place_of(name) for name in models()]
    assert link.findall(atlas_page.wall()) == linked
    counts = [drawing.parameters(data) for data in models().values()]
    assert counts == sorted(counts)


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
    card.get_by_role("link", name="Compare with ours").click()
    expect(page.locator(BOTH).last).to_have_text("Mistral 7B v0.1")
    expect(card.locator('[href$="#preset=mistral_7b"]')).to_have_count(1)


def test_a_reader_sorts_the_wall_and_ticks_two_to_compare(visit):
    page = visit(f"{PAGE}#by=heads").page
    tiles = page.locator(".models > li")
    page.locator(".orders").get_by_role("link", name="cache").press("Enter")
    expect(tiles.last).to_contain_text("no cache")
    page.go_back()
    expect(tiles.last).to_contain_text("128 heads")
    for name in "T5 base", "GPT-2 (small)", "Gemma 3 1B":
        page.get_by_label(f"Compare {name}").press("Space")
    expect(tiles.locator(":checked")).to_have_count(2)
    page.locator(".ticked a").click()
    expect(page.locator(BOTH)).to_have_text(["GPT-2 (small)", "Gemma 3 1B"])
    expect(page.locator("#atlas thead .drawn li")).to_have_count(3)
    assert page.url.endswith("#by=heads&compare=gpt-2,gemma-3-1b")


# --- pictures of models ----------------------------------------------------

WIDE = {"stacks": "encoder", "window": "128 positions in 14 of 22 layers"}
# What a picture says, beside the number of its heads.
WORDS = {
    "translator": ["<b>41,256<", "3 heads<"],
    "gemma_3_1b": ["<b>1.00<small> B<", " share 1 key", "last 512 <br>22 la"],
    "deepseek_v3": ["128 heads, keys from 1 vector", "8 of 256 experts"],
    "modernbert_base": ["nearest 128 <br>14 layers", "all <br>8 layers"],
    "nemotron_h_8b": ["16.4 kB a word + state", "a state <br>24 layers"],
}


@pytest.mark.parametrize("name", models())
def test_a_picture_is_to_scale_and_says_its_numbers(name):
    data = models()[name]
    html, run = drawing.picture(data), data["run"]
    assert [x for x in WORDS.get(name, []) if x not in html] == []
    side = float(re.search(r"--side:([\d.]+)px", html)[1])
    area = drawing.BILLION**2 * drawing.parameters(data) / 1e9
    assert side**2 == pytest.approx(max(4, area), rel=0.02)
    bars = re.findall(r'd="(.*?h.*?)" .*?array="(\d+) 1"', html)
    for (d, wide), many in zip(bars, (run["H"], drawing.key_heads(run))):
        rows = [int(x) + 1 for x in re.findall(r"h(\d+)", d)]
        assert sum(rows) == many * (int(wide) + 1)
        assert max(rows) <= 32 * drawing.HEAD


def test_layers_of_all_kinds_add_up_and_a_grid_hides_what_is_not_seen():
    for data in models().values():
        where = [x for *_, x in drawing.views(data["parts"], data["layers"])]
        if " and " not in data["parts"]["stacks"]:
            assert sum(int(x.split()[0]) for x in where) == data["layers"]
    kinds = {}, WIDE | {"stacks": "decoder"}, WIDE
    rules = [sees for x in kinds for sees, *_ in drawing.views(x, 22)]
    seen = [sum(sees(*divmod(n, 8)) for n in range(64)) for sees in rules]
    assert seen == [36, 21, 36, 22, 64]

"""The first page: what it promises stands on the first screen, and two change
places."""

import re

import fillers
import packages
import pytest
from numpy.testing import assert_allclose
from playwright.sync_api import Page, expect

from tests.helpers.browser import DESK, SCHEMES
from tests.helpers.colours import contrast
from tests.helpers.engine import ask, open_engine
from tests.helpers.my_file import MY_TEXT
from tests.helpers.playing import GIVEN
from tests.helpers.project import ROOT

pytestmark = pytest.mark.full

PAGE, STATIC = "book/intro.html", ROOT / "book" / "_static"
SCREENS = {"desk": (1280, 800), "phone": (390, 844)}
WIDEST = {2: "tired", 3: "student", 5: "them", 4: "called"}
# Each word, with its role.
WORDS = """() => [...document.querySelectorAll("#landing li")].map(item => [
    item.querySelector("select")?.value
        ?? (item.querySelector("[lang]") ?? item).textContent,
    item.firstChild.className])"""
# What is not on the first screen, or wider than its place.
BEYOND = """() => [...document.querySelectorAll(
    "article h1 + p, #landing :is(button, li, p), .ways a"
)].filter(part => {
    const { top, bottom, left, right } = part.getBoundingClientRect();
    return top < 0 || bottom > innerHeight || left < 0 || right > innerWidth
        || part.scrollWidth > part.clientWidth + 1;
}).map(part => part.outerHTML)"""


@pytest.fixture(params=SCREENS.values(), ids=SCREENS)
def page(visit, request) -> Page:
    """The first page on a screen of a size."""
    page = visit(PAGE, "light", request.param[0]).page
    page.set_viewport_size(dict(zip(("width", "height"), request.param)))
    return page


def swap(page: Page) -> None:
    page.locator("#landing button").click()


def test_the_first_screen_has_the_sentence_its_words_and_two_ways(page):
    assert len(page.evaluate(WORDS)) == 9
    assert page.evaluate(BEYOND) == []
    swap(page)
    assert page.evaluate(BEYOND) == []
    ways = page.locator(".ways")
    for name in "Start", "Your own Transformer in 250 lines":
        assert ways.get_by_role("link", name=name).is_visible()
    swap(page)
    # The widest words are on it, too.
    for place, word in WIDEST.items():
        page.get_by_label(f"Word {place},").select_option(word)
        page.get_by_label(f"Word {place}, {word}:").wait_for()
    swap(page)
    page.get_by_text("Swap they and the tired student").wait_for()
    words = [word for word, _ in page.evaluate(WORDS)][5:]
    assert words == ["उनीहरूले", "थाकेको", "विद्यार्थीलाई", "बोलाए"]
    assert page.evaluate(BEYOND) == []
    expect(page.locator(".key")).to_contain_text("who was called")
    expect(page.locator("#landing")).to_contain_text("they, who called")


def test_a_swap_changes_roles_endings_and_what_the_button_says(visit):
    page = visit(PAGE).page
    button, endings = page.locator("#landing button"), "#landing ol :is(u, b)"
    expect(button).to_have_text("⇄ Swap the hungry dog and hari")
    assert dict(page.evaluate(WORDS)) == {
        **dict.fromkeys(["the", "hungry", "dog", "भोको", "कुकुरले"], "who"),
        **dict.fromkeys(["saw", "देख्यो"], "did"),
        **dict.fromkeys(["hari", "हरिलाई"], "whom"),
    }
    expect(page.locator(endings)).to_have_text(["ले", "लाई"])
    expect(page.locator("#landing")).to_contain_text("Hari, who was seen")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_text("⇄ Swap hari and the hungry dog")
    expect(button).to_be_focused()
    assert dict(page.evaluate(WORDS)) == {
        **dict.fromkeys(["hari", "हरिले"], "who"),
        **dict.fromkeys(["saw", "देख्यो"], "did"),
        **dict.fromkeys(["the", "hungry", "dog"], "whom"),
        **dict.fromkeys(["भोको", "कुकुरलाई"], "whom"),
    }
    expect(page.locator(endings)).to_have_text(["ले", "लाई"])
    expect(page.locator("#landing")).to_contain_text("the dog, who was seen")


def test_the_engine_comes_when_a_word_is_exchanged(visit):
    view = visit(PAGE)
    assert not any("engine.js" in url for url in view.requests)
    view.page.get_by_label("Word 4,").select_option("met")
    expect(view.page.locator("#landing")).to_contain_text("भेट्यो")
    assert any("engine.js" in url for url in view.requests)


def test_what_is_stored_is_what_the_engine_finds(chromium):
    page = chromium.new_page()
    open_engine(page)
    same = {"do": "translate", "text": MY_TEXT}
    jobs = [same | {"sentence": sentence} for sentence in GIVEN["first"]]
    for stored, [found, _] in zip(GIVEN["first"].values(), ask(page, *jobs)):
        for name in "translation", "read", "written":
            assert stored[name] == found[name]
        cross, theirs = (x["attentions"][-1] for x in (stored, found))
        assert cross["path"] == theirs["path"]
        assert_allclose(cross["weights"], theirs["weights"], atol=1e-4)
        likely = ([row[0][0] for row in x["chances"]] for x in (stored, found))
        assert next(likely) == next(likely)


def test_roles_are_told_apart_by_colours_and_ribbons_have_them(visit):
    view = visit(PAGE)
    for scheme in SCHEMES:
        view.look(scheme, DESK)
        told_apart(view.page)


def told_apart(page: Page) -> None:
    read = "(all, name) => all.map(part => getComputedStyle(part)[name])"
    inks = page.locator("#landing .key .who, .key .whom, .key .did")
    colours = inks.evaluate_all(read, "color")
    ribbons = page.locator("#landing path").evaluate_all(read, "stroke")
    assert len({*colours}) == 3
    assert {*ribbons} == {*colours}
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    *inks, ground = (
        tuple(map(int, re.findall(r"\d+", colour)[:3]))
        for colour in (*colours, paper)
    )
    assert min(contrast(ink, ground) for ink in inks) >= 6


def test_a_verb_that_the_page_knows_is_one_of_the_grammars():
    text = (STATIC / "landing.mjs").read_text("utf8")
    done = re.search("const DONE = .*", text)[0]
    deeds = re.findall(r'(\w+): "(\w+)"', done)
    verbs = [deed["english"].split()[1:] for deed in fillers.DATA["DONE"]]
    assert sorted(map(list, deeds)) == sorted(verbs)


def test_the_page_gives_away_what_is_copied():
    ways = (STATIC / "ways.html").read_text("utf8")
    for file in packages.DOWNLOADS:
        assert f'href="../{file.name}" download' in ways

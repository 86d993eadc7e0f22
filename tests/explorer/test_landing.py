"""The first page: what it promises stands on the first screen, and two change
places."""

import re

import fillers
import packages
import pytest
from numpy.testing import assert_allclose
from playwright.sync_api import expect

from tests.helpers.browser import DESK, SCHEMES
from tests.helpers.engine import ask, open_engine
from tests.helpers.my_file import MY_TEXT
from tests.helpers.playing import GIVEN, go
from tests.helpers.project import ROOT

pytestmark = pytest.mark.full

PAGE, STATIC = "book/intro.html", ROOT / "book" / "_static"
SCREENS = (1280, 800), (390, 844)
WIDEST = {2: "tired", 3: "student", 5: "them", 4: "called"}
# The words of each role, read and written.
ROLES = """() => ["who", "did", "whom"].map(role =>
    [...document.querySelectorAll(`#landing li > .${role}:not(.was)`)]
        .map(word => word.dataset.word
            ?? (word.querySelector("[lang]") ?? word).textContent)
        .join(" "))"""
DOG_SAW = ["the hungry dog भोको कुकुरले", "saw देख्यो", "hari हरिलाई"]
HARI_SAW = ["hari हरिले", "saw देख्यो", "the hungry dog भोको कुकुरलाई"]
# What is not on the first screen, or wider than its place.
BEYOND = """() => [...document.querySelectorAll(
    "article h1 + p, #landing :is(button, li, p:not([role])), .ways a, .strip"
)].filter(part => {
    const { top, bottom, left, right } = part.getBoundingClientRect();
    const low = part.matches(".strip") ? top + 40 : bottom; // begins on it
    return top < 0 || low > innerHeight || left < 0 || right > innerWidth
        || part.scrollWidth > part.clientWidth + 1;
}).map(part => part.outerHTML)"""


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_the_first_screen_has_a_sentence_and_three_ways(visit, width, height):
    page = visit(PAGE, "light", width).page
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(reduced_motion="reduce")
    button = page.locator("#landing button")
    for name, roles in {"hari": DOG_SAW, "the hungry dog": HARI_SAW}.items():
        expect(button).to_contain_text(f" and {name}")
        assert page.evaluate(ROLES) == roles
        assert page.evaluate(BEYOND) == []
        expect(page.locator("#landing")).to_contain_text(", who was seen")
        button.press("Enter")
    expect(button).to_be_focused()
    expect(page.locator("#landing ol :is(u, b)")).to_have_text(["ले", "लाई"])
    ways = page.locator(".ways").get_by_role("link")
    expect(ways).to_contain_text(["chapter 0", "Type", "Your own"])
    # The widest words are on it, too.
    for place, word in WIDEST.items():
        page.get_by_label(f"Word {place},").select_option(word)
        page.get_by_label(f"Word {place}, {word}:").wait_for()
    button.click()
    page.get_by_text("Swap they and the tired student").wait_for()
    assert page.evaluate(ROLES)[2] == "the tired student थाकेको विद्यार्थीलाई"
    assert page.evaluate(BEYOND) == []
    expect(page.locator(".key")).to_contain_text("who was called")
    expect(page.locator("#landing")).to_contain_text("they, who called")


# Where हरि is at a time, how far its ribbon is, its ending, what is below.
LATER = """async time => {
    document.getAnimations().forEach(x => { x.pause(); x.currentTime = time });
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
    const [word] = [...document.querySelectorAll("#landing li")]
        .map(item => item.lastChild)
        .filter(word => word.textContent.includes("हरि"));
    const { left, width } = word.parentNode.getBoundingClientRect();
    const ends = [...document.querySelectorAll("#landing path")].map(path =>
        path.getPointAtLength(1e4).matrixTransform(path.getScreenCTM()).x);
    return [left, Math.min(...ends.map(x => Math.abs(x - left - width / 2))),
        word.querySelector("u, b").textContent,
        document.querySelector(".ways").getBoundingClientRect().top];
}"""


def test_words_travel_with_their_ribbons_and_change_half_way(visit):
    view = visit(PAGE)
    page, click = view.page, view.page.locator("#landing button").click
    click()
    seen = [page.evaluate(LATER, time) for time in (0, 300, 400, 500, 900)]
    places, gaps, endings, below = zip(*seen)
    assert sorted({*places}, reverse=True) == list(places)
    assert max(gaps) < 8
    assert endings == ("लाई", "लाई", "लाई", "ले", "ले")
    assert len({*below}) == 1
    # One who clicks in between sees the words turn round where they are.
    click()
    assert page.evaluate(LATER, 400)[0] > places[-1]
    click()
    assert places[-1] < page.evaluate(LATER, 0)[0] < places[0]
    assert page.evaluate(LATER, 900)[0] == pytest.approx(places[-1], abs=1)
    page.emulate_media(reduced_motion="reduce")
    click()
    page.get_by_text("Swap the hungry dog and hari").wait_for()
    assert page.evaluate("document.getAnimations().length") == 0
    assert not any("engine.js" in url for url in view.requests)


def test_the_address_has_the_sentence_and_it_is_said_once(visit):
    page = visit(f"{PAGE}#s=we+met+him.").page
    button, said = page.locator("#landing button"), page.get_by_role("status")
    expect(button).to_have_text("⇄ Swap we and him")
    go(page, "s=he+met+us.")
    for text in "he met us. → ", "हामीलाई", "Who met: he. Who was met: us.":
        expect(said.filter(has_text=text)).to_have_count(1)
    expect(page.locator("#landing ol[aria-live]")).to_have_count(0)
    for odd in "s=the+dog+ate.", f"s={'x' * 3000}", "s=", "s=%zz<b>":
        go(page, odd)
        expect(said.filter(has_text="Shown: he met us.")).to_have_count(1)
        expect(button).to_have_text("⇄ Swap he and us")
    assert page.evaluate("document.body.scrollWidth <= innerWidth")
    play = page.get_by_role("link", name="Type a sentence")
    assert play.get_attribute("href") == "play.html#s=he+met+us."
    page.evaluate("history.go(-5)")
    expect(button).to_have_text("⇄ Swap we and him")


def test_what_is_stored_is_what_the_engine_finds(chromium):
    page = chromium.new_page()
    open_engine(page)
    job = {"do": "translate", "text": MY_TEXT}
    for sentence, stored in GIVEN["first"].items():
        [[found, _]] = ask(page, job | {"sentence": sentence})
        for name in "translation", "read", "written":
            assert stored[name] == found[name]
        cross, theirs = (x["attentions"][-1] for x in (stored, found))
        assert cross["path"] == theirs["path"]
        assert_allclose(cross["weights"], theirs["weights"], atol=1e-4)
        likely = ([row[0][0] for row in x["chances"]] for x in (stored, found))
        assert next(likely) == next(likely)


def test_roles_are_told_apart_by_colours_and_ribbons_have_them(visit):
    view = visit(PAGE)
    read = "(all, name) => all.map(part => getComputedStyle(part)[name])"
    inks = view.page.locator("#landing .key :is(.who, .whom, .did)")
    for scheme in SCHEMES:
        view.look(scheme, DESK)
        colours = inks.evaluate_all(read, "color")
        ribbons = view.page.locator("#landing path")
        assert len({*colours}) == 3
        assert {*ribbons.evaluate_all(read, "stroke")} == {*colours}


def test_a_verb_that_the_page_knows_is_one_of_the_grammars():
    text = (STATIC / "landing.mjs").read_text("utf8")
    done = re.search("const DONE = .*", text)[0]
    deeds = re.findall(r'(\w+): "(\w+)"', done)
    verbs = [deed["english"].split()[1:] for deed in fillers.DATA["DONE"]]
    assert sorted(map(list, deeds)) == sorted(verbs)


def test_the_page_gives_away_what_is_copied():
    text = (ROOT / "book" / "intro.md").read_text("utf8")
    for file in packages.DOWNLOADS:
        assert f'href="../{file.name}" download' in text

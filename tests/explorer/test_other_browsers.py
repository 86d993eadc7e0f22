"""The live pages in Firefox and in WebKit: no script fails, they say what they
say in Chromium, and ribbons meet their words."""

import io

import pytest
from matplotlib.image import imread

from tests.helpers.other_browsers import Firefox, OtherBrowser, WebKit
from tests.helpers.playing import PLAY

pytestmark = pytest.mark.full

WRONG = "() => wrong"
CENTRE = """() => document.querySelector("[data-part=ribbons]")
    .scrollIntoView({ block: "center", behavior: "instant" })"""
TEXT = "selector => document.querySelector(selector)?.textContent"
# Both rows of words, and the ends of all ribbons: [middle, width] at a row.
WORDS = """() => ["read", "written"].map((row, end) => {
    const left = document.querySelector("[data-part=ribbons]")
        .getBoundingClientRect().left;
    return {
        words: [...document.querySelectorAll(`[data-part=${row}] li`)]
            .map(item => item.getBoundingClientRect())
            .map(({ left, right, top, bottom }) => [left, right, top, bottom]),
        ribbons: [...document.querySelectorAll("[data-part=ribbons] path")]
            .map(path => [left + Number(path.getAttribute("d")
                .match(/[\\d.]+(?=,[\\d.]+(C|$))/g)[end]),
                Number(path.getAttribute("stroke-width"))]),
    };
})"""


@pytest.fixture(scope="module", params=[Firefox, WebKit])
def browser(request, tmp_path_factory):
    """One of the others; where there is none, this is skipped."""
    with request.param(tmp_path_factory.mktemp("browser")) as found:
        found.start()
        yield found


def wait_for(browser: OtherBrowser, selector: str, text: str) -> None:
    """Wait until a part has a text."""
    said = browser.until(TEXT, selector, has=text)
    assert text in said, said


IN_VIEW = """() => document.querySelector("[data-part=ribbons]")
    .scrollIntoView(
    { block: "center", behavior: "instant" })"""


def ink(picture, left, right, top, bottom) -> float:
    """The middle of what is drawn in a box, from left to right."""
    box = picture[int(top) : int(bottom) - 3, int(left) : int(right) + 1, :3]
    paper = box[0, 0]
    drawn = (abs(box - paper).max(2) > 0.25).any(0).nonzero()[0]
    return int(left) + (drawn[0] + drawn[-1] + 1) / 2


def gaps(browser: OtherBrowser) -> list[float]:
    """How far from each word's middle the middle of its ribbons is."""
    browser.run(IN_VIEW)
    picture, found = imread(io.BytesIO(browser.screenshot())), []
    for row in browser.run(WORDS):
        middles = [ink(picture, *box) for box in row["words"]]
        sides = {middle: [] for middle in middles}
        for x, width in row["ribbons"]:
            nearest = min(middles, key=lambda middle: abs(middle - x))
            sides[nearest] += [x - width / 2, x + width / 2]
        found += [
            (min(xs) + max(xs)) / 2 - middle
            for middle, xs in sides.items()
            if xs
        ]
    return found


@pytest.mark.parametrize("page", [PLAY, "book/intro.html"])
@pytest.mark.parametrize("width", [1280, 500])  # they have no narrower one
def test_ribbons_meet_their_words(browser, page, width):
    browser.ask("window/rect", width=width, height=1000)
    browser.open(page)
    browser.run(CENTRE)
    found = gaps(browser)
    assert len(found) > 6
    assert [gap for gap in found if abs(gap) > 2] == []
    assert browser.run(WRONG) == []


def test_play_translates_and_its_lamps_light(browser):
    browser.open(f"{PLAY}#s=hari+saw+the+hungry+dog.&bug=no_causal_mask")
    result = "#play [data-part=result]"
    assert browser.run(TEXT, result) == "हरिले भोको कुकुरलाई देख्यो ।"
    wait_for(browser, "[data-part=noticed]", "1 of 13 checks notice")
    browser.run("() => { location.hash = 's=is+this+your+house%3F'; }")
    wait_for(browser, result, "के यो तिम्रो घर हो?")
    assert browser.run(WRONG) == []


def test_resize_counts(browser):
    browser.open("book/resize.html#preset=char_lm&H=6")
    totals = browser.run(TEXT, "#resize [data-part=totals]")
    assert "the preset’s" in totals
    browser.run("() => { location.hash = 'preset=llama_3_8b'; }")
    wait_for(browser, "#resize [data-part=totals]", "8,030,261,248")
    assert browser.run(WRONG) == []


def test_a_chapter_explores_and_judges_a_typed_shape(browser):
    browser.open("chapters/06_scores.html#explore-0-0-scores-2-1")
    note = ".explorer p[role=status]"
    assert "hungry, the: (" in browser.run(TEXT, note)
    said = browser.run("""() => {
        const form = document.querySelector("div.predict form");
        const { shape } = form.nextElementSibling.dataset;
        form.elements.shape.value = shape.match(/\\d+/g).join(" ");
        form.querySelector("button").click();
        return form.querySelector("[role=status]").textContent;
    }""")
    assert said.startswith("Right: ")
    assert browser.run(WRONG) == []


def test_the_atlas_compares_what_the_address_asks_for(browser):
    browser.open("book/atlas.html#compare=gpt-2,llama-3-8b")
    assert "rows differ" in browser.run(TEXT, "#atlas [data-part=said]")
    head = browser.run(TEXT, "#atlas thead")
    assert "GPT-2 (small)" in head
    assert "Llama 3 8B" in head
    assert browser.run(WRONG) == []

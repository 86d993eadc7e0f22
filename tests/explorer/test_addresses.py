"""An address says what a live page shows: when it is opened, when a link leads
to it in the same tab, and back and forward; whatever is written there."""

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.helpers.playing import OWN, PLAY, go, part, press, says, write

pytestmark = pytest.mark.full

STANDS = f"Shown below: {OWN}"
# An address, what is said of it, and the words that are read below.
ODD = {
    "empty": ("s=", "0 words and signs", OWN),
    "too long": ("s=you+saw+the+small+dog+there.", "7 words and signs", OWN),
    "a book": (f"s={'word+' * 5000}", "5000 words and signs", OWN),
    "unknown words": ("s=constructor+__proto__", "never learned", "a proto"),
    "a broken escape": ("s=%E0%A4+%zz+%", "never learned", "�"),
    "signs of HTML": (f"s={quote('<b>&amp;')}", "never learned", "<b>&amp;"),
    "no step": ("step=constructor&head=-1", "", OWN),
    "twice": ("s=ram+saw+me.&s=hari+saw+me.", "", "hari saw me."),
}
READ = """() => [...document.querySelectorAll("#play [data-part=read] li")]
    .slice(1, -1).map(item => item.querySelector("select")?.value
        ?? item.textContent).join(" ")"""
STATE = """() => ({
    read: (%s)(),
    parts: ["sentence", "step", "head"].map(name =>
        document.querySelector(`[data-part=${name}]`).value),
    texts: ["result", "error", "verdict", "says", "number", "noticed"].map(
        name => document.querySelector(`[data-part=${name}]`).textContent),
    chosen: document.querySelector(".chosen [lang]").textContent,
})"""
STATE %= READ
SAME = f"wanted => JSON.stringify(({STATE})()) === JSON.stringify(wanted)"


@pytest.mark.parametrize("name", ODD)
def test_whatever_an_address_says_the_page_stands(page, playing, name):
    state, said, read = ODD[name]
    go(page, state)
    assert playing.problems == []
    if said:
        says(page, error=said)
    stands = STANDS in part(page, "error").inner_text()
    assert stands == ("s=" in state and read == OWN)
    words = page.evaluate(READ)
    assert read.replace(".", " .") in words or read in words or said
    assert part(page, "written").locator("li").count() > 1
    # What does not fit can be put right, and a bug be planted meanwhile.
    press(page, "no_positions")
    says(page, wrong="return x")
    write(page, "ram saw me.")
    expect(part(page, "error")).to_be_empty()
    assert page.evaluate(READ) == "ram saw me ."
    assert playing.problems == []


def test_a_bug_that_there_is_not_is_told(page):
    for state in "bug=constructor", "hunt=12345":
        go(page, state)
        name = state.partition("=")[2]
        says(page, verdict=f"There is no bug “{name}”.", bug="")


STATES = [
    "s=ram+saw+me.&bug=no_positions",
    "s=",
    "s=ram+saw+me.&hunt=7",
    "s=%E0%A4+%zz+%&bug=constructor&step=constructor&head=-1",
]


def test_a_link_in_the_same_tab_shows_what_it_shows_when_opened(visit):
    there, opened = visit(PLAY).page, []
    for state in STATES:
        fresh = visit(f"{PLAY}#{state}").page
        opened.append(fresh.evaluate(STATE))
        go(there, state)
        there.wait_for_function(SAME, arg=opened[-1])
    assert len({str(state) for state in opened}) == len(STATES)
    for state in reversed(opened[:-1]):
        there.go_back()
        there.wait_for_function(SAME, arg=state)
    for state in opened[1:]:
        there.go_forward()
        there.wait_for_function(SAME, arg=state)


def test_an_address_stays_until_the_reader_acts_and_a_heading_changes_none(
    page,
):
    go(page, "s=ram+saw+me.&bug=no_positions")
    go(page, "look-inside")
    page.wait_for_timeout(100)
    assert page.evaluate(READ) == "ram saw me ."
    assert page.url.endswith("#look-inside")
    says(page, wrong="return x")
    go(page, "s=")
    says(page, error="0 words and signs")
    assert page.url.endswith("#s=")
    press(page, "no_scale")
    assert page.url.endswith("#s=&bug=no_scale")


RESIZE = "book/resize.html"


def test_a_preset_is_shown_by_a_link_in_the_same_tab_and_back(visit):
    page = visit(RESIZE).page
    error = page.locator("#resize [data-part=error]")
    field = page.locator("#size-H")
    own = field.input_value()
    go(page, "preset=char_lm&H=6")
    expect(page.get_by_label("Preset")).to_have_value("char_lm")
    expect(field).to_have_value("6")
    go(page, "preset=__proto__&H=%zz")
    expect(error).to_contain_text("There is no preset __proto__.")
    go(page, "preset=")
    expect(error).to_contain_text("There is no preset . This is paper_base.")
    go(page, "preset=gpt_2")
    expect(page.get_by_label("Preset")).to_have_value("gpt_2")
    expect(error).to_be_empty()
    page.evaluate("history.go(-3)")
    expect(field).to_have_value("6")
    page.go_back()
    expect(page.get_by_label("Preset")).to_have_value("paper_base")
    expect(field).to_have_value(own)
    page.go_forward()
    expect(page.get_by_label("Preset")).to_have_value("char_lm")

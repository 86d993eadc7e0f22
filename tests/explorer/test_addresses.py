"""An address says what a live page shows: when it is opened, when a link leads
to it in the same tab, and back and forward; whatever is written there."""

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.helpers.playing import IDLE, OWN, PLAY, go, inside, part

pytestmark = pytest.mark.full
SCRIPT = IDLE

STANDS = f"Below stands: {OWN}"
# An address, what is said of it, and the words that are read below.
ODD = {
    "empty": ("s=", "Type a sentence", OWN),
    "too long": ("s=you+saw+the+small+dog+there.", "7 words and marks", OWN),
    "a book": (f"s={'word+' * 5000}", "5000 words and marks", OWN),
    "unknown words": ("s=constructor+__proto__", "does not know", "a proto"),
    "a broken escape": ("s=%E0%A4+%zz+%", "does not know", "�"),
    "signs of HTML": (f"s={quote('<b>&amp;')}", "does not know", "<b>&amp;"),
    "no step": ("step=constructor&head=-1", "", OWN),
    "twice": ("s=ram+saw+me.&s=hari+saw+me.", "", "hari saw me."),
}
READ = """() => [...document.querySelectorAll("#play [data-part=read] li")]
    .slice(1, -1).map(item => item.querySelector("select")?.value
        ?? item.textContent).join(" ")"""
STATE = """() => ({
    read: (%s)(),
    parts: ["sentence", "bug", "step", "head"].map(name =>
        document.querySelector(`[data-part=${name}]`).value),
    texts: ["result", "error", "verdict", "shape", "compared"].map(name =>
        document.querySelector(`[data-part=${name}]`))
        .map(part => part.checkVisibility() ? part.textContent : ""),
    chosen: document.querySelector("[aria-pressed=true] [lang]").textContent,
})"""
STATE %= READ
SAME = f"wanted => JSON.stringify(({STATE})()) === JSON.stringify(wanted)"


@pytest.mark.parametrize("name", ODD)
def test_whatever_an_address_says_the_page_stands(page, playing, name):
    state, said, read = ODD[name]
    go(page, state)
    assert playing.problems == []
    expect(part(page, "error")).to_contain_text(said)
    assert (STANDS in part(page, "error").inner_text()) == (
        "s=" in state and read == OWN
    )
    words = page.evaluate(READ)
    assert read.replace(".", " .") in words or read in words or said
    assert part(page, "written").locator("li").count() > 1
    # What does not fit can be put right, and a bug be planted meanwhile.
    part(page, "bug").select_option("no_positions")
    expect(part(page, "diff")).to_be_visible()
    page.get_by_label("English sentence").fill("ram saw me.")
    expect(part(page, "error")).to_be_empty()
    assert page.evaluate(READ) == "ram saw me ."
    assert playing.problems == []


NO_BUGS = {
    "bug=constructor": "There is no bug “constructor”.",
    "hunt=12345": "There is no bug “12345”.",
    "day=2026-02-31": "There is no bug of “2026-02-31”",
}


def test_a_bug_that_there_is_not_is_told(page):
    for state, said in NO_BUGS.items():
        go(page, state)
        expect(part(page, "verdict")).to_contain_text(said)
        expect(part(page, "bug")).to_have_value("")


STATES = [
    "s=ram+saw+me.&bug=no_positions",
    "s=",
    "day=2026-11-27",
    "s=%E0%A4+%zz+%&bug=constructor&step=constructor&head=-1",
    "=",
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
    expect(part(page, "bug")).to_have_value("no_positions")
    go(page, "s=")
    expect(part(page, "error")).to_contain_text("Type a sentence")
    assert page.url.endswith("#s=")
    inside(page, "step").select_option("encoder.norm")
    assert "#s=&step=encoder.norm" in page.url


def test_after_a_shorter_sentence_a_word_is_chosen(page):
    chosen = part(page, "written").locator("[aria-pressed=true] [lang]")
    part(page, "written").get_by_role("button").nth(3).focus()
    expect(chosen).to_have_text("देख्यो")
    type_in = page.get_by_label("English sentence").fill
    for text in "hari saw me.", "is it?", "who?", ".", "ram sleeps.":
        type_in(text)
        words = part(page, "written").locator("[lang]").all_inner_texts()
        if any(word not in ("।", "?", "[EOS]") for word in words):
            assert chosen.inner_text() not in ("।", "?", "[EOS]"), text
    type_in(OWN)
    expect(chosen).to_have_text("देख्यो")


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
    page.go_back()
    page.go_back()
    page.go_back()
    expect(field).to_have_value("6")
    page.go_back()
    expect(page.get_by_label("Preset")).to_have_value("paper_base")
    expect(field).to_have_value(own)
    page.go_forward()
    expect(page.get_by_label("Preset")).to_have_value("char_lm")


def test_of_two_presets_that_are_asked_for_the_last_is_shown(visit):
    page = visit(RESIZE).page
    for state in "preset=llama_3_8b", "preset=char_lm&H=6":
        go(page, state)
    expect(page.locator("#size-H")).to_have_value("6")
    page.wait_for_timeout(500)
    assert page.get_by_label("Preset").input_value() == "char_lm"

"""What a reader does with the translator on its page, and with a bug that is
to be found."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.looking import FEW_LOOKS, faults
from tests.helpers.playing import GIVEN, PLAY, go, inside, part
from tests.helpers.project import ROOT
from tests.helpers.scripts import answer

pytestmark = pytest.mark.full

SUCH = "भोको कुकुरले हरिलाई देख्यो ।"
# A worker that leaves a bug once it is checked, and turns to none: to count
# the translations that change would take most of the time.
SCRIPT = """window.Worker = class extends Worker {
    constructor(script) {
        super(script);
        this.addEventListener("message", ({ data }) => {
            if (data.lamps && data.bug && !window.counts) this.postMessage("");
        });
    }
};"""


def count_translations(page: Page) -> None:
    page.evaluate("window.counts = true")


@pytest.fixture
def page(page) -> Page:
    page.evaluate("window.counts = false")
    return page


def write(page: Page, text: str) -> None:
    page.get_by_label("English sentence").fill(text)


def plant(page: Page, bug: str) -> None:
    page.get_by_label("Plant a bug").select_option(bug)


def test_a_sentence_is_translated_at_once_and_a_word_exchanged(page):
    expect(part(page, "result")).to_have_text(SUCH)
    write(page, "is this your house?")
    expect(part(page, "result")).to_have_text("के यो तिम्रो घर हो?")
    expect(part(page, "error")).to_be_hidden()
    assert part(page, "ribbons").locator("path.chosen").count() > 0
    write(page, "the hungry dog saw hari.")
    word = page.get_by_role("combobox", name="Word 3, dog")
    assert "friend" not in word.inner_text().split()  # it is my friend
    word.focus()
    word.select_option("cat")
    expect(part(page, "result")).to_have_text("भोको बिरालोले हरिलाई देख्यो ।")
    expect(part(page, "sentence")).to_have_value("the hungry cat saw hari.")
    expect(page.get_by_role("combobox", name="Word 3, cat")).to_be_focused()


def test_two_change_places_and_so_do_their_endings(page):
    written, endings = part(page, "written"), part(page, "written").locator
    expect(written).to_contain_text("हरिलाईhari (object)")
    expect(endings("li:has-text('कुकुर') u")).to_have_text("ले")
    swap = page.get_by_role("button", name="Swap who and whom")
    swap.focus()
    page.keyboard.press("Enter")
    expect(part(page, "sentence")).to_have_value("hari saw the hungry dog.")
    expect(part(page, "result")).to_have_text("हरिले भोको कुकुरलाई देख्यो ।")
    expect(endings("li:has-text('कुकुर') b")).to_have_text("लाई")
    expect(swap).to_be_focused()
    write(page, "were we seen by him?")
    swap.click()
    expect(part(page, "sentence")).to_have_value("was he seen by us?")
    for text in "this is not my book.", "you saw the small dog there.":
        write(page, text)
        expect(swap).to_be_hidden()


FORMS = [("तिमीले", "खायौ"), ("तपाईंले", "खानुभयो")]


@pytest.mark.parametrize(("first", "verb"), FORMS)
def test_a_nepali_word_is_where_the_translation_begins(page, first, verb):
    write(page, f"you ate rice. {first}")
    expect(part(page, "result")).to_have_text(f"{first} भात {verb} ।")
    write(page, "you ate rice. चन्द्र")
    expect(part(page, "error")).to_contain_text("does not know चन्द्र")


def test_a_planted_bug_shows_its_line_and_what_it_changes(page):
    count_translations(page)
    plant(page, "heads_joined_by_view")
    expect(part(page, "wrong")).to_contain_text("reshape")
    expect(part(page, "compared")).to_contain_text(SUCH)
    every = "{0} of {0} test translations change.".format(len(GIVEN["tests"]))
    expect(part(page, "count")).to_have_text(every)
    plant(page, "no_causal_mask")
    expect(part(page, "compared")).to_contain_text("so is this translation")
    # That it is none of them, tests/explorer/test_model.py counts.
    none = re.compile(r"(^|… )0 of \d+ test translations change")
    expect(part(page, "count")).to_have_text(none)


def test_rows_name_words_and_each_number_says_how_it_was_made(page):
    rows = inside(page, "matrix").locator("th[scope=row]")
    expect(rows.nth(3)).to_have_text("हरिलाई → देख्यो")
    expect(rows.nth(6)).to_have_text("[PAD]")
    inside(page, "step").select_option(label="self attention scores")
    expect(inside(page, "shape")).to_contain_text(
        "(B, H, T, S) = (1, 3, 8, 8)"
    )
    cell = inside(page, "matrix").locator('td[data-i="2"][data-j="1"]')
    cell.hover()
    made = inside(page, "made")
    expect(made).to_contain_text("hungry, the: (")
    expect(made).to_contain_text("÷ 2.00 = ")
    value = made.text_content().partition("÷ 2.00 = ")[2].split()[0]
    assert value == cell.text_content()
    cell.focus()
    page.keyboard.press("ArrowRight")
    expect(made).to_contain_text("hungry, hungry: (")
    expect(rows.nth(2)).to_have_text("hungry")


def test_a_button_leads_to_the_first_change_and_the_address_says_all(
    page, visit
):
    expect(inside(page, "first")).to_be_hidden()
    write(page, "ram did not see apples.")
    plant(page, "no_causal_mask")
    inside(page, "first").click()
    expect(inside(page, "made")).to_contain_text("what comes later is hidden")
    expect(inside(page, "made")).to_contain_text("Without the bug it is")
    step = inside(page, "step").input_value()
    assert step == "decoder.blocks.0.self_attention:masked"
    again = visit(PLAY + page.evaluate("location.hash")).page
    assert inside(again, "step").input_value() == step
    assert part(again, "sentence").input_value() == "ram did not see apples."
    assert part(again, "bug").input_value() == "no_causal_mask"


def test_what_the_grammar_does_not_make_is_said(page):
    write(page, "the hungry dog saw apples.")
    expect(part(page, "error")).to_contain_text("makes no such sentence")


TURNS = ROOT / "book" / "_static" / "days.mjs"
HAVING_TURN = """([bug, many]) => {
  let code = 0;
  while (turn(code, many) !== bug) code++;
  return code;
}"""
NAMES = [bug["name"] for bug in GIVEN["bugs"]]


def hidden(name: str) -> str:
    """The state in which this bug is hidden."""
    code = answer([TURNS], HAVING_TURN, [NAMES.index(name), len(NAMES)])
    return f"hunt={code}"


def guess(page, name: str) -> None:
    part(page, "suspect").select_option(name)
    page.get_by_role("button", name="This one").click()


def test_lamps_light_for_a_bug_and_go_out_without_one(visit):
    page = visit(PLAY).page
    noticed = part(page, "noticed")
    expect(noticed).to_be_empty()  # nobody has asked yet
    part(page, "lamps").scroll_into_view_if_needed()
    none = "None of the 13 checks notices anything."
    expect(noticed).to_have_text(none)
    plant(page, "heads_joined_by_view")
    some = "3 of 13 checks notice something"
    expect(noticed).to_contain_text(some)
    expect(noticed).to_contain_text("provenance")
    expect(part(page, "said")).to_contain_text("numbers of other words")
    lit = part(page, "lamps").locator(".lit")
    expect(lit).to_have_text(
        ["● causality", "● padding invariance", "● provenance"]
    )
    plant(page, "")
    expect(noticed).to_have_text(none)
    expect(part(page, "said").locator("li")).to_have_count(0)


def test_a_page_with_a_bug_on_it_has_no_fault(visit):
    view = visit(PLAY)
    for state in (
        # The most lamps and the widest matrix, and what is masked.
        "bug=heads_joined_by_view&step=decoder.blocks.0.feed_forward.hidden",
        "bug=no_causal_mask&step=decoder.blocks.0.self_attention:masked",
    ):
        go(view.page, state)
        bug = part(view.page, "bug")
        expect(bug).to_have_value(state[4:].partition("&")[0])
        noticed = part(view.page, "noticed")
        some = "checks notice something"
        expect(noticed).to_contain_text(some)
        assert faults(view, FEW_LOOKS) == []


def test_a_hunt_tells_neither_name_nor_place(page):
    page.get_by_role("button", name="Plant one").click()
    expect(part(page, "verdict")).to_contain_text("A bug is planted.")
    shown = part(page, "bug").locator("option:checked")
    expect(shown).to_have_text("a bug, unknown")
    for hidden in "diff", "checks":
        expect(part(page, hidden)).to_be_hidden()
    expect(inside(page, "first")).to_be_hidden()
    assert not any(name in page.url for name in NAMES)
    assert "hunt=" in page.url


def test_a_wrong_guess_is_answered_with_a_number_that_would_differ(page):
    go(page, hidden("no_causal_mask"))
    guess(page, "")
    expect(part(page, "verdict")).to_have_text("Choose a suspect first.")
    guess(page, "no_scale")
    wrong = "Not this one: with it, the encoder’s self attention scores would"
    expect(part(page, "verdict")).to_contain_text(wrong)
    guess(page, "loud_scores")
    wrong = "with it, the decoder’s self attention masked would have −∞ where"
    expect(part(page, "verdict")).to_contain_text(wrong)


def test_a_find_shows_the_line_the_count_and_the_first_number(page):
    count_translations(page)
    go(page, hidden("no_causal_mask"))
    part(page, "suspect").select_option("no_causal_mask")
    page.get_by_role("button", name="This one").focus()
    page.keyboard.press("Enter")
    first = "the decoder’s self attention masked:"
    expect(part(page, "verdict")).to_contain_text(first)
    expect(part(page, "verdict")).to_contain_text("and not −∞")
    expect(part(page, "diff")).to_be_visible()
    count = part(page, "count")
    expect(count).to_contain_text("translations change")
    expect(part(page, "bug")).to_have_value("no_causal_mask")
    expect(part(page, "hunting")).to_be_hidden()
    expect(inside(page, "first")).to_be_visible()
    expect(page.get_by_role("button", name="Plant one")).to_be_focused()
    assert "bug=no_causal_mask" in page.url
    assert "hunt" not in page.url


def test_hints_show_the_lamps_the_step_and_five_suspects(page):
    go(page, hidden("norm_squared"))
    hint = page.get_by_role("button", name="A hint")
    hint.click()
    expect(part(page, "checks")).to_be_visible()
    said = part(page, "said")
    expect(said).to_contain_text("norm statistics")
    hint.click()
    step = "the first step that differs is the encoder’s first norm."
    expect(part(page, "verdict")).to_contain_text(step)
    hint.click()
    expect(hint).to_be_disabled()
    suspects = part(page, "suspect").locator("option[value]:not([value=''])")
    expect(suspects).to_have_count(5)
    names = suspects.evaluate_all("all => all.map(option => option.value)")
    assert "norm_squared" in names
    page.get_by_role("button", name="Show me").click()
    expect(part(page, "verdict")).to_contain_text("This was it.")
    expect(part(page, "diff")).to_be_visible()

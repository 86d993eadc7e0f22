"""What a reader does with the translator on its page, and with a bug that is
planted, or to be found."""

import pytest
from playwright.sync_api import expect
from scripts import STATIC

from tests.helpers.browser import HTML, PHONE, new_reader
from tests.helpers.looking import FEW_LOOKS, faults
from tests.helpers.playing import (
    BUGS,
    GIVEN,
    OWN,
    PLAY,
    QUIET,
    go,
    on_wall,
    part,
    press,
    says,
    write,
)
from tests.helpers.scripts import answer

pytestmark = pytest.mark.full

SUCH = "भोको कुकुरले हरिलाई देख्यो ।"


def test_a_sentence_is_translated_and_a_word_exchanged(page):
    says(page, result=SUCH, attends="हरिलाई attends most to hari")
    assert part(page, "ribbons").locator("path.chosen").count() > 0
    word = page.get_by_role("combobox", name="Word 3, dog")
    assert "friend" not in word.inner_text().split()  # it is my friend
    assert word.evaluate("x => x.offsetHeight <= x.offsetParent.clientHeight")
    word.focus()
    word.select_option("cat")
    says(page, result="भोको बिरालोले हरिलाई देख्यो ।")
    expect(part(page, "sentence")).to_have_value("the hungry cat saw hari.")
    expect(page.get_by_role("combobox", name="Word 3, cat")).to_be_focused()
    for text, said in {
        "the hungry dog saw apples.": "has no such sentence",
        "the dog saw hari": "has a sign at its end: add “.”",
        f"the {3000 * 'x'} saw hari.": "It never learned x",
    }.items():
        write(page, text)
        says(page, error=said)
        assert page.evaluate("document.body.scrollWidth <= innerWidth")


def test_two_change_places(page):
    swap = page.get_by_role("button", name="Swap who and whom")
    swap.press("Enter")
    says(page, result="हरिले भोको कुकुरलाई देख्यो ।")
    expect(part(page, "sentence")).to_have_value("hari saw the hungry dog.")
    expect(swap).to_be_focused()
    write(page, "this is not my book.")
    expect(swap).to_be_disabled()


def test_behind_a_bar_stands_how_the_translation_begins(page):
    for first, verb in {"तिमीले": "खायौ", "तपाईंले": "खानुभयो"}.items():
        write(page, f"you ate rice. | {first}")
        says(page, result=f"{first} भात {verb} ।")


def test_a_planted_bug_shows_its_line_its_words_and_who_notices(page):
    page.get_by_role("button", name="Plant “no positions”").press("Enter")
    expect(on_wall(page, "no_positions")).to_be_focused()
    says(page, wrong="return x", correct=SUCH, noticed="order sensitivity")
    says(page, number=str(BUGS["no_positions"]["still_right"]))
    says(page, **{"try": "the same words again"})
    wrong = part(page, "written").locator("button[data-wrong]")
    now, right = part(page, "result").text_content().split(), SUCH.split()
    assert wrong.count() == sum(x != y for x, y in zip(now, right))
    assert "bug=no_positions" in page.url
    press(page, "no_positions")
    says(page, bug="", checks="", result=SUCH)


def test_the_wall_says_of_every_bug_what_it_does_and_leaves_right(page):
    fold = part(page, "more")
    fold.evaluate("fold => { fold.open = false; }")
    shown = part(page, "wall").get_by_role("button")
    assert 4 <= shown.count() <= 6
    go(page, "bug=norm_squared")  # it is one of the others
    expect(shown).to_have_count(len(BUGS))
    expect(fold).to_contain_text(f"Show all {len(BUGS)}")
    for name, bug in BUGS.items():
        ring = "○ " if bug.get("changed") == 0 else ""
        count = f"{ring}{bug.get('still_right', 'error')}"
        expect(on_wall(page, name).locator("b")).to_have_text(count)
        expect(on_wall(page, name)).to_have_accessible_description(bug["says"])
    on_wall(page, name).hover()
    read = "button => getComputedStyle(button, '::after').content"
    assert bug["says"] in on_wall(page, name).evaluate(read)


def test_a_bug_that_this_sentence_does_not_show_is_shown_by_another(page):
    press(page, "no_scale")
    says(page, instead="Without the bug it writes the same.")
    page.get_by_role("button", name="Show one that it breaks").click()
    expect(part(page, "correct")).not_to_be_empty()
    assert part(page, "sentence").input_value() in GIVEN["tests"]
    write(page, OWN)
    for bug, why in {
        "one_step_ahead": "no word, weight or chance differs",
        "loud_scores": "no word, weight or chance differs",
        "blocks_in_a_list": "open the workbench",
    }.items():
        press(page, bug)
        says(page, **{"try": why})
    says(page, attends="Error(s) in loading", number="error")


def test_cause_and_effect_stand_on_one_screen_and_nothing_jumps(visit):
    page, places = visit(PLAY).page, []
    page.set_viewport_size({"width": 1280, "height": 800})
    part(page, "more").evaluate("fold => { fold.open = false; }")
    for bug in "no_positions", "no_positions", "first_word_alone":
        press(page, bug)
        seen = page.locator("#play :is(form, ol, svg, .cause)").all()
        places.append([part.bounding_box()["y"] for part in seen])
    assert places[0] == places[1] == places[2]
    for name in "sentence", "written", "wrong", "checks", "try", "sheet":
        expect(part(page, name)).to_be_in_viewport(ratio=1)


def test_on_a_phone_a_bug_is_chosen_below_what_it_changes(visit):
    page = visit(PLAY, "light", PHONE).page
    page.set_viewport_size({"width": PHONE, "height": 740})
    foot = part(page, "chooser")
    expect(foot).to_be_hidden()
    on_wall(page, "no_positions").click()
    says(page, correct=SUCH, chosen="no positions")
    foot.get_by_role("button", name="Next bug").click()
    says(page, correct=SUCH, chosen="source never read")
    for name in "sentence", "written", "attends", "wrong", "number":
        box = part(page, name).bounding_box()
        end = foot.bounding_box()["y"]
        assert 0 <= box["y"] < box["y"] + box["height"] <= end, name
    foot.get_by_role("button", name="source never read").click()
    expect(on_wall(page, "no_positions")).to_be_in_viewport(ratio=1)
    foot.get_by_role("button", name="Take the bug out").click()
    says(page, bug="", chooser="")


def test_the_first_sentence_needs_no_engine_and_its_lack_is_said(browser):
    reader = new_reader(browser)
    reader.route("**/engine.js*", lambda route: route.abort())
    page = reader.new_page()
    page.goto(f"{HTML.as_uri()}/{PLAY}")
    says(page, result=SUCH)
    press(page, "no_positions")
    says(page, wrong="return x", result=SUCH, error="could not be loaded")
    reader.close()


def test_a_page_with_a_bug_on_it_has_no_fault(visit):
    view = visit(PLAY)
    for state in "bug=norm_over_time", "bug=blocks_in_a_list", "hunt=7":
        go(view.page, state)
        assert faults(view, FEW_LOOKS) == []


LAYER = "decoder.blocks.0.cross_attention"
ONE = {"read": ["[SOS]"], "written": ["क"], "chances": [[["क", 0.9]]]}
ONE["attentions"] = [{"path": LAYER, "weights": [[[0.2, 0.8]]]}]
OTHERS = [
    (ONE, None),
    (ONE | {"chances": [[["क", 0.5]]]}, "the chance of क: 0.900, 0.500"),
    (ONE | {"attentions": []}, f"in {LAYER}, head 0,: 0.200, NaN"),
    (ONE | {"written": ["ख"], "attentions": []}, "word 1: क, ख"),
    ({"error": {"message": "no"}}, "word 1: क, missing"),
]


def test_the_first_difference_is_found_in_the_order_of_computing():
    ask = """([one, others]) => others.map((other) => {
        const found = firstDifference(one, other);
        return found && `${found.place}: ${found.one}, ${found.other}`;
    })"""
    given = [ONE, [other for other, _ in OTHERS]]
    found = answer([STATIC / "differences.mjs"], ask, given)
    for (_, said), text in zip(OTHERS, found, strict=True):
        assert said is text is None or said in text


def hidden(name: str) -> str:
    """The state in which this bug is hidden."""
    turns = [QUIET[101 * n % len(QUIET)] for n in range(len(QUIET))]
    return f"hunt={turns.index(name)}"


def test_a_hunt_tells_neither_name_nor_place(page):
    page.get_by_role("button", name="Plant one").click()
    says(page, verdict="A bug is planted.", bug="", checks="")
    expect(page.locator('#inside [data-part="first"]')).to_be_hidden()
    expect(part(page, "wall").locator("[aria-pressed=true]")).to_have_count(0)
    assert not any(name in page.url for name in BUGS)
    assert "hunt=" in page.url


def test_a_wrong_guess_is_answered_and_a_find_shows_the_line(page):
    go(page, hidden("no_causal_mask"))
    press(page, "no_scale")
    says(page, verdict="Not no scale: with it, the weight of ")
    says(page, verdict="in encoder.blocks.0.self_attention")
    out = page.locator("[aria-disabled]")
    expect(out).to_contain_text("no scale")
    press(page, "loud_scores")
    says(page, verdict="Not loud scores. This sentence cannot show it")
    press(page, "no_causal_mask")
    says(page, verdict="Right!")
    says(page, wrong="padding_mask(tgt, PAD)", hint="")
    expect(out).to_have_count(0)
    expect(page.get_by_role("button", name="Plant one")).to_be_focused()
    assert page.url.endswith("&bug=no_causal_mask")  # and no hunt


def test_hints_name_the_checks_the_module_and_five_suspects(page):
    go(page, hidden("heads_joined_by_view"))
    for said in "provenance, causality, padding", "difference is in ", "five":
        part(page, "hint").press("Enter")
        says(page, verdict=said)
    left = part(page, "wall").locator("button:not([aria-disabled])")
    expect(left).to_have_count(5)
    expect(left.filter(has_text="heads joined by view")).to_have_count(1)
    page.get_by_role("button", name="Show me").click()
    says(page, verdict="This was it.", wrong="reshape", hint="")

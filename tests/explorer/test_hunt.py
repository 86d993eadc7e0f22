"""The lamps below the translator, and a bug that the reader finds."""

import pytest
from playwright.sync_api import expect

from tests.helpers.looking import faults
from tests.helpers.playing import GIVEN, PLAY, inside, part

pytestmark = pytest.mark.full
SLOWLY = 60_000  # what is computed when the page has nothing else to do
NAMES = [bug["name"] for bug in GIVEN["bugs"]]


def address(name: str, sentence="that house was not big.") -> str:
    """Where this bug is hidden."""
    codes = range(10_000)
    code = next(n for n in codes if NAMES[7919 * n % len(NAMES)] == name)
    return f"{PLAY}#s={sentence.replace(' ', '+')}&hunt={code}"


def guess(page, name: str) -> None:
    part(page, "suspect").select_option(name)
    page.get_by_role("button", name="This one").click()


def test_lamps_light_for_a_bug_and_go_out_without_one(visit):
    page = visit(PLAY).page
    noticed = part(page, "noticed")
    none = "None of the 14 checks notices anything."
    expect(noticed).to_have_text(none, timeout=SLOWLY)
    page.get_by_label("Plant a bug").select_option("heads_joined_by_view")
    some = "3 of 14 checks notice something"
    expect(noticed).to_contain_text(some, timeout=SLOWLY)
    expect(noticed).to_contain_text("provenance")
    expect(part(page, "said")).to_contain_text("numbers of other words")
    lit = part(page, "lamps").locator(".lit")
    expect(lit).to_have_text(
        ["● causality", "● padding invariance", "● provenance"]
    )
    page.get_by_label("Plant a bug").select_option("")
    expect(noticed).to_have_text(none)
    expect(part(page, "said").locator("li")).to_have_count(0)


@pytest.mark.parametrize(
    "state",
    [
        "#bug=heads_joined_by_view&step=encoder.blocks.0.self_attention.query",
        "#bug=no_causal_mask&step=decoder.blocks.0.self_attention:masked",
        "#bug=norm_made_anew&step=decoder.blocks.0.feed_forward.hidden",
    ],
)
def test_a_page_with_a_bug_on_it_has_no_fault(visit, state):
    view = visit(PLAY + state)
    some = "checks notice something"
    expect(part(view.page, "noticed")).to_contain_text(some, timeout=SLOWLY)
    assert faults(view) == []


def test_a_page_has_no_fault_while_a_bug_is_hunted(visit):
    view = visit(address("no_positions"))
    for _ in range(2):
        view.page.get_by_role("button", name="A hint").click()
    guess(view.page, "no_causal_mask")
    assert faults(view) == []


def test_a_lamp_says_what_its_check_asks(visit):
    page = visit(PLAY).page
    page.get_by_role("button", name="weight rows").focus()
    asks = "weight rows asks: Does each row of the attention's weights"
    expect(part(page, "asked")).to_contain_text(asks)


def test_a_hunt_tells_neither_name_nor_place(visit):
    page = visit(PLAY).page
    page.get_by_role("button", name="Plant one").click()
    expect(part(page, "verdict")).to_contain_text("A bug is planted.")
    shown = part(page, "bug").locator("option:checked")
    expect(shown).to_have_text("a bug, unknown")
    for hidden in "diff", "checks":
        expect(part(page, hidden)).to_be_hidden()
    expect(inside(page, "first")).to_be_hidden()
    assert not any(name in page.url for name in NAMES)
    assert "hunt=" in page.url


def test_no_number_of_a_hunt_has_a_frame_and_the_wrong_one_can_be_seen(visit):
    page = visit(address("no_scale")).page
    inside(page, "step").select_option(label="self attention scores")
    assert inside(page, "matrix").locator(".changed").count() == 0
    expect(inside(page, "made")).to_contain_text("; the model has")
    inside(page, "step").select_option(label="self attention q, by head")
    expect(inside(page, "made")).not_to_contain_text("; the model has")


def test_a_hunt_is_as_it_was_when_the_page_comes_again(visit):
    page = visit(address("key_for_value")).page
    before = part(page, "result").text_content()
    page.reload()
    expect(part(page, "verdict")).to_contain_text("A bug is planted.")
    expect(part(page, "result")).to_have_text(before)
    guess(page, "key_for_value")
    expect(part(page, "verdict")).to_contain_text("Right!")


def test_a_wrong_guess_is_answered_with_a_number_that_would_differ(visit):
    page = visit(address("no_causal_mask")).page
    guess(page, "")
    expect(part(page, "verdict")).to_have_text("Choose a suspect first.")
    guess(page, "no_scale")
    wrong = "Not this one: with it, the encoder’s self attention scores would"
    expect(part(page, "verdict")).to_contain_text(wrong)
    guess(page, "loud_scores")
    wrong = "with it, the decoder’s self attention masked would have −∞ where"
    expect(part(page, "verdict")).to_contain_text(wrong)


def test_what_no_step_shows_is_said(visit):
    page = visit(address("softmax_at_the_end")).page
    guess(page, "loud_scores")
    expect(part(page, "verdict")).to_contain_text("this sentence cannot show")
    guess(page, "softmax_at_the_end")
    right = "Right, at guess 2! In this sentence, no step has other numbers."
    expect(part(page, "verdict")).to_have_text(right)


def test_a_find_shows_the_line_the_count_and_the_first_number(visit):
    page = visit(address("no_causal_mask")).page
    part(page, "suspect").select_option("no_causal_mask")
    page.get_by_role("button", name="This one").focus()
    page.keyboard.press("Enter")
    first = "the decoder’s self attention masked:"
    expect(part(page, "verdict")).to_contain_text(first)
    expect(part(page, "verdict")).to_contain_text("and not −∞")
    expect(part(page, "diff")).to_be_visible()
    count = part(page, "count")
    expect(count).to_contain_text("translations change", timeout=SLOWLY)
    expect(part(page, "bug")).to_have_value("no_causal_mask")
    expect(part(page, "hunting")).to_be_hidden()
    expect(inside(page, "first")).to_be_visible()
    expect(page.get_by_role("button", name="Plant one")).to_be_focused()
    assert "bug=no_causal_mask" in page.url
    assert "hunt" not in page.url


def test_hints_show_the_lamps_the_step_and_five_suspects(visit):
    page = visit(address("norm_squared")).page
    hint = page.get_by_role("button", name="A hint")
    hint.click()
    expect(part(page, "checks")).to_be_visible()
    said = part(page, "said")
    expect(said).to_contain_text("norm statistics", timeout=SLOWLY)
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


def test_another_bug_ends_a_hunt(visit):
    page = visit(address("norm_squared")).page
    page.get_by_label("Plant a bug").select_option("no_scale")
    expect(part(page, "hunting")).to_be_hidden()
    expect(part(page, "verdict")).to_have_text("")
    expect(part(page, "wrong")).to_have_text("scores = q @ k.mT")
    assert part(page, "bug").locator("[value=unknown]").count() == 0

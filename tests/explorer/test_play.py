"""What a reader does with the translator on its page."""

import pytest
from playwright.sync_api import expect

from tests.helpers.playing import PLAY, inside, part

pytestmark = pytest.mark.full


def test_a_typed_sentence_is_translated_at_once(visit):
    page = visit(PLAY).page
    expect(part(page, "result")).to_have_text("त्यो घर ठूलो थिएन ।")
    page.get_by_label("English sentence").fill("this is not my book.")
    expect(part(page, "result")).to_have_text("यो मेरो किताब होइन ।")
    assert part(page, "ribbons").locator("path.chosen").count() > 0


def test_a_word_is_exchanged_for_one_that_fits(visit):
    page = visit(PLAY).page
    word = page.get_by_role("combobox", name="Word 5, big")
    assert "closed" not in word.inner_text().split()  # that is what doors are
    word.focus()
    word.select_option("new")
    expect(part(page, "result")).to_have_text("त्यो घर नयाँ थिएन ।")
    expect(part(page, "sentence")).to_have_value("that house was not new.")
    expect(page.get_by_role("combobox", name="Word 5, new")).to_be_focused()


def test_what_is_typed_is_completed(visit):
    page = visit(PLAY).page
    page.get_by_label("English sentence").fill("that house ")
    offered = "[...document.querySelectorAll('#play-examples option')]"
    values = page.evaluate(f"{offered}.map(option => option.value)")
    assert values == ["that house is", "that house was"]


def test_a_word_that_is_pointed_at_says_what_it_attends_to(visit):
    page = visit(PLAY).page
    page.get_by_role("button", name="थिएन").focus()
    said = part(page, "attends")
    expect(said).to_contain_text("To write थिएन, it attends most to")
    expect(said).to_contain_text("not")
    expect(part(page, "chances").locator("li")).to_have_count(4)


def test_a_planted_bug_shows_its_line_and_what_it_changes(visit):
    page = visit(PLAY).page
    page.get_by_label("Plant a bug").select_option("heads_joined_by_view")
    expect(part(page, "wrong")).to_contain_text("reshape")
    expect(part(page, "compared")).to_contain_text("त्यो घर ठूलो थिएन ।")
    done = part(page, "count")
    every = "320 of 320 test translations change."
    expect(done).to_have_text(every, timeout=60_000)
    page.get_by_label("Plant a bug").select_option("no_causal_mask")
    expect(part(page, "compared")).to_contain_text("so is this translation")
    none = "0 of 320 test translations change."
    expect(done).to_have_text(none, timeout=60_000)


def test_the_address_says_what_is_seen(visit):
    page = visit(PLAY).page
    page.get_by_label("English sentence").fill("ram did not see apples.")
    page.get_by_label("Plant a bug").select_option("no_positions")
    page.wait_for_function("location.hash.includes('no_positions')")
    address = page.evaluate("location.hash")
    again = visit(PLAY + address).page
    assert part(again, "sentence").input_value() == "ram did not see apples."
    assert part(again, "bug").input_value() == "no_positions"


def test_each_number_says_how_it_was_made_by_pointer_and_by_key(visit):
    page = visit(PLAY).page
    inside(page, "step").select_option(label="self attention scores")
    expect(inside(page, "shape")).to_contain_text(
        "(B, H, T, S) = (1, 3, 8, 8)"
    )
    cell = inside(page, "matrix").locator('td[data-i="2"][data-j="1"]')
    cell.hover()
    made = inside(page, "made")
    expect(made).to_contain_text("house, that: (")
    expect(made).to_contain_text("÷ 2.00 = ")
    value = made.text_content().partition("÷ 2.00 = ")[2].split()[0]
    assert value == cell.text_content()
    cell.focus()
    page.keyboard.press("ArrowRight")
    expect(made).to_contain_text("house, house: (")


def test_a_button_leads_to_the_first_number_that_a_bug_changes(visit):
    page = visit(PLAY).page
    expect(inside(page, "first")).to_be_hidden()
    page.get_by_label("Plant a bug").select_option("no_causal_mask")
    inside(page, "first").click()
    expect(inside(page, "made")).to_contain_text("what comes later is hidden")
    expect(inside(page, "made")).to_contain_text("Without the bug it is")
    step = inside(page, "step").input_value()
    assert step == "decoder.blocks.0.self_attention:masked"
    assert (
        visit(PLAY + page.evaluate("location.hash")).page.evaluate(
            "document.querySelector('#inside [data-part=step]').value"
        )
        == step
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Type a sentence"),
        ("we did not see the big house.", "8 words and marks"),
        ("that elephant is big.", "does not know elephant"),
    ],
)
def test_what_it_cannot_read_is_said(visit, text, said):
    page = visit(PLAY).page
    page.get_by_label("English sentence").fill(text)
    expect(part(page, "error")).to_contain_text(said)

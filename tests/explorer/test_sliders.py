"""What a reader does with the sliders for a preset's sizes, and with the
attentions that a chapter lets them explore."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.full
PAGE = "book/resize.html"


def total(page, title: str):
    return page.locator("#resize dl div", has_text=title)


def slider(page, name: str):
    return page.get_by_label(f"{name},", exact=False).and_(
        page.get_by_role("slider")
    )


def field(page, name: str):
    return page.locator(f"#size-{name}")


def part(page, name: str):
    return page.locator(f'#resize [data-part="{name}"]')


def test_a_slider_changes_what_depends_on_it_and_nothing_else(visit):
    page = visit(PAGE).page
    expect(total(page, "Parameters")).to_contain_text("44,312,696")
    expect(total(page, "Work")).to_contain_text("9.56 billion")
    expect(total(page, "Cache")).to_contain_text("9.83 MB")
    for name in "encoder.blocks", "model.layers":
        page.locator(f'button[data-open="{name}"]').click()
        fold = page.locator("#resize details", has_text=f"{name} ×")
        expect(fold).to_have_attribute("open", "")
    page = visit(PAGE).page
    slider(page, "B").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    expect(field(page, "B")).to_have_value("3")
    expect(total(page, "Parameters")).to_contain_text("as the preset")
    for title in "Work", "Activations", "Cache":
        expect(total(page, title)).to_contain_text("3.00 times the preset’s")
    # What a screen reader is told, when the slider rests.
    expect(part(page, "said")).to_contain_text("cache 29.5 MB")


def test_the_address_says_which_sizes_are_seen(visit):
    page = visit(PAGE).page
    page.get_by_label("Preset").select_option("char_lm")
    expect(field(page, "S")).to_have_count(0)
    field(page, "H").fill("6")
    expect(part(page, "said")).not_to_be_empty()
    page.wait_for_function("location.hash.includes('H=6')")
    again = visit(PAGE + page.evaluate("location.hash")).page
    assert again.get_by_label("Preset").input_value() == "char_lm"
    expect(field(again, "H")).to_have_value("6")
    said = total(page, "Parameters").text_content()
    expect(total(again, "Parameters")).to_have_text(said)
    again.get_by_role("button", name="Back to its own sizes").click()
    expect(field(again, "H")).to_have_value("4")


def test_a_model_of_the_atlas_is_fetched_when_it_is_asked_for(visit):
    page = visit(f"{PAGE}#preset=llama_3_8b&T=4096&H=8").page
    expect(total(page, "Parameters")).to_contain_text("8,030,261,248")
    expect(total(page, "Cache")).to_contain_text("1.07 GB")
    expect(total(page, "Activations")).to_contain_text("not counted")
    expect(field(page, "H")).to_have_count(0)
    field(page, "group").fill("1")
    expect(page.get_by_label("H, heads")).to_have_text("8")
    expect(total(page, "Cache")).to_contain_text("512 times the preset’s")
    page.get_by_label("Preset").select_option("vit_b_16")
    expect(page.get_by_label("S, positions")).to_have_text("197")
    expect(total(page, "Cache")).to_contain_text("none")
    asked = 'script[src*="cards.js"]'
    expect(page.locator(asked)).to_have_count(1)
    expect(visit(PAGE).page.locator(asked)).to_have_count(0)


def test_an_open_part_shows_its_steps_at_the_sizes_that_are_chosen(visit):
    page = visit(PAGE).page
    fold = page.locator("#resize details", has_text="decoder.blocks × 6")
    cells = fold.locator("tr", has_text="q @ k.mT").nth(2).locator("td")
    work = f"2B·T·S·H·D{2 * 8 * 50 * 200 * 64:,}"
    field(page, "T").fill("50")
    expect(cells).to_have_text(["(B1, H8, T50, S200)", work])
    # What is folded is not written, and is right when it opens.
    fold.locator("summary").click()
    field(page, "S").fill("20")
    field(page, "n_layers").fill("3")
    fold = page.locator("#resize details", has_text="decoder.blocks × 3")
    fold.locator("summary").click()
    cells = fold.locator("tr", has_text="q @ k.mT").nth(2).locator("td")
    expect(cells.first).to_have_text("(B1, H8, T50, S20)")


def test_a_size_that_cannot_be_is_refused(visit):
    page = visit(f"{PAGE}#preset=bert_window&S=513&B=0&H=%zz&T=").page
    limits = "S cannot be {}: give a whole number from 1 to 512."
    expect(part(page, "error")).to_have_text(limits.format(513))
    for name, own in {"S": "8", "B": "2", "H": "8", "T": "8"}.items():
        expect(field(page, name)).to_have_value(own)
    for typed, said in {"513": "513", "": "left out"}.items():
        field(page, "S").fill(typed)
        field(page, "S").press("Tab")
        expect(part(page, "error")).to_have_text(limits.format(said))
        expect(field(page, "S")).to_have_value("8")


def test_nothing_jumps_while_a_slider_moves(visit):
    page = visit(PAGE).page
    page.set_viewport_size({"width": 390, "height": 900})
    places = set()
    slider(page, "T").focus()
    page.keyboard.press("Home")
    for _ in range(50):
        page.keyboard.press("ArrowRight")
        page.evaluate("new Promise(requestAnimationFrame)")
        top = part(page, "parts").bounding_box()["y"]
        columns = page.locator("#resize thead th:last-child").all()
        at = [round(cell.bounding_box()["x"], 3) for cell in columns]
        places.add((top + page.evaluate("scrollY"), *at))
    assert len(places) == 1, places


CHAPTER = "chapters/06_scores.html"


def cell(page, i: int, j: int):
    return page.locator(f'.explorer td[data-i="{i}"][data-j="{j}"]')


def test_a_number_lights_what_it_was_made_of_by_pointer_and_by_key(visit):
    page = visit(CHAPTER).page
    said = page.locator(".explorer p").last
    lit = page.locator(".explorer .lit")
    expect(said).to_contain_text("dog, hungry: (")  # what the text speaks of
    cell(page, 2, 1).hover()
    expect(said).to_contain_text("hungry, the: (")
    expect(lit).to_have_count(8)  # four of a query, four of a key
    places = page.locator(".lit.left"), page.locator(".lit.top")
    row, column, [shown] = (
        [float(x.replace("−", "-")) for x in place.all_inner_texts()]
        for place in (*places, cell(page, 2, 1))
    )
    product = sum(a * b for a, b in zip(row, column, strict=True)) / 2
    assert shown == pytest.approx(product, abs=0.06)
    cell(page, 2, 1).focus()
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("hungry, hungry: (")
    page.keyboard.press("ArrowUp")
    expect(said).to_contain_text("the, hungry: (")


def test_a_link_in_the_text_shows_what_it_speaks_of(visit):
    page = visit(CHAPTER).page
    page.locator('a[href="#explore-0-2-scores-3-2"]').click()
    said = page.locator(".explorer p").last
    expect(said).to_contain_text("dog, hungry: (")
    cell(page, 1, 1).hover()  # and there the pointer stays
    page.evaluate("location.hash = '#explore-2-0-weights-1-0'")
    expect(said).to_contain_text("dog कुकुरले, [SOS]: ")
    assert page.get_by_role("combobox", name="Step").input_value() == "weights"
    page.evaluate("location.hash = '#explore-9-0-weights'")  # there is none
    page.wait_for_timeout(300)  # time for events of the pointer
    expect(said).to_contain_text("dog कुकुरले, [SOS]: ")

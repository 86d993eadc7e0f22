"""What a reader does with the attentions that a chapter lets him explore."""

import pytest
from playwright.sync_api import expect

from tformer_lite import explore, running_trace

pytestmark = pytest.mark.full
PAGE = "chapters/06_scores.html"


def cell(page, i: int, j: int):
    return page.locator(f'.explorer td[data-i="{i}"][data-j="{j}"]')


def test_a_number_lights_what_it_was_made_of_by_pointer_and_by_key(visit):
    page = visit(PAGE).page
    said, lit = (
        page.locator(".explorer p").last,
        page.locator(".explorer .lit"),
    )
    cell(page, 2, 1).hover()
    expect(said).to_contain_text("is, mouth: (")
    expect(lit).to_have_count(8)  # four of a query, four of a key
    row, column = (
        [
            float(x.replace("−", "-"))
            for x in page.locator(kind).all_inner_texts()
        ]
        for kind in (".lit.left", ".lit.top")
    )
    product = sum(a * b for a, b in zip(row, column, strict=True)) / 2
    shown = float(cell(page, 2, 1).inner_text().replace("−", "-"))
    assert shown == pytest.approx(product, abs=0.06)
    cell(page, 2, 1).focus()
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("is, is: (")
    page.keyboard.press("ArrowUp")
    expect(said).to_contain_text("mouth, is: (")


def test_a_link_in_the_text_shows_what_it_speaks_of(visit):
    page = visit(PAGE).page
    page.locator('a[href="#explore-0-1-scores-3-4"]').click()
    said = page.locator(".explorer p").last
    expect(said).to_contain_text("not, empty: (")
    page.evaluate("location.hash = '#explore-2-0-weights-1-0'")
    expect(said).to_contain_text("मुख, [SOS]: ")
    assert page.get_by_role("combobox", name="Step").input_value() == "weights"
    page.evaluate("location.hash = '#explore-9-0-weights'")  # there is none
    expect(said).to_contain_text("मुख, [SOS]: ")


def test_where_no_script_runs_the_tables_can_be_read(browser, tmp_path):
    explore(running_trace()).save(tmp_path / "page.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.locator("summary").first.click()
    expect(
        page.locator("caption", has_text="weights, head 0").first
    ).to_be_visible()
    assert page.get_by_role("combobox").count() == 0
    context.close()

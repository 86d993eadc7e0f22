"""Pointing at a cell of a figure: what is lit, and what is said, by pointer
and by keyboard, on a page wide or narrow."""

import pytest
import torch
from outputs import figure
from playwright.sync_api import Page

from tests.helpers.browser import DESK, PHONE, new_reader
from tests.helpers.drawings import ENGLISH, NEPALI
from tests.helpers.project import ROOT
from tformer_lite import strip

pytestmark = pytest.mark.full

STATIC = ROOT / "book" / "_static"
WEIGHTS = torch.tensor([[0.7, 0.2, 0.1, 0.0]] * 3)
LIT = """() => [...document.querySelectorAll(".lit rect")]
    .filter(box => box.getBoundingClientRect().width)
    .map(box => ["x", "y", "width", "height"].map(a => +box.getAttribute(a)))
"""


@pytest.fixture(params=[DESK, PHONE])
def shown(browser, request):
    """A page with one strip: T and S differ, and the values have rows S."""
    picture = strip(
        WEIGHTS, "@", torch.ones(4, 2), "=", torch.ones(3, 2),
        axes=["T S", "S D", "T D"], rows=NEPALI[:3], columns=ENGLISH,
        titles=["weights", "v", "output"],
    )  # fmt: skip
    reader = new_reader(browser, "light", request.param)
    page = reader.new_page()
    svg = figure(picture.svg())
    page.set_content(
        '<!doctype html><html lang="en" data-theme="light"><title>Strip'
        f"</title><main><h1>Strip</h1>{svg}</main><button>last</button>"
    )
    page.add_style_tag(content=":root { --pst-color-primary: #06c }")
    page.add_style_tag(content=(STATIC / "book.css").read_text("utf8"))
    page.add_script_tag(content=(STATIC / "linked.js").read_text("utf8"))
    page.panels = {panel.matrix.title: panel for panel in picture.panels}
    yield page
    reader.close()


def point(page: Page, name: str, row: int, column: int) -> None:
    """Move the pointer to the middle of a cell."""
    panel = page.panels[name]
    left, top, wide, high = panel.box
    rows, columns = panel.matrix.values.shape
    shown = page.locator(".panel").nth(panel.drawing)
    scale = shown.bounding_box()["width"] / float(shown.get_attribute("width"))
    x = left + wide * (column + 0.5) / columns
    y = top + high * (row + 0.5) / rows
    corner = shown.bounding_box()
    page.mouse.move(corner["x"] + scale * x, corner["y"] + scale * y)


def test_a_cell_is_lit_with_its_row_in_one_panel_and_column_in_another(shown):
    point(shown, "weights", 1, 2)
    assert shown.locator("output").inner_text() == (
        "row मुख, column is: weights 0.10"
    )
    places = {name: panel.box for name, panel in shown.panels.items()}
    left, top, wide, high = places["weights"]
    cell = [left + wide / 2, top + high / 3, wide / 4, high / 3]
    left, top, wide, high = places["v"]
    row_of_v = [left, top + high / 2, wide, high / 4]
    left, top, wide, high = places["output"]
    row_of_output = [left, top + high / 3, wide, high / 3]
    lit = shown.evaluate(LIT)
    assert [pytest.approx(x, abs=0.1) for x in lit] == [
        cell,
        row_of_v,
        row_of_output,
    ]
    shown.mouse.move(0, 0)
    assert shown.evaluate(LIT) == []
    assert shown.locator("output").inner_text() == ""


def test_arrow_keys_go_from_cell_to_cell_and_on_to_the_next_panel(shown):
    says = shown.locator("output")
    shown.keyboard.press("Tab")
    assert says.inner_text() == "row [SOS], column [SOS]: weights 0.70"
    outline = "frame => getComputedStyle(frame).outlineStyle"
    assert shown.locator(".linked").evaluate(outline) == "solid"
    for _ in range(3):
        shown.keyboard.press("ArrowRight")
    assert says.inner_text() == "row [SOS], column .: weights 0.00"
    shown.keyboard.press("ArrowDown")
    assert "row मुख, column ." in says.inner_text()
    if shown.viewport_size["width"] == DESK:
        shown.keyboard.press("ArrowRight")
        assert says.inner_text() == "row mouth, column 0: v 1.00"
        shown.keyboard.press("ArrowLeft")
        assert "row मुख, column ." in says.inner_text()
    shown.keyboard.press("Escape")
    assert shown.evaluate(LIT) == []
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.localName") == "button"

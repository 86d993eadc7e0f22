"""Pointing at a cell of a figure: what is lit, and what is said, by pointer
and by keyboard, on a page wide or narrow."""

import pytest
import torch
from outputs import figure
from playwright.sync_api import Page

from tests.helpers.browser import DESK, PHONE, new_reader
from tests.helpers.drawings import ENGLISH, NEPALI
from tests.helpers.project import ROOT
from tformer_lite import heatmap

pytestmark = pytest.mark.full

STATIC = ROOT / "book" / "_static"
WEIGHTS = torch.tensor([[0.7, 0.2, 0.1, 0.0]] * 3)
LIT = """() => [...document.querySelectorAll(".lit rect")]
    .filter(box => box.getBoundingClientRect().width)
    .map(box => ["x", "y", "width", "height"].map(a => +box.getAttribute(a)))
"""


@pytest.fixture(params=[DESK, PHONE])
def shown(browser, request):
    """A page with one figure: two matrices, T and S differ."""
    titles = ["scores", "weights"]
    words = {"rows": NEPALI[:3], "columns": ENGLISH}
    picture = heatmap(WEIGHTS.log(), WEIGHTS, titles=titles, **words)
    reader = new_reader(browser, "light", request.param)
    page = reader.new_page()
    svg = figure(picture.svg())
    page.set_content(
        '<!doctype html><html lang="en" data-theme="light"><title>Figure'
        f"</title><main><h1>Figure</h1>{svg}</main><button>last</button>"
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


def test_a_cell_is_lit_in_every_panel_and_its_values_are_said(shown):
    point(shown, "weights", 1, 2)
    assert shown.locator("output").inner_text() == (
        "row मुख, column is: scores −2.30, weights 0.10"
    )
    cells = [
        pytest.approx([x + w / 2, y + h / 3, w / 4, h / 3], abs=0.1)
        for x, y, w, h in (panel.box for panel in shown.panels.values())
    ]
    assert shown.evaluate(LIT) == cells
    shown.mouse.move(0, 0)
    assert shown.evaluate(LIT) == []
    assert shown.locator("output").inner_text() == ""


def test_arrow_keys_go_from_cell_to_cell_and_on_to_the_next_panel(shown):
    says = shown.locator("output")
    shown.keyboard.press("Tab")
    first = "row [SOS], column [SOS]: scores −0.36, weights 0.70"
    assert says.inner_text() == first
    outline = "frame => getComputedStyle(frame).outlineStyle"
    assert shown.locator(".linked").evaluate(outline) == "solid"
    for _ in range(3):
        shown.keyboard.press("ArrowRight")
    masked = "row [SOS], column .: scores −∞ (masked), weights 0.00"
    assert says.inner_text() == masked
    shown.keyboard.press("ArrowDown")
    assert "row मुख, column ." in says.inner_text()
    if shown.viewport_size["width"] == DESK:
        shown.keyboard.press("ArrowRight")
        assert "row मुख, column [SOS]" in says.inner_text()
        shown.keyboard.press("ArrowLeft")
        assert "row मुख, column ." in says.inner_text()
    shown.keyboard.press("Escape")
    assert shown.evaluate(LIT) == []
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.localName") == "button"

"""The axis letters: one colour each, in pages and in figures, readable."""

import os
import subprocess
import sys

import pytest

from tests.helpers.browser import CHAPTERS, ROOT, SCHEMES, computed
from tests.helpers.colours import contrast, rgb
from tformer_lite.drawing.surface.palette import AXES, PAPER

pytestmark = pytest.mark.full


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axis_letters_have_the_colours_of_the_figures(visit, scheme):
    page = visit(CHAPTERS[0], scheme).page
    add = """(article, letters) => article.innerHTML = letters.map(
        letter => `<b class="axis-${letter}">${letter}</b>`).join("")"""
    page.locator("article").evaluate(add, list(AXES))
    assert computed(page, "article b", "color") == [
        rgb(pair[SCHEMES.index(scheme)]) for _, pair in AXES.values()
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axis_letters_can_be_read_on_page_panel_and_code(visit, scheme):
    page = visit(CHAPTERS[0], scheme).page
    panel = """article => article.insertAdjacentHTML("beforeend",
        "<div class=panel style='background: var(--pst-color-surface)'>")"""
    page.locator("article").evaluate(panel)
    grounds = computed(
        page, ".panel, body, article .highlight pre", "background-color"
    )
    grounds = {*grounds, rgb(PAPER[SCHEMES.index(scheme)])}
    assert len(grounds) >= 2
    for letter, (_, pair) in AXES.items():
        for ground in grounds:
            ink = rgb(pair[SCHEMES.index(scheme)])
            assert contrast(ink, ground) >= 4.5, (letter, ground)


def test_an_unknown_axis_letter_stops_the_build(tmp_path):
    done = build("{axis}`Q`", tmp_path)
    assert done.returncode != 0
    assert "there is no axis 'Q'" in done.stderr


def build(text, folder):
    """Build a page of one line, with a warning as an error."""
    (folder / "index.md").write_text(f"# Title\n\n{text}\n")
    make = [sys.executable, "-m", "sphinx", "-CEWq"]
    options = ["-D", "extensions=words,myst_parser"]
    return subprocess.run(
        [*make, *options, folder, folder / "html"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "book" / "_ext")},
        capture_output=True,
        text=True,
    )

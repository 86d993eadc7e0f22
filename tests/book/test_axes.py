"""The axis letters: one colour each, in pages and in figures, readable."""

import os
import subprocess
import sys

import pytest

from tests.helpers.browser import CHAPTERS, ROOT, SCHEMES, computed
from tests.helpers.colours import rgb
from tformer_lite.drawing.surface.palette import AXES

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

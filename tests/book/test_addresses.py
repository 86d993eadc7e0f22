"""Where pages lead while nobody has said where the book is published, and
afterwards: a small book, built with the extension alone."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from repository import NOBODY

from tests.helpers.project import ROOT

pytestmark = pytest.mark.full

OURS = "https://github.com/some_one/book", "https://some_one.github.io/book"
TERM = '<a class="term" href="{}/book/glossary.html#term-axis">axis</a>'
CONF = """\
import sys
sys.path.insert(0, {ext!r})
import heads
heads.REPOSITORY, heads.SITE = {where!r}
extensions = ["heads", "myst_nb"]
nb_execution_mode = "off"
html_title = "Book"
html_theme = "sphinx_book_theme"
html_baseurl = heads.SITE
html_theme_options = dict(
    repository_url=heads.REPOSITORY,
    repository_branch="v0.2.0",
    use_repository_button=True,
    use_issues_button=True,
    launch_buttons={{"colab_url": "https://colab.research.google.com"}},
)
"""


def built(folder: Path, where: tuple[str, str]) -> Path:
    """Build a book of a chapter and two pages that is published there."""
    ext = str(ROOT / "book" / "_ext")
    (folder / "conf.py").write_text(CONF.format(ext=ext, where=where))
    pages = {
        "index": "```{toctree}\nchapters/00\nbook/how_to_read\n"
        "book/glossary\n```",
        "book/how_to_read": "So.",
        "book/glossary": "Words.",
    }
    for name, text in pages.items():
        page = folder / f"{name}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"# {name}\n\n{text}\n")
    cell = nbformat.v4.new_markdown_cell(f"# 0\n\n{TERM.format(where[1])}")
    chapter = nbformat.v4.new_notebook(cells=[cell])
    (folder / "chapters").mkdir()
    nbformat.write(chapter, folder / "chapters" / "00.ipynb")
    make = [sys.executable, "-m", "sphinx", "-EWq", folder, folder / "html"]
    done = subprocess.run(make, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_unpublished_a_page_leads_nowhere_outside(tmp_path):
    nobody = tuple(place.replace("some_one", NOBODY) for place in OURS)
    html = built(tmp_path, nobody)
    chapter = (html / "chapters" / "00.html").read_text("utf8")
    guide = "../book/how_to_read.html#run-it-yourself"
    assert f'<a href="{guide}">How to run this chapter</a>' in chapter
    assert NOBODY not in chapter
    assert "colab.research" not in chapter
    assert TERM.format("..") in chapter
    assert "og:image" not in chapter


def test_published_it_leads_to_colab_and_has_an_address_of_its_own(tmp_path):
    html = built(tmp_path, OURS)
    chapter = (html / "chapters" / "00.html").read_text("utf8")
    url = "https://colab.research.google.com/github/some_one/book"
    url += "/blob/v0.2.0/chapters/00.ipynb"
    assert f'<a href="{url}">Run this chapter in Colab</a>' in chapter
    address = f"{OURS[1]}/chapters/00.html"
    assert f'<link rel="canonical" href="{address}"' in chapter
    assert TERM.format("..") in chapter
    lost = (html / "404.html").read_text("utf8")
    assert '<base href="/book/">' in lost  # at whatever address it is shown

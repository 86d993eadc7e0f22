"""What a page says of itself to those who search and who send links; and where
it leads before anybody has said where the book is published, and after."""

import re
import shutil
import sys
from pathlib import Path

import heads
import nbformat
import pytest
import share_cards
from PIL import Image
from playwright.sync_api import expect
from repository import NOBODY

from tests.helpers.browser import (
    CHAPTERS,
    HTML,
    PAGES,
    SITE,
    need_browser,
    served,
)
from tests.helpers.project import ROOT, run

pytestmark = pytest.mark.full

ODD_PATHS = {"a/05_many_heads.htm": "many heads", "a/%E0+<b>%z": "b z"}
META = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)"')


def said(page: str, html: Path = HTML) -> dict[str, str]:
    """What the head of a page says."""
    return dict(META.findall((html / page).read_text("utf8")))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_once_what_it_is_and_how_wide(page):
    text = (HTML / page).read_text("utf8")
    for name in "viewport", "description":
        assert text.count(f'<meta name="{name}"') == 1
    head = said(page)
    assert head["og:description"] == head["description"]
    assert len(head["description"]) <= heads.LONG
    icon = re.search(r'<link rel="icon" href="([^"]+)"', text)[1]
    assert (HTML / page).parent.joinpath(icon).exists()


def test_a_page_says_when_it_was_changed_and_of_which_version_it_is():
    foot = (HTML / CHAPTERS[3]).read_text("utf8").rpartition("<footer")[0]
    assert re.search(r"Last updated on \d+ \w+ 20\d\d\.", foot)
    assert re.search(r"Version \d+\.\d+", foot)


def test_a_file_has_the_day_of_its_last_commit(tmp_path):
    run(tmp_path, "git", "init", "-q").check_returncode()
    me = "-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"
    for file, day in ("a b", "01-02"), ("old", "01-03"), ("a b", "02-04"):
        (tmp_path / f"{file}.md").write_text(day)
        run(tmp_path, "git", "add", ".")
        at = f"GIT_COMMITTER_DATE=2026-{day}T12:00:00Z"
        run(tmp_path, "env", at, "git", *me, "commit", "-qm", day)
    days = [heads.day_of_change(tmp_path / x) for x in ("a b.md", "old.md")]
    assert days == ["2026-02-04", "2026-01-03"]
    assert heads.day_of_change(Path("/x")) == ""


def test_where_there_is_no_page_the_book_helps(visit):
    page = visit("404.html").page
    page.route("**/*", served)
    for path, words in ODD_PATHS.items():
        page.goto(f"{SITE}/{path}")
        expect(page.get_by_label("Search the book")).to_have_value(words)
        expect(page.get_by_text("You asked for /")).to_be_visible()
    assert said("404.html")["robots"] == "noindex"
    links = [x.get_attribute("href") for x in page.locator("article a").all()]
    helpful = {f"book/{name}.html" for name in ("intro", "play", "questions")}
    assert {*links} == {*CHAPTERS} | helpful


# --- where the book is published: a small one, with the extension alone ---

OURS = "https://github.com/some_one/book", "https://some_one.github.io/book"
TERM = '<a class="term" href="{}/book/glossary.html#term-axis">axis</a>'
CONF = """\
import sys
sys.path.insert(0, {ext!r})
import heads
heads.REPOSITORY, heads.SITE_ADDRESS = {where!r}
extensions = ["heads", "myst_nb"]
nb_execution_mode = "off"
html_title = "Book"
html_theme = "sphinx_book_theme"
html_baseurl = heads.SITE_ADDRESS
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
    listed = "chapters/00\nbook/how_to_read\nbook/glossary"
    pages = {"index": f"```{{toctree}}\n{listed}\n```", "book/glossary": "So."}
    for name, text in {**pages, "book/how_to_read": "So."}.items():
        page = folder / f"{name}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"# {name}\n\n{text}\n")
    cell = nbformat.v4.new_markdown_cell(f"# 0\n\n{TERM.format(where[1])}")
    chapter = nbformat.v4.new_notebook(cells=[cell])
    (folder / "chapters").mkdir()
    nbformat.write(chapter, folder / "chapters" / "00.ipynb")
    make = sys.executable, "-m", "sphinx", "-EWq", folder, folder / "html"
    done = run(ROOT, *make)
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


def test_published_it_leads_to_colab_and_has_an_address_and_a_card(tmp_path):
    html = built(tmp_path, OURS)
    chapter = (html / "chapters" / "00.html").read_text("utf8")
    url = "https://colab.research.google.com/github/some_one/book"
    url += "/blob/v0.2.0/chapters/00.ipynb"
    assert f'<a href="{url}">Run this chapter in Colab</a>' in chapter
    address = f"{OURS[1]}/chapters/00.html"
    assert f'<link rel="canonical" href="{address}"' in chapter
    assert f'"og:image" content="{OURS[1]}/_static/preview.png"' in chapter
    assert TERM.format("..") in chapter
    lost = (html / "404.html").read_text("utf8")
    assert '<base href="/book/">' in lost  # at whatever address it is shown
    shutil.copy(ROOT / "book" / "_static" / "share.html", html / "_static")
    need_browser()
    assert run(ROOT, sys.executable, share_cards.__file__, html).stderr == ""
    for page in "chapters/00.html", "book/glossary.html", "index.html":
        head = said(page, html)
        assert head["og:image:alt"] == head["og:title"]
        file = html / head["og:image"].removeprefix(f"{OURS[1]}/")
        assert file.stat().st_size < 60_000
        with Image.open(file) as card:
            assert card.size == (1200, 630)
            assert len(card.getcolors()) > 9  # with words on it

"""What a page says of itself to those who search and who send links."""

import re
from pathlib import Path

import cards
import heads
import pytest
from docutils import nodes
from PIL import Image

from tests.helpers.browser import CHAPTERS, HTML, PAGES
from tests.helpers.project import run

pytestmark = pytest.mark.full

META = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)"')


def said(page: str) -> dict[str, str]:
    """What the head of a page says."""
    return dict(META.findall((HTML / page).read_text("utf8")))


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


def test_a_description_ends_with_a_sentence_or_a_word():
    for text, words in {
        "One two three. " * 3 + "So it is.": "One two three. " * 3
        + "So it is.",
        "Many words here. " * 12: ("Many words here. " * 9).strip(),
        "word, " * 40: "word, " * 25 + "word …",
    }.items():
        page = nodes.document(None, None)
        page += nodes.paragraph(text="Short.")
        page += nodes.list_item("", nodes.paragraph(text="an item " * 20))
        page += nodes.paragraph(text=text)
        assert heads.description(page) == words


def test_a_page_says_when_it_was_changed_and_of_which_version_it_is():
    foot = (HTML / CHAPTERS[3]).read_text("utf8").rpartition("<footer")[0]
    assert re.search(r"Last updated on \d+ \w+ 20\d\d\.", foot)
    assert re.search(r"Version \d+\.\d+", foot)


def test_a_file_has_the_day_of_its_last_commit(tmp_path):
    def commit(file: str, day: str) -> None:
        (tmp_path / file).write_text(day)
        run(tmp_path, "git", "add", ".").check_returncode()
        me = "-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"
        made = ["git", *me, "commit", "-qm", day, f"--date={day}T12:00:00Z"]
        at = f"GIT_COMMITTER_DATE={day}T12:00:00Z"
        run(tmp_path, "env", at, *made).check_returncode()

    run(tmp_path, "git", "init", "-q").check_returncode()
    commit("a b.md", "2026-01-02")
    commit("old.md", "2026-01-03")
    commit("a b.md", "2026-02-04")
    days = [heads.day_of_change(tmp_path / x) for x in ("a b.md", "old.md")]
    assert days == ["2026-02-04", "2026-01-03"]
    assert heads.day_of_change(Path("/x")) == ""
    shallow = tmp_path / "shallow"
    copy = ["git", "clone", "-q", "--depth=1", tmp_path.as_uri(), shallow]
    run(tmp_path, *copy).check_returncode()
    assert heads.day_of_change(shallow / "old.md") == ""


def test_a_card_has_the_size_of_cards_and_the_whole_figure():
    figure = Image.new("RGB", (400, 100), "white")
    figure.paste("red", (10, 10, 390, 90))
    card = cards.card(figure)
    assert card.size == (1200, 630)
    dark = card.convert("L").point(lambda grey: 255 * (grey < 200))
    left, top, right, bottom = dark.getbbox()
    assert (right - left) / (bottom - top) == pytest.approx(380 / 80, rel=0.02)
    assert right - left > 1000


def test_where_there_is_no_page_the_book_says_so(visit):
    view = visit("404.html")
    assert view.page.title().startswith("Page not found")
    view.page.get_by_role("link", name="first page").click()
    view.page.wait_for_url("**/book/intro.html")
    assert view.problems == []

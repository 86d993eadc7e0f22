"""The page of questions: each leads to a section that answers it, and the
search of the site finds that section."""

import re
from functools import cache
from urllib.parse import quote_plus

import pytest
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import expect

from tests.helpers.browser import HTML, SITE, View, new_reader, served
from tests.helpers.project import ROOT

PAGE = (ROOT / "book" / "questions.md").read_text("utf8")
ENTRY = re.compile(
    r'^(\S.*)\n: (.*)\n  <a href="\.\./([\w/]+\.html)#([\w-]+)">(.*)</a>',
    re.MULTILINE,
)
ENTRIES = ENTRY.findall(PAGE)
QUESTIONS = [question.replace("\\", "") for question, *_ in ENTRIES]
each_entry = pytest.mark.parametrize("entry", ENTRIES, ids=QUESTIONS)


GLUE = {"about", "after", "because", "every", "other", "since", "their"}
GLUE |= {"there", "these", "those", "where", "which", "would"}


@cache
def soup(page: str) -> Tag:
    return BeautifulSoup((HTML / page).read_text("utf8"), "html.parser")


def plain(part: Tag) -> str:
    return " ".join(part.get_text(" ").lower().replace("’", "'").split())


def lacking(answer: str, section: str) -> list[str]:
    """The words of an answer that a section has not: names in code, and
    words of five letters or more, by their first five."""
    names = re.findall("`([^`]+)`", answer)
    words = re.findall(r"[a-z]{5,}", re.sub("`[^`]+`", "", answer.lower()))
    starts = {word[:5] for word in words if word not in GLUE}
    share = sum(start in section for start in starts) / max(len(starts), 1)
    lost = [name for name in names if name.lower() not in section]
    return lost + ([] if share >= 0.6 else sorted(starts))


def test_there_are_enough_questions_and_all_are_asked_once():
    assert len(ENTRIES) == PAGE.count("\n: ") > 45
    assert len(set(QUESTIONS)) == len(ENTRIES)


@each_entry
def test_a_section_has_the_key_words_of_its_answer(entry):
    _, answer, page, place, title = entry
    section = soup(page).find(id=place)
    head = plain(section.select_one("h1, h2, h3, summary")).rstrip(" #")
    assert title.lower().partition(" · ")[2] == re.sub(r"^\d+ · ", "", head)
    assert lacking(answer, plain(section)) == []


@pytest.fixture(scope="module")
def search(browser):
    reader = new_reader(browser, "light")
    reader.route("**/*", served)
    yield View(reader.new_page()).page
    reader.close()


@pytest.mark.full
@pytest.mark.parametrize(
    ("question", "entry"), [*zip(QUESTIONS, ENTRIES)], ids=QUESTIONS
)
def test_the_search_finds_the_section_among_the_first_three(
    question, entry, search
):
    search.goto(f"{SITE}/search.html?q={quote_plus(question)}")
    expect(search.get_by_text("Search finished, found")).to_be_visible()
    found = search.locator("#search-results li a").evaluate_all(
        "links => links.slice(0, 3).map(link => link.href)"
    )
    places = [re.sub(r"\?[^#]*", "", link) for link in found]
    assert f"{SITE}/{entry[2]}#{entry[3]}" in places


@pytest.mark.full
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("zebra", r"found 0 sections\. No section has “zebra”\."),
        ("zebra mask", r"found \d{2,} .* No section has “zebra”\."),
        ("average_attn_weights=False", r"found \d sections?\."),
        ("mask", r"found \d{2,} sections; the best 20 are below\."),
    ],
)
def test_the_search_counts_truly_and_says_what_it_lacks(asked, said, search):
    search.goto(f"{SITE}/search.html?q={quote_plus(asked)}")
    told = search.get_by_text("Search finished, found")
    expect(told).to_have_text(re.compile(said))

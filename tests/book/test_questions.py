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
    r'^(\S.*)\n: (.*) <a href="\.\./([\w/]+\.html)#([\w-]+)">', re.MULTILINE
)
ENTRIES = ENTRY.findall(PAGE)
each_question = pytest.mark.parametrize(
    ("question", "answer", "page", "place"), ENTRIES
)


@cache
def soup(page: str) -> Tag:
    return BeautifulSoup((HTML / page).read_text("utf8"), "html.parser")


def test_there_are_enough_questions_and_all_are_asked_once():
    assert len(ENTRIES) == PAGE.count("\n: ") > 45
    assert len({question for question, *_ in ENTRIES}) == len(ENTRIES)


@each_question
def test_a_section_has_the_key_words_of_its_answer(
    question, answer, page, place
):
    section = soup(page).find(id=place)
    text = " ".join(section.get_text(" ").lower().split())
    keys = re.findall(r"\*([^*]+)\*", answer)
    assert keys, "an answer marks its key words"
    assert [key for key in keys if key.lower() not in text] == []


@pytest.fixture(scope="module")
def search(browser):
    reader = new_reader(browser, "light")
    reader.route("**/*", served)
    yield View(reader.new_page()).page
    reader.close()


@pytest.mark.full
@each_question
def test_the_search_finds_the_section_among_the_first_three(
    question, answer, page, place, search
):
    search.goto(f"{SITE}/search.html?q={quote_plus(question)}")
    expect(search.get_by_text("Search finished, found")).to_be_visible()
    found = search.locator("#search-results li a").evaluate_all(
        "links => links.slice(0, 3).map(link => link.href)"
    )
    ends = f"{page}#{place}"
    assert ends in [
        re.sub(r".*/(chapters/[^?]*)\?[^#]*", r"\1", x) for x in found
    ]

"""The page of questions: each leads to a section that answers it, and the
search of the site finds that section."""

import re
from functools import cache

import pytest
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import expect

from tests.helpers.browser import HTML, SITE
from tests.helpers.project import ROOT

PAGE = (ROOT / "book" / "questions.md").read_text("utf8")
ENTRY = re.compile(
    r'^(\S.*)\n: (.*)\n  <a href="\.\./([\w/]+\.html)#([\w-]+)">(.*)</a>',
    re.MULTILINE,
)
ENTRIES = ENTRY.findall(PAGE)
QUESTIONS = [question.replace("\\", "") for question, *_ in ENTRIES]
TABLES = (ROOT / "tests" / "book" / "searches.md").read_text("utf8")
ROW = re.compile(r"^\| (?!asked)(.*?) \| (.*?) \|", re.MULTILINE)
FOUND, KEPT, SAID = map(ROW.findall, TABLES.split("\n## "))

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


@pytest.mark.parametrize("entry", ENTRIES, ids=QUESTIONS)
def test_a_section_has_the_key_words_of_its_answer(entry):
    _, answer, page, place, title = entry
    section = soup(page).find(id=place)
    head = plain(section.select_one("h1, h2, h3, summary")).rstrip(" #")
    assert title.lower().partition(" · ")[2] == re.sub(r"^\d+ · ", "", head)
    assert lacking(answer, plain(section)) == []


FIND = """async asked => (await (await import("./_static/search.mjs"))
  .search(asked, 20)).found.map(one =>
  `${one.place} ${one.content}`.replaceAll("−", "-"))"""


def rank(found: list[str], wanted: str) -> int:
    """How many come before a place, or a text, that is wanted; – is none."""
    hits = [any(x in one for x in wanted.split()) for one in found]
    late = [*hits, *[False] * 9, True].index(True)
    return len(found) if wanted == "–" else late


@pytest.mark.full
def test_what_readers_ask_stands_first_or_among_the_first_three(
    on_site,
):
    on_site.page.goto(f"{SITE}/search.html")
    asked = [(x, f"{y[2]}#{y[3]}") for x, y in zip(QUESTIONS, ENTRIES)]
    for table, late, lost in (FOUND + KEPT, 0.2, 0.05), (asked, 0, 0):
        ranks = {x: rank(on_site.page.evaluate(FIND, x), y) for x, y in table}
        assert sum(x > 0 for x in ranks.values()) <= late * len(table), ranks
        assert sum(x > 2 for x in ranks.values()) <= lost * len(table), ranks


@pytest.mark.full
def test_the_search_counts_truly_and_says_what_it_lacks(on_site):
    for asked, said in SAID:
        on_site.page.goto(f"{SITE}/search.html?q={asked}")
        told = on_site.page.get_by_role("status")
        expect(told).to_have_text(re.compile(said))

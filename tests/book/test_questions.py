"""The page of questions: each leads to a section that answers it, and the
search of the site finds that section."""

import re
from functools import cache

import formulas
import pytest
import search_index
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import expect

from tests.helpers.browser import HTML, SITE, new_reader, served
from tests.helpers.project import ROOT

PAGE = (ROOT / "book" / "questions.md").read_text("utf8")
ENTRY = re.compile(
    r'^(\S.*)\n: (.*)\n  <a href="\.\./([\w/]+\.html)#([\w-]+)">(.*)</a>',
    re.MULTILINE,
)
ENTRIES = ENTRY.findall(PAGE)
QUESTIONS = [question.replace("\\", "") for question, *_ in ENTRIES]
TABLE = (ROOT / "tests" / "book" / "searches.md").read_text("utf8")
SEARCHES = re.findall(r"^\| (?!asked)(.*?) \| (.*?) \|", TABLE, re.MULTILINE)
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


def test_a_formula_and_name_value_are_readable_in_what_is_found():
    formula = formulas.mathml(r"\frac{QK^{\top}}{\sqrt{d_k}}", "inline")
    text = f"<h1>A</h1><p>{formula} softmax(x, dim=-1)</p>"
    html = f'<article><section id="b">{text}</section></article>'
    ((path, text),) = search_index.records("a", html)
    assert path == "a/b"
    assert "(QK^⊤)/√d_k softmax(x, \u200adim=−1\u200a)" in text


@pytest.fixture(scope="module")
def search(browser):
    reader = new_reader(browser, "light")
    reader.route("**/*", served)
    page = reader.new_page()
    page.goto(f"{SITE}/search.html")
    yield page
    reader.close()


FIND = """async asked => (await (await import("./_static/search.mjs"))
  .search(asked, 20)).found.map(one => `${one.place} ${one.content}`)"""


def rank(found: list[str], wanted: str) -> int:
    """How many come before a place, or a text, that is wanted; – is none."""
    if wanted == "–":
        return 9 * len(found)
    either = re.compile("|".join(map(re.escape, wanted.strip("`").split())))
    hits = [bool(either.search(one.replace("−", "-"))) for one in found]
    return [*hits, True].index(True) + 9 * (True not in hits)


@pytest.mark.full
def test_what_readers_ask_is_found_first_or_else_among_the_first_three(search):
    asked = [(x, f"{y[2]}#{y[3]}") for x, y in zip(QUESTIONS, ENTRIES)]
    for table, late, lost in (SEARCHES, 0.2, 0.05), (asked, 0, 0):
        ranks = {x: rank(search.evaluate(FIND, x), y) for x, y in table}
        assert sum(x > 0 for x in ranks.values()) <= late * len(table), ranks
        assert sum(x > 2 for x in ranks.values()) <= lost * len(table), ranks


@pytest.mark.full
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("zebra mask", r"Nothing found\. The book does not have “zebra”\."),
        ("average_attn_weights=False", r"Found 1 place\."),
        ("mask", r"Found \d{2,} places; the first 20 are below\."),
        ("layernrom", r"Found .* “layernrom” was read as “layernorm”\."),
    ],
)
def test_the_search_counts_truly_and_says_what_it_lacks(asked, said, search):
    search.locator(".bd-search-container input").fill(asked)
    expect(search.get_by_role("status")).to_have_text(re.compile(said))

"""The bug of a day: the same for everybody, none twice before all were had, a
score that the browser keeps if it may, and a line to share."""

import json
from datetime import date, timedelta
from itertools import pairwise, product

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.browser import SITE, new_reader, served
from tests.helpers.playing import GIVEN, IDLE, PLAY, part
from tests.helpers.project import ROOT
from tests.helpers.scripts import answer

MODULES = [ROOT / "book" / "_static" / "days.mjs"]
NAMES = [bug["name"] for bug in GIVEN["bugs"]]
TURNS = """(all) => all.map(([from, many]) =>
    [...Array(many)].map((_, i) => turn(from + i, many)))"""
TODAY = "2026-11-27"
full = pytest.mark.full


def asked(ask: str, given=None):
    return answer(MODULES, ask, given)


def test_whatever_their_number_each_has_its_turn_before_one_has_two():
    given = [*product((20_783, 0), [1, 2, 3, 36, 37, 100])]
    for (_, many), turns in zip(given, asked(TURNS, given), strict=True):
        assert sorted(turns) == [*range(many)]


def test_those_of_two_days_that_follow_each_other_are_no_neighbours():
    [turns] = asked(TURNS, [[20_783, len(NAMES)]])
    assert min(abs(a - b) for a, b in pairwise(turns)) > 3


def test_a_day_is_a_date_that_there_is():
    first, days = date(1970, 1, 1), [0, 59, 20_000, 20_784, 40_000]
    dates = [str(first + timedelta(n)) for n in days]
    assert asked("(dates) => dates.map(dayNumber)", dates) == days
    none = ["", "today", "2026-02-30", "2026-2-3", "0001-01-01", "12026-01-01"]
    assert asked("(dates) => dates.map(dayNumber)", none) == [None] * len(none)


# The signs of days of November, and what is said of them on the 27th.
SCORES = [
    ({}, "0 of 0 found, 0 days in a row"),
    ({27: "○●"}, "1 of 1 found, 1 day in a row"),
    ({25: "●"}, "1 of 1 found, 0 days in a row"),
    ({26: "●", 27: "◐×"}, "1 of 2 found, 1 day in a row"),
    ({25: "●", 26: "○●", 24: "×"}, "2 of 3 found, 2 days in a row"),
]


def test_a_score_counts_what_was_found_and_days_in_a_row():
    records = [
        json.dumps({f"2026-11-{day}": signs for day, signs in days.items()})
        for days, _ in SCORES
    ]
    ask = "([all, today]) => all.map(kept => score(record(kept), today))"
    assert asked(ask, [records, TODAY]) == [said for _, said in SCORES]


def test_what_was_kept_and_is_no_record_is_nothing():
    texts = ["", "null", "7", "[]", "{", '"●"', '{"2026-11-27": 1, "x": "●"}']
    assert asked("(all) => all.map(record)", [None, *texts]) == [{}] * 8


def days_page(browser, state="", *scripts: str, page=None) -> Page:
    """The page to play on, on a day, where the book is published."""
    if page is None:
        reader = new_reader(browser)
        reader.grant_permissions(["clipboard-read", "clipboard-write"])
        reader.route("**/*", served)
        page = reader.new_page()
        page.clock.set_fixed_time(f"{TODAY}T00:00:01Z")
        for script in IDLE, *scripts:
            page.add_init_script(script)
    page.goto("about:blank")
    page.goto(f"{SITE}/{PLAY}{state}")
    page.locator(".waiting").first.wait_for(state="detached")
    return page


def bug_of(day: str) -> str:
    ask = "([day, many]) => turn(dayNumber(day), many)"
    return NAMES[asked(ask, [day, len(NAMES)])]


def find(page: Page, *guesses: str) -> None:
    for name in guesses:
        part(page, "suspect").select_option(name)
        page.get_by_role("button", name="This one").press("Enter")


def shared_text(day: str, signs: str) -> str:
    return f"The Transformer, Shape by Shape, the bug of {day}: {signs}"


@full
def test_todays_bug_is_found_by_keyboard_scored_and_shared(browser):
    page, right = days_page(browser), bug_of(TODAY)
    page.get_by_role("button", name="Find today’s bug").press("Enter")
    verdict = part(page, "verdict")
    expect(verdict).to_contain_text("The bug of 27 November 2026 is planted.")
    expect(verdict).to_have_attribute("role", "status")
    assert f"day={TODAY}" in page.url
    assert right not in page.url
    find(page, next(name for name in NAMES if name != right))
    page.get_by_role("button", name="A hint").press("Enter")
    find(page, right)
    expect(verdict).to_contain_text("Right, at guess 2!")
    said = "Bugs of the day: 1 of 1 found, 1 day in a row."
    expect(part(page, "score")).to_have_text(said)
    copy = page.get_by_role("button", name="Copy the line")
    expect(copy).to_be_focused()
    page.keyboard.press("Enter")
    expect(part(page, "copied")).to_have_text("Copied.")
    line = page.evaluate("navigator.clipboard.readText()")
    said = shared_text("27 November 2026", "○◐●")
    assert line == f"{said} {SITE}/{PLAY}#day={TODAY}"
    assert not any(name in line for name in NAMES)


@full
def test_a_day_is_scored_once_and_a_free_hunt_never(browser):
    page = days_page(browser, "#day=")
    page.get_by_role("button", name="Show me").click()
    said = "Bugs of the day: 0 of 1 found, 0 days in a row."
    expect(part(page, "score")).to_have_text(said)
    page = days_page(browser, f"#day={TODAY}", page=page)
    had = "You have had the bug of 27 November 2026."
    expect(part(page, "verdict")).to_contain_text(had)
    expect(part(page, "score")).to_have_text(said)
    expect(part(page, "bug")).to_have_value(bug_of(TODAY))
    assert ": × http" in part(page, "line").input_value()
    page.get_by_role("button", name="Plant one").click()
    expect(part(page, "shared")).to_be_hidden()
    page.get_by_role("button", name="Show me").click()
    expect(part(page, "shared")).to_be_hidden()


DENIED = """
for (const kind of ["localStorage", "sessionStorage"]) {
    Object.defineProperty(window, kind, { get() {
        throw new DOMException("denied", "SecurityError");
    } });
}
Object.defineProperty(navigator, "clipboard", { value: undefined });
"""


@full
def test_where_nothing_may_be_kept_or_copied_a_day_is_had_all_the_same(
    browser,
):
    page = days_page(browser, "", DENIED)
    page.get_by_role("button", name="Find today’s bug").click()
    find(page, bug_of(TODAY))
    expect(part(page, "verdict")).to_contain_text("Right!")
    page.get_by_role("button", name="Copy the line").click()
    expect(part(page, "copied")).to_contain_text("copy it")
    selected = page.evaluate("getSelection().toString()")
    assert selected == part(page, "line").input_value()


@full
def test_a_day_that_is_over_is_not_scored_and_a_disk_is_no_place(visit):
    page = visit(f"{PLAY}#day=2026-11-20").page
    find(page, bug_of("2026-11-20"))
    said = "Bugs of the day: 0 of 0 found, 0 days in a row."
    expect(part(page, "score")).to_have_text(said)
    said = shared_text("20 November 2026", "●")
    expect(part(page, "line")).to_have_value(said)

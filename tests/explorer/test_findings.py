"""What a page finds out about a bug, it finds out when somebody asks, beside
the page's own work, and shows for that bug alone."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.browser import HTML, new_reader
from tests.helpers.playing import PLAY, part

pytestmark = pytest.mark.full

# A worker that notes what it is asked, and answers when a test says so.
SCRIPT = """
window.asked = [];
window.Worker = class {
    constructor() { window.worker = this; }
    postMessage(bug) { asked.push(bug); }
};
window.answer = data => worker.onmessage({ data });
"""
NONE = {
    "one that does not start": """window.Worker = class {
        constructor() { setTimeout(() => this.onerror()); }
        postMessage() {}
    }""",
    "no idle moments either": """delete window.Worker;
        delete window.requestIdleCallback""",
}
# Plant a bug, and read at once what stands there.
PLANTED = """bug => {
    const parts = name => document.querySelector(`[data-part=${name}]`);
    const plant = parts("bug");
    plant.value = bug;
    plant.dispatchEvent(new Event("change"));
    return ["noticed", "said", "count", "says"].map(
        name => parts(name).textContent);
}"""


@pytest.fixture
def page(page) -> Page:
    """The page to play on, with a worker that waits for the test."""
    page.evaluate("asked.length = 0")
    return page


def plant(page: Page, bug: str) -> list[str]:
    return page.evaluate(PLANTED, bug)


def tell(page: Page, bug: str, **found) -> None:
    page.evaluate("answer", {"bug": bug, **found})


def test_nothing_is_asked_before_the_reader_plants_a_bug_or_comes_there(visit):
    page = visit(PLAY).page
    assert page.evaluate("[asked.length, 'worker' in window]") == [0, False]
    part(page, "checks").scroll_into_view_if_needed()
    page.wait_for_function("asked.length")
    assert page.evaluate("asked") == [""]
    plant(page, "no_scale")
    assert page.evaluate("asked") == ["", "no_scale"]


def test_a_bug_is_checked_and_counted_until_its_own_answers_come(page):
    asked = ["Checking …", "", "Counting …"]
    assert plant(page, "no_scale")[:3] == asked
    expect(part(page, "checks")).to_have_attribute("aria-busy", "true")
    tell(page, "no_scale", lamps={"score_scale": "The variance is 4."})
    tell(page, "no_scale", changed=5, done=36, all=False)
    expect(part(page, "lamps").locator(".lit")).to_have_text("● score scale")
    so_far = "Counting … 5 of 36 test translations change so far."
    expect(part(page, "count")).to_have_text(so_far)
    *now, says = plant(page, "no_causal_mask")
    assert now == asked
    assert "has to guess" in says
    expect(part(page, "lamps").locator(".lit")).to_have_count(0)


def test_an_answer_that_comes_late_is_kept_for_its_own_bug(page):
    plant(page, "norm_squared")
    plant(page, "norm_over_time")
    tell(page, "norm_squared", lamps={"score_scale": "The variance is 4."})
    tell(page, "norm_squared", changed=5, done=600, all=True)
    expect(part(page, "noticed")).to_have_text("Checking …")
    expect(part(page, "count")).to_have_text("Counting …")
    noticed, said, count, _ = plant(page, "norm_squared")
    assert noticed == "1 of 13 checks notice something: score scale."
    assert said == "score scale: The variance is 4."
    assert count == "5 of 600 test translations change."
    assert page.evaluate("asked") == ["norm_squared", "norm_over_time"]


@pytest.mark.parametrize("lacking", NONE.values(), ids=NONE)
def test_without_a_worker_the_page_finds_out_when_it_rests(browser, lacking):
    reader = new_reader(browser)
    page, errors = reader.new_page(), []
    page.on("pageerror", lambda error: errors.append(error))
    page.add_init_script(lacking)
    page.goto(f"{HTML.as_uri()}/{PLAY}#bug=heads_joined_by_view")
    some = "3 of 13 checks notice something"
    expect(part(page, "noticed")).to_contain_text(some)
    all_of_them = re.compile(r"(\d+) of \1 test translations change so far")
    expect(part(page, "count")).to_have_text(all_of_them)
    assert errors == []
    reader.close()

"""The page to play on: what it is given, and how to go about it."""

import json

import weights
from playwright.sync_api import Locator, Page, expect

PLAY, OWN = "book/play.html", "the hungry dog saw hari."
GIVEN = json.loads(weights.WEIGHTS_FILE.read_text("utf8"))
BUGS = {bug["name"]: bug for bug in GIVEN["bugs"]}
QUIET = [name for name, bug in BUGS.items() if "still_right" in bug]
SETTLED = "() => !document.querySelector('#play.waiting, #play [aria-busy]')"


def part(page: Page, name: str) -> Locator:
    return page.locator(f'#play [data-part="{name}"]')


def settle(page: Page) -> None:
    """Wait until nothing is computed any more."""
    page.wait_for_function(SETTLED)


def go(page: Page, state: str) -> None:
    """Follow a link to a state of the page, in the same tab."""
    follow = """async state => { location.hash = state;
        await new Promise(followed => setTimeout(followed)); }"""
    page.evaluate(follow, state)
    settle(page)


def on_wall(page: Page, bug: str) -> Locator:
    """The button of a bug, which may be one of those that fold."""
    row = part(page, "wall").locator(f"[data-bug={bug}]")
    if not row.is_visible():
        part(page, "more").locator("summary").click()
    return row


def press(page: Page, bug: str) -> None:
    """Plant a bug, or guess that it is hidden, by the keyboard."""
    on_wall(page, bug).press("Enter")
    settle(page)


def write(page: Page, text: str) -> None:
    page.get_by_label("English sentence").fill(text)
    page.wait_for_timeout(250)  # the page waits for another key
    settle(page)


def says(page: Page, **texts: str) -> None:
    """Expect that parts have texts, or are hidden or empty where it is ""."""
    for name, text in texts.items():
        said = expect(part(page, name))
        said.to_contain_text(text) if text else said.not_to_be_visible()

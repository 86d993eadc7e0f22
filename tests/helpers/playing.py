"""The translator on its page: its modules and numbers, and its panels."""

import json

import weights
from playwright.sync_api import Locator, Page

from explorer.scripts import FOLDER
from tformer_lite import Batch, lay_out, trained_translator, translations

PLAY, OWN = "book/play.html", "the hungry dog saw hari."
GIVEN = json.loads(weights.WEIGHTS_FILE.read_text("utf8"))
NAMES = "tensor parameters parts model bugs translate sums steps"
MODULES = [FOLDER / f"{name}.mjs" for name in NAMES.split()]
MADE = """(given, changed) => new Translator(
  parameters(given.shapes, given.numbers), given, changed)"""

# A worker that finds nothing out about a planted bug, at once: the real one
# would take most of the time of a test that does not ask for it.
IDLE = """window.Worker = class {
    postMessage(bug) {
        const none = { bug, lamps: {}, changed: 0, done: 600, all: true };
        setTimeout(() => this.onmessage({ data: none }));
    }
};"""


def first_rows(part: str, count: int) -> Batch:
    """The first English sentences of a part, each with a translation."""
    pairs = [(text, many[0]) for text, many in translations(part).items()]
    return lay_out(pairs[:count], *trained_translator().tokenizers)


def part(page: Page, name: str) -> Locator:
    """A part of the panels in which one types and plants bugs."""
    return page.locator(f':is(#play, #bugs) [data-part="{name}"]')


def inside(page: Page, name: str) -> Locator:
    """A part of the panel that shows all steps."""
    return page.locator(f'#inside [data-part="{name}"]')


def go(page: Page, state: str) -> None:
    """Follow a link to a state of the page, in the same tab."""
    page.evaluate(
        """async state => {
            location.hash = state;
            await new Promise(followed => setTimeout(followed));
        }""",
        state,
    )

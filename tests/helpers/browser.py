"""The built book, opened in a browser that has no network."""

import os
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import browsers
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route

from tests.helpers.project import ROOT

HTML = ROOT / "_build" / "html"
NO_BOOK = "there is no book in _build/html: run `make book` first"
PAGES = sorted(
    file.relative_to(HTML).as_posix()
    for file in HTML.rglob("*.html")
    if "_static" not in file.parts
    if file.name not in ("genindex.html", "index.html", "my_transformer.html")
)
SCHEMES = ["light", "dark"]
# Pixels wide; the smallest is a desk at 400 %.
SMALL, PHONE, DESK = 320, 390, 1280
SITE = "https://book.test"
RUN = [page for page in PAGES if page.startswith("chapters/")]
CHAPTERS = [page for page in RUN if page.count("/") == 1]
# A page stands when its panels have begun and are not busy, all that folds is
# open, nothing fades in any more, and every font that its layout asks for is
# there: layout comes first, then the question.
READY = """async () => {
    while (document.querySelector(".waiting, [aria-busy]")) {
        await new Promise(done => setTimeout(done, 10));
    }
    document.querySelectorAll("details").forEach(d => d.open = true);
    document.getAnimations().forEach(a => a.finish());
    do {
        document.body.getBoundingClientRect();
        await document.fonts.ready;
    } while ([...document.fonts].some(font => font.status === "loading"));
    for (let frame = 0; frame < 2; frame++) {
        await new Promise(drawn => requestAnimationFrame(drawn));
    }
}"""


@dataclass
class View:
    """A page as a reader has it, and what went wrong on the way."""

    page: Page
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Note the requests of a page, and everything that goes wrong."""
        note, say = self.requests.append, self.problems.append
        self.page.on("request", lambda r: note(r.url))
        self.page.on("requestfailed", lambda r: say(f"not loaded: {r.url}"))
        self.page.on("pageerror", lambda e: say(f"error: {e}"))
        self.page.on(
            "console", lambda m: say(m.text) if m.type == "error" else None
        )

    def outside(self) -> list[str]:
        """Requests that leave the reader's machine."""
        inside = ("file:", "data:", "blob:")
        return [url for url in self.requests if not url.startswith(inside)]

    def ready(self) -> None:
        """Wait until the page stands."""
        self.page.evaluate(READY)

    def look(self, scheme: str, width: int) -> None:
        """Show the page in light or dark, on a window of a width."""
        self.page.emulate_media(media="null", color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.locator(f"html[data-theme={scheme}]").wait_for()
        self.ready()


def need_browser() -> None:
    """Where no browser can be led, skip on a desk, fail in CI."""
    if missing := browsers.lack():
        refuse = pytest.fail if os.environ.get("CI") else pytest.skip
        refuse(missing)


def new_reader(browser: Browser, scheme="light", width=DESK) -> BrowserContext:
    """A reader without a network, who has visited nothing yet."""
    return browser.new_context(
        offline=True,
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
    )


def open_page(
    reader: BrowserContext, page: str, scheme="light", width=DESK
) -> View:
    """Open a page of the book and wait until it stands."""
    view = View(reader.new_page())
    view.page.emulate_media(color_scheme=scheme)
    view.page.set_viewport_size({"width": width, "height": 900})
    view.page.goto(f"{HTML.as_uri()}/{page}")
    view.ready()
    return view


def served(route: Route) -> None:
    """Give a page what a site would, at SITE; other places have nothing."""
    path = urlsplit(route.request.url.removeprefix(SITE)).path
    file = HTML / path.removeprefix("/")
    if route.request.url.startswith(SITE) and file.is_file():
        route.fulfill(path=file)
    else:
        route.fulfill(status=404, path=HTML / "404.html")


def fonts_of(page: Page, selector: str) -> list[set[tuple[str, bool]]]:
    """For each element, its fonts' names and whether the page brought them."""
    chrome = page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        chrome.send(f"{domain}.enable")
    root = chrome.send("DOM.getDocument")["root"]["nodeId"]
    query = {"nodeId": root, "selector": selector}
    nodes = chrome.send("DOM.querySelectorAll", query)["nodeIds"]
    ask = "CSS.getPlatformFontsForNode"
    answers = [chrome.send(ask, {"nodeId": node}) for node in nodes]
    return [
        {(font["familyName"], font["isCustomFont"]) for font in each["fonts"]}
        for each in answers
    ]


def computed(page: Page, selector: str, name: str) -> list[tuple[int, ...]]:
    """A computed colour of each element, as (red, green, blue)."""
    read = "(nodes, name) => nodes.map(node => getComputedStyle(node)[name])"
    values = page.eval_on_selector_all(selector, read, name)
    return [tuple(map(int, re.findall(r"\d+", v)[:3])) for v in values]

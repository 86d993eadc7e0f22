"""The live pages in Firefox and in WebKit: no script fails, they say what they
say in Chromium, and ribbons meet their words.

Both are led by what they bring: Marionette, which is JSON over a socket, and
WebDriver, which is JSON over HTTP.
"""

import base64
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from matplotlib.image import imread

from tests.helpers.browser import HTML, READY
from tests.helpers.playing import PLAY

pytestmark = pytest.mark.full

HERE, SOON = "127.0.0.1", 90  # seconds until a browser has begun
MARIONETTE = {
    "url": "WebDriver:Navigate",
    "execute/sync": "WebDriver:ExecuteScript",
    "execute/async": "WebDriver:ExecuteAsyncScript",
    "window/rect": "WebDriver:SetWindowRect",
    "screenshot": "WebDriver:TakeScreenshot",
}
NOTE = """<head><script>
window.wrong = [];
addEventListener("error", event => wrong.push(
    event.message ?? event.target.outerHTML), true);
addEventListener("unhandledrejection", event => wrong.push(
    String(event.reason)));
</script>"""
DONE = "const [done] = [...arguments].slice(-1); ({})().then(done);"


def command(*names: str) -> str:
    """Find one of some programs; where there is none, skip on a desk, fail
    in CI."""
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        refuse = pytest.fail if os.environ.get("CI") else pytest.skip
        refuse(f"no {names[0]}: `make browser` installs it")
    return program


def free_port() -> int:
    with closing(socket.socket()) as asked:
        asked.bind((HERE, 0))
        return asked.getsockname()[1]


def connection(port: int) -> socket.socket:
    """Connect as soon as somebody listens."""
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        with suppress(OSError):
            return socket.create_connection((HERE, port))
        time.sleep(0.1)
    raise TimeoutError(f"nobody listens at {port} after {SOON} seconds")


class OtherBrowser(ExitStack):
    """A browser with pages of the book. `start` begins it, and `ask` says
    something in its protocol: a path of WebDriver's, and what goes there. What
    it has begun ends with it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.port = folder, free_port()
        for part in HTML.iterdir():
            if part.name not in ("book", "chapters"):
                (folder / part.name).symlink_to(part)

    def begin(self, *words: str) -> None:
        """Begin a program, which ends with all that it begins itself."""
        quiet = subprocess.DEVNULL
        begun = subprocess.Popen(
            words, stdout=quiet, stderr=quiet, start_new_session=True
        )
        self.callback(begun.wait, SOON)
        self.callback(os.killpg, begun.pid, signal.SIGTERM)

    def open(self, page: str) -> None:
        """Open a page that notes its errors, and wait until it stands."""
        path, _, state = page.partition("#")
        copy = self.folder / path
        copy.parent.mkdir(exist_ok=True)
        text = (HTML / path).read_text("utf8")
        copy.write_text(text.replace("<head>", NOTE, 1), "utf8")
        self.ask("url", url="about:blank")
        self.ask("url", url=f"{copy.as_uri()}#{state}")
        self.be_ready()

    def be_ready(self) -> None:
        """Wait until all is there, and drawn."""
        self.ask("execute/async", script=DONE.format(READY), args=[])

    def run(self, script: str, *given: Any) -> Any:
        """Call a function in the page."""
        script = f"return ({script})(...arguments);"
        return self.ask("execute/sync", script=script, args=given)

    def wait_for(self, selector: str, text: str) -> None:
        """Ask again and again, for so long, until a part has a text."""
        end = time.monotonic() + SOON
        while text not in (said := self.run(TEXT, selector)):
            assert time.monotonic() < end, said
            time.sleep(0.1)

    def screenshot(self) -> bytes:
        return base64.b64decode(self.ask("screenshot"))


class Firefox(OtherBrowser):
    def start(self) -> None:
        profile = self.folder / "profile"
        profile.mkdir()
        wanted = f'user_pref("marionette.port", {self.port});\n'
        (profile / "user.js").write_text(wanted)
        name = command("firefox-esr", "firefox")
        options = "--headless", "--marionette", "--no-remote", "--profile"
        self.begin(name, *options, str(profile), "about:blank")
        with connection(self.port) as line:
            self.line = self.enter_context(line.makefile("rwb"))
        self.answer()
        self.say("WebDriver:NewSession", {})

    def ask(self, path: str, **body: Any) -> Any:
        return self.say(MARIONETTE[path], {"full": False} | body).get("value")

    def say(self, name: str, body: dict[str, Any]) -> Any:
        text = json.dumps([0, 1, name, body]).encode()
        self.line.write(b"%d:%b" % (len(text), text))
        self.line.flush()
        _, _, wrong, found = self.answer()
        assert wrong is None, wrong
        return found

    def answer(self) -> Any:
        length = b"".join(iter(lambda: self.line.read(1), b":"))
        return json.loads(self.line.read(int(length)))


class WebKit(OtherBrowser):
    def start(self) -> None:
        self.session = ""
        driver = command("WebKitWebDriver")
        self.begin(command("xvfb-run"), "-a", driver, f"--port={self.port}")
        connection(self.port).close()
        self.session = "/" + self.ask("", capabilities={})["sessionId"]

    def ask(self, path: str, **body: Any) -> Any:
        at = f"http://{HERE}:{self.port}/session{self.session}/{path}"
        text = json.dumps(body).encode() if body else None
        with urlopen(Request(at.rstrip("/"), text), timeout=SOON) as answer:
            return json.load(answer)["value"]


# --- what the pages do -----------------------------------------------------

IN_VIEW = """() => document.querySelector("[data-part=ribbons]")
    .scrollIntoView({ block: "center", behavior: "instant" })"""
TEXT = "selector => document.querySelector(selector)?.textContent"
# Both rows of words, and the ends of all ribbons: [middle, width] at a row.
WORDS = """() => ["read", "written"].map((row, end) => {
    const left = document.querySelector("[data-part=ribbons]")
        .getBoundingClientRect().left;
    return {
        words: [...document.querySelectorAll(`[data-part=${row}] li`)]
            .map(item => item.getBoundingClientRect())
            .map(({ left, right, top, bottom }) => [left, right, top, bottom]),
        ribbons: [...document.querySelectorAll("[data-part=ribbons] path")]
            .map(path => [left + Number(path.getAttribute("d")
                .match(/[\\d.]+(?=,[\\d.]+(C|$))/g)[end]),
                Number(path.getAttribute("stroke-width"))]),
    };
})"""


@pytest.fixture(scope="module", params=[Firefox, WebKit])
def started(request, tmp_path_factory):
    """One of the others; where there is none, this is skipped."""
    with request.param(tmp_path_factory.mktemp("browser")) as found:
        found.start()
        yield found


@pytest.fixture
def browser(started):
    """No script fails in it, whatever a test does."""
    yield started
    assert started.run("() => wrong") == []


def ink(picture, left, right, top, bottom) -> float:
    """The middle of what is drawn in a box, from left to right."""
    box = picture[int(top) : int(bottom) - 3, int(left) : int(right) + 1, :3]
    paper = box[0, 0]
    drawn = (abs(box - paper).max(2) > 0.25).any(0).nonzero()[0]
    return int(left) + (drawn[0] + drawn[-1] + 1) / 2


def gaps(browser: OtherBrowser) -> list[float]:
    """How far from each word's middle the middle of its ribbons is."""
    browser.run(IN_VIEW)
    browser.be_ready()
    picture, gaps = imread(io.BytesIO(browser.screenshot())), []
    for row in browser.run(WORDS):
        middles = [ink(picture, *box) for box in row["words"]]
        sides = {middle: [] for middle in middles}
        for x, width in row["ribbons"]:
            nearest = min(middles, key=lambda middle: abs(middle - x))
            sides[nearest] += [x - width / 2, x + width / 2]
        found = ((x, xs) for x, xs in sides.items() if xs)
        gaps += [(min(xs) + max(xs)) / 2 - x for x, xs in found]
    return gaps


@pytest.mark.parametrize("page", [PLAY, "book/intro.html"])
@pytest.mark.parametrize("width", [1280, 500])  # they have no narrower one
def test_ribbons_meet_their_words(browser, page, width):
    browser.ask("window/rect", width=width, height=1000)
    browser.open(page)
    all_gaps = gaps(browser)
    assert len(all_gaps) > 6
    assert [gap for gap in all_gaps if abs(gap) > 2] == []


def test_the_engine_plays_runs_the_file_and_trains(browser):
    browser.open(f"{PLAY}#s=hari+saw+the+hungry+dog.&bug=no_causal_mask")
    browser.wait_for("[data-part=noticed]", "causality")
    result = "#play [data-part=result]"
    assert browser.run(TEXT, result) == "हरिले भोको कुकुरलाई देख्यो ।"
    for page, start, part, says in (
        ("workbench", "run", "says", "624 of 624"),
        ("train", "go", "numbers", "loss"),
    ):
        browser.open(f"book/{page}.html")
        browser.run(f"""() => document.querySelector(
            "#{page} [data-part={start}]").click()""")
        browser.wait_for(f"#{page} [data-part={part}]", says)


def test_resize_counts_and_the_atlas_compares(browser):
    browser.open("book/resize.html#preset=char_lm&H=6")
    totals = "#resize [data-part=totals]"
    assert "the preset’s" in browser.run(TEXT, totals)
    browser.run("() => { location.hash = 'preset=llama_3_8b'; }")
    browser.wait_for(totals, "8,030,261,248")
    browser.open("book/atlas.html#compare=gpt-2,llama-3-8b")
    assert "rows differ" in browser.run(TEXT, "#atlas [data-part=said]")
    assert "Llama 3 8B" in browser.run(TEXT, "#atlas thead")


def test_a_chapter_explores_and_judges_a_typed_shape(browser):
    browser.open("chapters/06_scores.html#explore-0-0-scores-2-1")
    note = ".explorer p[role=status]"
    assert "hungry, the: (" in browser.run(TEXT, note)
    said = browser.run("""() => {
        const form = document.querySelector("div.predict form");
        const { shape } = form.nextElementSibling.dataset;
        form.elements.shape.value = shape.match(/\\d+/g).join(" ");
        form.querySelector("button").click();
        return form.querySelector("[role=status]").textContent;
    }""")
    assert said.startswith("Right: ")

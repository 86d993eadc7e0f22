"""Firefox and WebKit, led by what they bring: Marionette, which is JSON over a
socket, and WebDriver, which is JSON over HTTP."""

import base64
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

from tests.helpers.browser import HTML, READY

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
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        refuse = pytest.fail if os.environ.get("CI") else pytest.skip
        refuse(f"no {names[0]}: `make browser` installs it")
    return found


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
        self.ask("execute/async", script=DONE.format(READY), args=[])

    def run(self, script: str, *given: Any) -> Any:
        """Call a function in the page."""
        script = f"return ({script})(...arguments);"
        return self.ask("execute/sync", script=script, args=given)

    def until(self, script: str, *given: Any, has: str) -> str:
        """Call it again and again, until it gives a text that has another in
        it, or for so long; give the last."""
        end = time.monotonic() + SOON
        while has not in (found := self.run(script, *given)):
            if time.monotonic() > end:
                break
            time.sleep(0.1)
        return found

    def screenshot(self) -> bytes:
        return base64.b64decode(self.ask("screenshot"))

    def start(self) -> None:
        raise NotImplementedError

    def ask(self, path: str, **body: Any) -> Any:
        raise NotImplementedError


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

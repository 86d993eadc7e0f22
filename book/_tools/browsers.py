"""Find the browser that looks at the pages and prints them."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from playwright.sync_api import Browser, sync_playwright

MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
BROWSERS = ["chromium", "chromium-browser", "google-chrome", MAC]
NO_BROWSER = (
    "no browser: install Chromium or Google Chrome, so that one of "
    f"{', '.join(BROWSERS)} is found"
)
NO_DRIVER = (
    "playwright, which leads the browser, does not start: {}; on Debian and "
    "Ubuntu `make browser` installs what it needs"
)
DRIVER = [sys.executable, "-m", "playwright", "--version"]


def browser_path() -> str | None:
    """Give the first of the browsers that this machine has."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start it, and end it afterwards."""
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=browser_path(), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@cache
def lack() -> str | None:
    """Say what this machine lacks for looking at a page, if anything."""
    if browser_path() is None:
        return NO_BROWSER
    said = subprocess.run(DRIVER, capture_output=True, text=True)
    if said.returncode:
        return NO_DRIVER.format(said.stderr.strip().rpartition("\n")[2])
    return None

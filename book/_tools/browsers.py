"""Find the browser that looks at the pages and prints them."""

import shutil
import subprocess
import sys
from functools import cache

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


@cache
def lack() -> str | None:
    """Say what this machine lacks for looking at a page, if anything."""
    if browser_path() is None:
        return NO_BROWSER
    said = subprocess.run(DRIVER, capture_output=True, text=True)
    if said.returncode:
        return NO_DRIVER.format(said.stderr.strip().rpartition("\n")[2])
    return None

"""Find the browser that looks at the pages and prints them."""

import shutil

MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
NAMES = ["chromium", "chromium-browser", "google-chrome", MAC]
NO_BROWSER = (
    "no browser: install Chromium or Google Chrome, so that one of "
    f"{', '.join(NAMES)} is found"
)


def found() -> str | None:
    """Give the first of the browsers that this machine has."""
    return next(filter(None, map(shutil.which, NAMES)), None)

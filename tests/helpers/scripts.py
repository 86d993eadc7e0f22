"""Run the modules that a page's scripts are made of, in Node or a browser."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import browsers

from explorer.scripts import join_modules
from tests.helpers.browser import need_browser

IN_NODE = "%s\nconsole.log(JSON.stringify((%s)(%s)));\n"


def answer(modules: Sequence[Path], ask: str, given: Any) -> Any:
    """Give what a JavaScript function, which may use all that the modules
    define, makes of `given`; both are written as JSON."""
    node = shutil.which("node")
    if not node:
        return in_browser(modules, ask, given)
    run = subprocess.run(
        [node, "--input-type=module"],
        input=IN_NODE % (join_modules(modules), ask, json.dumps(given)),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def in_browser(modules: Sequence[Path], ask: str, given: Any) -> Any:
    """Do the same in a browser."""
    need_browser()
    with browsers.chromium() as browser:
        page = browser.new_page()
        page.add_script_tag(content=join_modules(modules))
        return page.evaluate(ask, given)

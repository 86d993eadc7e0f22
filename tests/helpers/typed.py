"""What readers may type where a shape is asked for, judged by the module
that a page's script is made of: in Node, or else in a browser."""

import json
import shutil
import subprocess
import sys
from functools import cache

from playwright.sync_api import sync_playwright

from tests.helpers.browser import executable
from tests.helpers.project import ROOT

MODULE = ROOT / "book" / "_static" / "shapes.mjs"
ASK = """
({ letters, cases }) => cases.map(([measured, typed]) =>
    check(typed, written(measured), new Map(letters)))
"""
RUN = """
import { readFileSync } from "node:fs";
import { check, written } from %s;
const ask = %s;
console.log(JSON.stringify(ask(JSON.parse(readFileSync(0, "utf8")))));
"""


@cache
def in_letters() -> list[tuple[str, dict]]:
    """Each axis letter with its name, size and name in code, as a page's
    legend has them."""
    sys.path.append(str(ROOT / "book" / "_ext"))
    from letters import name_of, notation, size_of

    return [
        (letter, {"name": name_of(means), "size": size_of(letter), "code": c})
        for letter, means, c in notation()
    ]


def judged(cases: list[tuple[str, str]]) -> list[dict]:
    """Check pairs of a measured shape and a typed one."""
    given = {"letters": in_letters(), "cases": cases}
    node = shutil.which("node")
    return by_node(node, given) if node else in_browser(given)


def by_node(node: str, given: dict) -> list[dict]:
    code = RUN % (json.dumps(MODULE.as_uri()), ASK.strip())
    run = subprocess.run(
        [node, "--input-type=module", "--eval", code],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def in_browser(given: dict) -> list[dict]:
    source = MODULE.read_text("utf8").replace("export ", "")
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=executable(), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.add_script_tag(content=source)
        said = page.evaluate(ASK, given)
        browser.close()
    return said

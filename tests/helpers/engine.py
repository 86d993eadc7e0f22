"""The engine of the pages, asked from Python: what the small torch makes of a
text, and what PyTorch makes of it."""

import io
import re
import traceback
from contextlib import redirect_stdout
from typing import Any

from playwright.sync_api import Page
from scripts import SCRIPTS

from engine import HERE, join_modules

NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")
HOST = """globalThis.ask = async (jobs, wait) => {
    globalThis.engine ??= new Engine();
    if (wait) setTimeout(() => engine.stop(), wait);
    const answers = [];
    for (const job of jobs) {
        const parts = [];
        const found = await engine.ask(job, (part) => parts.push(part));
        answers.push([found, parts]);
    }
    return answers;
};"""


def open_engine(page: Page) -> None:
    """Put the engine's script, and what asks it, on an empty page."""
    page.add_script_tag(content=SCRIPTS["engine.js"].text())
    client = join_modules([HERE / "client.mjs"])
    page.add_script_tag(content=f"{client}\n{HOST}")


def ask(page: Page, *jobs: dict[str, Any], wait: int = 0) -> list[Any]:
    """What comes of some jobs: each answer, and the parts told before it;
    after `wait` milliseconds the engine is stopped."""
    return page.evaluate("([jobs, wait]) => ask(jobs, wait)", [jobs, wait])


def printed(parts: list[dict[str, Any]]) -> list[str]:
    """The lines that a run has printed."""
    text = "\n".join(part["printed"] for part in parts)
    return text.split("\n") if parts else []


def in_pytorch(text: str) -> tuple[list[str], str | None, int | None]:
    """What PyTorch prints for a text; and its error, and the line."""
    out = io.StringIO()
    try:
        with redirect_stdout(out):
            exec(compile(text, "mine.py", "exec"), {"__name__": "__main__"})
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [at.lineno for at in frames if at.filename == "mine.py"]
        said = f"{type(error).__name__}: {error}".strip()
        return out.getvalue().splitlines(), said, lines[-1]
    return out.getvalue().splitlines(), None, None


def alike(one: str, other: str) -> bool:
    """Whether two lines differ in the last digits of numbers at most."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(
        abs(float(x) - float(y)) <= 2e-4 * max(1, abs(float(x)))
        for x, y in pairs
    )

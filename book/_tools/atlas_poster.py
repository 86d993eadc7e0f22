"""The poster of the atlas: each model's picture, sizes and costs on a sheet of
A2. `make atlas-poster` writes it as SVG and as PDF."""

import json
import re
import sys
import textwrap
from collections.abc import Iterator
from html import escape
from typing import Any

import browsers
from model_cards.drawing import paint, picture
from packages import BOOK, ROOT
from pdf import PAPER, READY
from playwright.sync_api import sync_playwright
from repository import addresses

POSTER_SVG = BOOK / "_static" / "atlas.svg"
SHEET = 2245, 1587  # A2 in CSS pixels
ABREAST, EDGE, TOP = 6, 32, 120
PITCH, STEP = 368, 475  # from model to model
LINE = 48  # letters that fit below a picture
TITLE = "Models you have heard of, measured"
ABOUT = (
    "A layer of each, and what it costs, counted from its configuration. A "
    "word is a token; a number in the cache takes two bytes."
)
DATE = re.compile(rb"\(D:\d{14}")
Data = dict[str, Any]


def poster_svg(atlas: Data, site: str) -> str:
    """Draw all models but the book's own, in the order of their years."""
    models = [model for model in atlas.values() if "name" in model]
    shapes = [
        text_line(EDGE, 62, 40, TITLE),
        text_line(EDGE, 94, 18, ABOUT),
        text_line(EDGE, SHEET[1] - 24, 15, licence(site)),
    ]
    for n, model in enumerate(sorted(models, key=lambda x: x["year"])):
        x, y = EDGE + n % ABREAST * PITCH, TOP + n // ABREAST * STEP
        shapes += draw_model(x, y, model)
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {SHEET[0]} {SHEET[1]}" style="{paint("ink")}" '
        f'font-family="system-ui, sans-serif"><title>{TITLE}</title>'
    )
    return "\n".join([start, *shapes, "</svg>\n"])


def licence(site: str) -> str:
    """Say under which licence the poster is, and where the book is."""
    text = (BOOK / "LICENSE").read_text("utf8")
    name, address = re.findall(r"CC BY [\d.]+|https\S+", text)
    return f"The Transformer, Shape by Shape: {site} · {name}: {address}"


def draw_model(x: int, y: int, model: Data) -> Iterator[str]:
    """Draw a model: its name, its picture, and what was measured."""
    yield text_line(x, y + 20, 22, model["name"])
    yield text_line(x, y + 40, 14, f"{model['year']}, {model['maker']}")
    drawn = picture(model["run"], model["parts"])
    yield drawn.replace("<svg ", f'<svg x="{x - 8}" y="{y + 52}" ', 1)
    for n, text in enumerate(facts(model)):
        yield text_line(x, y + 285 + 19 * n, 13, text)


def facts(model: Data) -> Iterator[str]:
    """Say what a model is made of and costs, and what was new."""
    rows = dict(model["rows"])
    at_work = next((rows[x] for x in rows if "at work" in x), "")
    costs = f"{rows['parameters'].partition(' =')[0]} parameters"
    costs += f", {at_work} at work for a word" * bool(at_work)
    for text in f"{model['layers']} layers, {rows['sizes']}", costs:
        yield from textwrap.wrap(text, LINE)
    for name, text in rows.items():
        if name.startswith("cache"):
            yield f"{name}: {text.partition(' =')[0]}"
    first = re.split(r"(?<=\.) ", model["news"])[0]
    yield from textwrap.wrap(first, LINE)


def text_line(x: float, y: float, size: int, text: str) -> str:
    bold = ' font-weight="bold"' * (size > 20)
    at = f'x="{x:g}" y="{y:g}" font-size="{size}"'
    return f"<text {at}{bold}>{escape(text)}</text>"


def poster_pdf(svg: str) -> bytes:
    """Print a poster; its dates are always the same."""
    style = "@page { size: 594mm 420mm; margin: 0 } body { margin: 0 }"
    style += " svg { display: block }"
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=browsers.browser_path(), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.set_content(f"<title>{TITLE}</title><style>{style}</style>{svg}")
        page.evaluate(READY)
        printed = page.pdf(**PAPER)
        browser.close()
    return DATE.sub(b"(D:20260101000000", printed)


def main() -> None:
    """Write the poster, or say why it cannot be printed."""
    if missing := browsers.lack():
        sys.exit(f"make atlas-poster: {missing}.")
    atlas = json.loads((BOOK / "_static" / "atlas.json").read_text("utf8"))
    svg = poster_svg(atlas, addresses(ROOT)[1])
    POSTER_SVG.write_text(svg, "utf8")
    POSTER_SVG.with_suffix(".pdf").write_bytes(poster_pdf(svg))


if __name__ == "__main__":
    main()

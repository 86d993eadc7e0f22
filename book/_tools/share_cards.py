"""Photograph a card of each page for those to whom its address is sent, and
name the card in the page's head: `make cards`, after `make book`.

share.html turns a page into its card. Without an address there are no cards,
and without a browser preview.png stands for each.
"""

import io
import re
import sys
from pathlib import Path

import browsers
from PIL import Image
from playwright.sync_api import Page

SIZE = {"width": 1200, "height": 630}
OG_TITLE = re.compile(r'<meta property="og:title" content="(.*?)">')
OG_IMAGE = re.compile(
    r'(<meta property="og:image)(" content=".*/)preview.png">'
)
# In the place of that.
NAMED = r"""\1\2{card}">
\1:width" content="1200">
\1:height" content="630">
\1:alt" content="{alt}">"""
LAY_OUT = """layout => document.body.append(
    document.createRange().createContextualFragment(layout))"""


def make_card(page: Page, file: Path, static: Path) -> None:
    """Photograph the card of a page, in few colours, and name it there."""
    card = Path("cards", file.relative_to(static.parent).with_suffix(".png"))
    page.goto(file.as_uri())
    page.evaluate(LAY_OUT, (static / "share.html").read_text("utf8"))
    page.evaluate("document.fonts.ready")
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    few = shot.quantize(64, dither=Image.Dither.NONE)
    (static / card).parent.mkdir(parents=True, exist_ok=True)
    few.save(static / card, optimize=True)
    text = file.read_text("utf8")
    named = NAMED.format(card=card.as_posix(), alt=OG_TITLE.search(text)[1])
    file.write_text(OG_IMAGE.sub(named, text), "utf8")


def main(built: Path) -> None:
    """Make the cards of a built book; of 404.html it has no address."""
    files = {*built.rglob("*.html")} - {built / "404.html"}
    files = {x for x in files if OG_IMAGE.search(x.read_text("utf8"))}
    if missing := browsers.lack() if files else "the book has no address":
        print(f"No cards: {missing}.")
        return
    with browsers.chromium() as browser:
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.route("**/*js*", lambda script: script.abort())
        for file in files:
            make_card(page, file, built / "_static")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

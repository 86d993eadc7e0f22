"""Take the README's picture from the built book: `make preview`.

It shows the last figure of a section, and what follows it. In the file stands
what that section is made from, so that a test notices when the picture is
old.
"""

import hashlib
import json
import sys
from pathlib import Path

import browsers
from PIL import Image, PngImagePlugin
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
FILE = ROOT / "book" / "_static" / "preview.png"
PAGE, SECTION = "chapters/11_decoder", "Then Nepali attends to English"
SCREEN = {"width": 1280, "height": 760}
DENSE, COLOURS = 1.5, 128
FIGURE = """heading => {
    const figures = heading.closest("section").querySelectorAll(".figure");
    const { top } = [...figures].at(-1).getBoundingClientRect();
    scrollTo({ top: top + scrollY - 110, behavior: "instant" });
}"""  # below what stays at the top of the screen


def digest() -> str:
    """Sum up a section of a notebook, with what it has put out, and the
    book's style. Raises ValueError where no cell has such a heading."""
    notebook = json.loads((ROOT / f"{PAGE}.ipynb").read_text("utf8"))
    shown, inside = [], False
    for cell in notebook["cells"]:
        lines = "".join(cell["source"]).splitlines()
        headings = [x[3:] for x in lines if x.startswith("## ")]
        if cell["cell_type"] == "markdown" and headings:
            inside = SECTION in headings
        if inside:
            shown.append([lines, cell.get("outputs")])
    if not shown:
        raise ValueError(f"{PAGE} has no section {SECTION!r}")
    style = (ROOT / "book" / "_static" / "book.css").read_text("utf8")
    text = json.dumps([shown, style], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def photograph(root: Path) -> bytes:
    """Show the figure on a wide screen."""
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=browsers.found(), args=["--no-sandbox"]
        )
        look = {"device_scale_factor": DENSE, "color_scheme": "light"}
        page = browser.new_page(viewport=SCREEN, **look)
        page.goto((root / f"{PAGE}.html").as_uri())
        heading = page.get_by_role("heading", name=SECTION)
        heading.last.evaluate(FIGURE)
        page.wait_for_timeout(500)  # what follows the page has arrived
        picture = page.screenshot(animations="disabled")
        browser.close()
    return picture


def main() -> None:
    """Take the picture anew."""
    FILE.write_bytes(photograph(ROOT / "_build" / "html"))
    picture = Image.open(FILE).convert("RGB")
    few = picture.quantize(COLOURS, dither=Image.Dither.NONE)
    about = PngImagePlugin.PngInfo()
    about.add_text("digest", digest())
    few.save(FILE, optimize=True, pnginfo=about)
    print(f"The README's picture: {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())

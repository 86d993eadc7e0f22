"""Make the pictures that are stored beside the book. Of all but the last a
test tells whether they are old.

usage: stored_pictures.py picture | preview

`make picture` draws that of the first page, and `make preview` takes the
README's picture from the built book: the last figure of a section, and what
follows it.
"""

import io
import sys

import browsers
from packages import ROOT
from pictures.alignment import ribbons
from PIL import Image

from tformer_lite import trained_trace

STATIC_FILES = ROOT / "book" / "_static"
ENGLISH = "the hungry dog saw hari."
NEPALI = "भोको कुकुरले हरिलाई देख्यो ।"
FIRST_PAGE = STATIC_FILES / "alignment.svg"
TITLE = "The trained translator's attention"
PREVIEW = STATIC_FILES / "preview.png"
PAGE, SECTION = "chapters/11_decoder", "See it"
SCREEN = {"width": 1280, "height": 760}
DENSITY, COLOURS = 1.5, 128
SCROLL = """heading => {
    const figures = heading.closest("section").querySelectorAll(".figure");
    const { top } = [...figures].at(-1).getBoundingClientRect();
    scrollTo({ top: top + scrollY - 110, behavior: "instant" });
}"""  # below what stays at the top of the screen


def figure_text() -> str:
    """Draw which English words the trained translator attends to while it
    writes Nepali ones, the mean of the heads, as ribbons: the first page's
    picture."""
    record, pair = trained_trace(ENGLISH, NEPALI)
    # The place of [SOS] writes the first word; the full stop is left out.
    words = pair.tgt_words[0][1:5]
    weights = record.attention()[-1].weights[0].mean(0)[: len(words)]
    names = {"rows": words, "columns": pair.src_words[0], "row": "हरिलाई"}
    svg = ribbons(weights, **names, titles=[TITLE]).svg()
    return svg.replace("<svg ", '<svg class="figure" ', 1) + "\n"


def write_picture() -> None:
    """Write the picture of the first page."""
    FIRST_PAGE.write_text(figure_text(), "utf8")


def photograph() -> bytes:
    """Show the figure on a wide screen."""
    with browsers.chromium() as browser:
        look = {"device_scale_factor": DENSITY, "color_scheme": "light"}
        page = browser.new_page(viewport=SCREEN, **look)
        page.goto((ROOT / "_build" / "html" / f"{PAGE}.html").as_uri())
        heading = page.get_by_role("heading", name=SECTION)
        heading.last.evaluate(SCROLL)
        page.wait_for_timeout(500)  # what follows the page has arrived
        return page.screenshot(animations="disabled")


def write_preview() -> None:
    """Write the README's picture."""
    picture = Image.open(io.BytesIO(photograph())).convert("RGB")
    few = picture.quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(PREVIEW, optimize=True)


WRITE = {"picture": write_picture, "preview": write_preview}

if __name__ == "__main__":
    WRITE[sys.argv[1]]()

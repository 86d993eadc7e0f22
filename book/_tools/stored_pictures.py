"""Make the pictures that are stored beside the book. Of all but the last a
test tells whether they are old.

usage: stored_pictures.py picture | preview

`make picture` draws those of the first page, and `make preview` takes two
pictures of it from the built book: one of the whole screen, and the README's,
in which two change places and back.
"""

import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import browsers
import torch
from jinja2 import Template
from packages import ROOT
from pictures.alignment import ribbons
from pictures.turning import streams_of
from PIL import Image
from playwright.sync_api import Page
from torch.nn.functional import normalize

from shapewatch.tracing import Trace
from tformer_lite import sinusoids, trained_trace
from tformer_lite.example.shipped import nepali_tokenizer

STATIC_FILES = ROOT / "book" / "_static"
ENGLISH = "the hungry dog saw hari."
NEPALI = "भोको कुकुरले हरिलाई देख्यो ।"
FIRST_PAGE = STATIC_FILES / "alignment.svg"
STRIP = STATIC_FILES / "strip.html"
STRIP_FILE = ROOT / "book" / "_templates" / "strip.html"
STRIP_FORM = Template(STRIP_FILE.read_text("utf8"), keep_trailing_newline=True)
TITLE = "The trained translator's attention"
PREVIEW, SWAP = (STATIC_FILES / name for name in ("preview.png", "swap.webp"))
SCREEN = {"width": 1280, "height": 760}
DENSITY, COLOURS, MOTION_WIDTH = 1.5, 128, 800
FRAME, FRAMES, PAUSE = 40, 42, 1500  # milliseconds, of a swap, before it
Rows = list[list[float]]
LATER = """async time => {
    for (const each of document.getAnimations()) {
        each.pause();
        each.currentTime = (each.currentTime ?? 0) + time;
    }
    for (const _ of "12") await new Promise(requestAnimationFrame);
}"""


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


def strip_text() -> str:
    """Draw what the book draws, six times in small."""
    given, atlas = (
        json.loads((STATIC_FILES / name).read_text("utf8"))
        for name in ("translator.json", "atlas.json")
    )
    seen, _ = trained_trace(ENGLISH, NEPALI)
    weights = seen.attention()[-1].weights[0]
    rows = (dict(card["rows"])["parameters"] for card in atlas.values())
    counts = [int(row.split()[0].replace(",", "")) for row in rows]
    words, lines, tips = turned_arrow(seen)
    return STRIP_FORM.render(
        given,
        cross=weights.mean(0)[:4, 1:6].tolist(),
        head=weights[2, :6].tolist(),
        turn=list(zip([given["glosses"][x] for x in words], lines, tips)),
        waves=sinusoids(76, 32)[:, :12:2].T.tolist(),
        counts=sorted(counts),
    )


def turned_arrow(seen: Trace) -> tuple[list[str], Rows, Rows]:
    """Give what cross-attention turns at position 1: the likeliest words
    before and after, their lines, and the tips of the arrows."""
    streams, head = streams_of(seen, 0)
    best = head(streams)[:, 1].argmax(-1).tolist()
    lines = normalize(head.weight[best])
    plane = normalize(torch.stack([lines[1] - lines[0], lines.sum(0)])).mT
    places = ((x @ plane).tolist() for x in (lines, streams[:, 1]))
    return [nepali_tokenizer().words[i] for i in best], *places


DRAWN = {FIRST_PAGE: figure_text, STRIP: strip_text}


def write_picture() -> None:
    """Write the pictures of the first page."""
    for file, draw in DRAWN.items():
        file.write_text(draw(), "utf8")


def photograph(page: Page, **cut: Any) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot(**cut))).convert("RGB")


def swap_frames(page: Page) -> Iterator[Image.Image]:
    """Let two change places, and back, and show each frame."""
    box = page.locator("#landing").bounding_box()
    clip = box | {"y": box["y"] - 12, "height": box["height"] + 12}
    for _ in range(2):
        yield photograph(page, clip=clip)
        page.locator("#landing button").evaluate("button => button.click()")
        for _ in range(FRAMES):
            page.evaluate(LATER, FRAME)
            yield photograph(page, clip=clip)


def write_preview() -> None:
    """Write what is seen of the first page, and how two change places."""
    with browsers.chromium() as browser:
        look = {"device_scale_factor": DENSITY, "color_scheme": "light"}
        page = browser.new_page(viewport=SCREEN, **look)
        page.goto((ROOT / "_build" / "html" / "book/intro.html").as_uri())
        page.wait_for_timeout(1000)  # what follows the page has arrived
        few = photograph(page).quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(PREVIEW, optimize=True)
        page.set_viewport_size(SCREEN | {"width": MOTION_WIDTH})
        first, *others = swap_frames(page)
    half = [PAUSE, *[FRAME] * FRAMES]
    motion = {"save_all": True, "append_images": others, "loop": 0}
    first.save(SWAP, duration=half * 2, quality=70, method=6, **motion)


WRITE = {"picture": write_picture, "preview": write_preview}

if __name__ == "__main__":
    WRITE[sys.argv[1]]()

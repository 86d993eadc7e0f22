"""Write the prose of chapters 0 to 12 as a plain text, for the character
model to learn from.

The text is frozen: what was measured on it stands in the book. Who runs this
runs `make results` next.
"""

import html
import re
import sys
from pathlib import Path
from textwrap import fill

from roles import filled

ROOT = Path(__file__).parents[2]
TEXT = ROOT / "tformer_lite" / "example" / "texts" / "book.txt"
LAST = 12  # the chapters after it are about models that learned from it
WIDTH = 72
ASCII = {"−": "-", "·": "-", "∞": "inf"}
# What takes the place of what is no prose, in this order.
PROSE = {
    r"(?ms)\A---.*?^---$|^## Sources.*|^```.*?^```$|\$\$.*?\$\$": "",
    r"<[^>]+>": "",
    r"!?\[([^\]]*)\]\(\S*?\)": r"\1",
    r"(?m)^#+ ": "",
    r"(`[^`]+`)|\*{1,2}([^*]+)\*{1,2}": r"\1\2",
    r"`|(?<!\\)\$": "",
}


def prose(page: str) -> list[str]:
    """Give the paragraphs of a chapter, on one line each, without code,
    tables, tags, and those with signs that a keyboard lacks."""
    for pattern, words in PROSE.items():
        page = re.sub(pattern, words, page)
    page = html.unescape(page)
    for sign, plain in ASCII.items():
        page = page.replace(sign, plain)
    return [
        " ".join(part.split())
        for part in re.split(r"\n\n|\n(?=- |\d\. )", page)
        if part.strip() and part.isascii() and not re.search(r"[|\\]", part)
    ]


def book() -> str:
    """Put the chapters one after the other, in lines of `WIDTH`."""
    pages = sorted((ROOT / "chapters").glob("*.md"))[: LAST + 1]
    texts = [filled(page.read_text("utf8"), ROOT / "book") for page in pages]
    parts = [part for text in texts for part in prose(text)]
    lines = [fill(part, WIDTH, break_on_hyphens=False) for part in parts]
    return "\n\n".join(lines) + "\n"


def main() -> None:
    """Write the file anew."""
    TEXT.write_text(book(), "utf8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())

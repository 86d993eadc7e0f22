"""Draw the poster of chapter 12 as PDF: `make poster`.

In the file stands what it was made from, so that a test notices when it is
old.
"""

import hashlib
import sys
from pathlib import Path

from pictures.poster import poster

from tformer_lite import Picture, running_example, running_trace

ROOT = Path(__file__).parents[2]
FILE = ROOT / "book" / "_static" / "poster.pdf"
PICTURES = ROOT / "chapters" / "pictures"
DRAWN_BY = [PICTURES / f"{x}.py" for x in ("poster", "thumbs")]
DRAWN_BY += [ROOT / "tformer_lite" / "drawing" / "surface" / "palette.py"]


def drawn() -> Picture:
    """Draw the running model, reading the running example."""
    example = running_example()
    words = example.src_words[0], example.tgt_words[0]
    return poster(running_trace(), *words)


def digest(picture: Picture) -> str:
    """Sum up what a poster says, and the code that draws it."""
    code = [file.read_text("utf8") for file in DRAWN_BY]
    return hashlib.sha256("".join([picture.text, *code]).encode()).hexdigest()


def main() -> None:
    """Write the poster anew."""
    picture = drawn()
    about = {"Title": "The Transformer, Shape by Shape"}
    FILE.write_bytes(picture.pdf(Keywords=digest(picture), **about))
    print(f"The poster: {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())

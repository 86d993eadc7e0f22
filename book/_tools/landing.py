"""Draw the pictures of the first page: which English words the trained
translator attends to while it writes Nepali ones, and what two lines of code
do to two words. `make picture`."""

from pathlib import Path

import torch
from pictures.alignment import ribbons
from pictures.blocks import blocks

from tformer_lite import Picture, trained_trace

STATIC = Path(__file__).parents[1] / "_static"
ENGLISH, NEPALI = "that house was not big.", "त्यो घर ठूलो थिएन ।"


def alignment() -> Picture:
    """Draw the mean of the heads, for the words of the translation."""
    seen, pair = trained_trace(ENGLISH, NEPALI)
    # The place of [SOS] writes the first word; the full stop is left out.
    written = pair.tgt_words[0][1:5]
    weights = seen.attention()[-1].weights[0].mean(0)[: len(written)]
    title = ["The trained translator's attention"]
    words = {"rows": written, "columns": pair.src_words[0]}
    return ribbons(weights, **words, row="थिएन", titles=title)


def thirty_seconds() -> Picture:
    """Draw where the first page's line `a` puts each number."""
    x = torch.arange(24).view(2, 12)
    a = x.view(3, 2, 4)
    return blocks(x, a, words=["was", "not"])


PICTURES = {
    STATIC / f"{x.__name__}.svg": x for x in (alignment, thirty_seconds)
}


def drawn(file: Path) -> str:
    """Give what a file should say."""
    svg = PICTURES[file]().svg()
    return svg.replace("<svg ", '<svg class="figure" ', 1) + "\n"


if __name__ == "__main__":
    for file in PICTURES:
        file.write_text(drawn(file), "utf8")

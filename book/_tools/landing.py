"""Draw the picture of the first page from the trained translator: which
English words it attends to while it writes Nepali ones. `make picture`."""

from pathlib import Path

import torch

from tformer_lite import lay_out, ribbons, trace, trained_translator

PICTURE = Path(__file__).parents[1] / "_static" / "alignment.svg"
ENGLISH, NEPALI = "that house was not big.", "त्यो घर ठूलो थिएन ।"


def drawing() -> str:
    """Draw the mean of the heads, for the words of the translation."""
    found = trained_translator()
    pair = lay_out([(ENGLISH, NEPALI)], *found.tokenizers)
    with torch.no_grad():
        seen = trace(found.model, pair.src, pair.tgt, keep=True)
    # The place of [SOS] writes the first word; the full stop is left out.
    written = pair.tgt_words[0][1:5]
    weights = seen.attention()[-1].weights[0].mean(0)[: len(written)]
    title = ["The trained translator's attention"]
    words = {"rows": written, "columns": pair.src_words[0]}
    picture = ribbons(weights, **words, row="थिएन", titles=title)
    return picture.svg().replace("<svg ", '<svg class="figure" ', 1)


if __name__ == "__main__":
    PICTURE.write_text(drawing() + "\n", "utf8")

"""The sentence pair of the book, and the ids that its source gives it."""

from tformer_lite.text.datasets import Batch, lay_out
from tformer_lite.text.tokenizers import WordTokenizer

# The words whose ids the running example's source gives.
ENGLISH = {".": 4, "is": 9, "not": 19}
NEPALI = {"।": 4, "थिएन": 92, "खाली": 668}
PAIRS = (
    ("mouth is not empty.", "मुख खाली थिएन ।"),
    ("is not empty.", "खाली थिएन ।"),
)


def running_example(length: int = 8) -> Batch:
    """Load the book's two pairs, padded: -> (B, S), (B, T), (B, T).

    S = T = `length`, and rows are as `lay_out` makes them.

    >>> running_example().src_words[0][:5]
    ['[SOS]', 'mouth', 'is', 'not', 'empty']
    """
    return lay_out(
        PAIRS, WordTokenizer(ENGLISH), WordTokenizer(NEPALI), length
    )

"""How good a model's texts are."""

import math
from typing import NamedTuple

from tformer_lite.extras import library


class Score(NamedTuple):
    """A score from 0 to 100, and the settings that it was reached with.

    A score without its `signature` cannot be compared with another: Post
    (2018).
    """

    value: float
    signature: str


def perplexity(loss: float) -> float:
    """Turn a cross-entropy, in nats a token, into a number of tokens: from
    so many, all alike, a model would have to guess with that loss. More
    than a float can hold are infinitely many."""
    try:
        return math.exp(loss)
    except OverflowError:
        return math.inf


def exact_match(written: list[str], wanted: list[str]) -> float:
    """The share of texts that are what was wanted, letter for letter.

    Raises ValueError, as `bleu` and `chrf` do, unless there is one wanted
    text for each.
    """
    check_texts(written, wanted)
    return sum(map(str.__eq__, written, wanted)) / len(wanted)


def bleu(
    written: list[str], wanted: list[str], tokenize: str = "intl"
) -> Score:
    """Compare runs of one to four words: Papineni et al. (2002).

    The usual `tokenize`, "13a", leaves the danda at its word; "intl" cuts
    it off, as every punctuation mark; "none" takes words that are cut
    already, with spaces between them.
    """
    return score("BLEU", written, wanted, tokenize=tokenize)


def chrf(written: list[str], wanted: list[str]) -> Score:
    """Compare runs of one to six characters, spaces left out: Popović
    (2015)."""
    return score("CHRF", written, wanted)


def score(
    kind: str, written: list[str], wanted: list[str], **options: str
) -> Score:
    """Let one of sacrebleu's metrics compare all texts with those wanted."""
    check_texts(written, wanted)
    metric = getattr(library("sacrebleu.metrics"), kind)(**options)
    value = metric.corpus_score(written, [wanted]).score
    return Score(value, str(metric.get_signature()))


def check_texts(written: list[str], wanted: list[str]) -> None:
    """Raise ValueError unless there are as many texts as are wanted."""
    if len(written) != len(wanted) or not wanted:
        raise ValueError(
            f"{len(written)} texts written, {len(wanted)} wanted: give one "
            "wanted text for each written, and at least one."
        )

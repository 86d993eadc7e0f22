"""How good a model's texts are."""

import math


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

    Raises ValueError unless there is one wanted text for each, and one at
    least.
    """
    if len(written) != len(wanted) or not wanted:
        raise ValueError(
            f"{len(written)} texts written, {len(wanted)} wanted: give one "
            "wanted text for each written, and at least one."
        )
    return sum(map(str.__eq__, written, wanted)) / len(wanted)

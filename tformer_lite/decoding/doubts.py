"""Whether a translation can be trusted: is its sentence like those that a
model was trained on, and is the model sure of what it writes?"""

from collections import defaultdict
from itertools import pairwise

from torch import Tensor

from tformer_lite.model.models import EncoderDecoder
from tformer_lite.model.modes import evaluating
from tformer_lite.text.tokenizers import PAD, UNK

ALIKE = 0.1  # chosen on the corpus's validation sentences
RARELY = 0.02


def word_pairs(src: Tensor) -> Tensor:
    """List which ids follow each other in rows: (B, S) -> (N, 2).

    Each pair comes once, in order; [UNK] and [PAD] are in none.
    """
    pairs = src.unfold(1, 2, 1).flatten(0, 1)
    known = ((pairs != UNK) & (pairs != PAD)).all(1)
    return pairs[known].unique(dim=0)


def telling_pairs(train: Tensor, valid: Tensor) -> Tensor:
    """List the `word_pairs` of the sentences of a training, if they tell a
    sentence that is like them from one that is not: (B, S), (N, S) -> (P, 2).

    They do where at most 2 % of other sentences, `valid`, have pairs that
    are strange to them. In a text that people wrote most sentences have
    some: then there are no pairs, (0, 2), and nothing is strange.
    """
    pairs = word_pairs(train)
    usual = Usual(pairs)
    strange = sum(bool(usual.strange(row)) for row in valid.tolist())
    return pairs if strange <= RARELY * len(valid) else pairs[:0]


class Usual:
    """Which ids may follow each other, by the `pairs` of a training: (N, 2).

    A pair that was not seen is usual all the same if others may stand in
    for it: before its second id some id that has at least a tenth of its
    followers in common with the first (of all that follow the one or the
    other), and after the first some id that is as like the second. So
    *strong table* is usual when there are *strong chair*, *big chair* and
    *big table*. Without pairs, everything is.
    """

    def __init__(self, pairs: Tensor):
        self.after: dict[int, set[int]] = defaultdict(set)
        self.before: dict[int, set[int]] = defaultdict(set)
        for first, second in pairs.tolist():
            self.after[first].add(second)
            self.before[second].add(first)

    def strange(self, row: list[int]) -> list[tuple[int, int]]:
        """List the pairs of a row of ids that are not usual."""
        if not self.after:
            return []
        known = [{UNK, PAD}.isdisjoint(pair) for pair in pairwise(row)]
        pairs = [pair for pair, here in zip(pairwise(row), known) if here]
        return [pair for pair in pairs if not self.fits(*pair)]

    def fits(self, first: int, second: int) -> bool:
        """Whether a pair was seen, or others may stand in for it."""
        after, before = self.after[first], self.before[second]
        return second in after or (
            any(shared(after, self.after[other]) for other in before)
            and any(shared(before, self.before[other]) for other in after)
        )


def shared(one: set[int], other: set[int]) -> bool:
    """Whether two sets have a tenth of all that is in them in common."""
    return len(one & other) >= ALIKE * len(one | other)


def least_sure(model: EncoderDecoder, src: Tensor, row: Tensor) -> float:
    """Give the lowest probability of the tokens of a translation, each after
    those before it: (1, S), (T) -> a number.

    Those after the first count, up to the end. A `row` of one token has
    none, which is certain: 1.
    """
    row = row[row != PAD]
    if len(row) < 2:
        return 1.0
    with evaluating(model):
        logits = model(src, row[None, :-1])[0]
    chosen = logits.softmax(-1).gather(-1, row[1:, None])
    return chosen.min().item()

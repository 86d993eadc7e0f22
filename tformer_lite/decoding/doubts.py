"""Whether a translation can be trusted: is its sentence like those that a
model was trained on, and is the model sure of what it writes?"""

from collections import defaultdict
from itertools import chain, pairwise

from torch import Tensor

from tformer_lite.model.models import EncoderDecoder
from tformer_lite.model.modes import evaluating
from tformer_lite.text.tokenizers import PAD, UNK

ALIKE = 0.15  # chosen on the corpus, with sentences unlike those in it
RARELY = 0.02


def word_triples(src: Tensor) -> Tensor:
    """List which three ids follow each other in rows: (B, S) -> (N, 3).

    Each three come once, in order; [UNK] and [PAD] are in none.
    """
    triples = src.unfold(1, 3, 1).flatten(0, 1)
    known = ((triples != UNK) & (triples != PAD)).all(1)
    return triples[known].unique(dim=0)


def telling_triples(train: Tensor, valid: Tensor) -> Tensor:
    """List the `word_triples` of the sentences of a training, if they tell
    sentences like these from others: (B, S), (P, S) -> (N, 3).

    They do where at most 2 % of other sentences, `valid`, seem strange by
    them. Of free texts, most do: then there are no triples, (0, 3), and
    nothing is strange.
    """
    triples = word_triples(train)
    usual = Usual(triples)
    strange = sum(bool(usual.strange(row)) for row in valid.tolist())
    return triples if strange <= RARELY * len(valid) else triples[:0]


class Usual:
    """Which ids may follow each other, by `triples` of a training: (N, 3).

    Three ids are usual if they were seen, or if three were seen that may
    stand in for them: of all that follows an id or its stand-in, and of all
    that comes before, 15 % are the same for both. So *a strong table* is
    usual if *a strong chair* was seen, and *chair* and *table* have other
    neighbours in common. Without triples, everything is usual.
    """

    def __init__(self, triples: Tensor):
        self.after: dict[int, set[int]] = defaultdict(set)
        self.before: dict[int, set[int]] = defaultdict(set)
        self.around: dict[int, set[tuple[int, int]]] = defaultdict(set)
        self.found: dict[int, set[int]] = {}
        for first, middle, last in triples.tolist():
            self.around[middle].add((first, last))
            for one, other in ((first, middle), (middle, last)):
                self.after[one].add(other)
                self.before[other].add(one)

    def strange(self, row: list[int]) -> list[tuple[int, ...]]:
        """List what is not usual in a row of ids: pairs that were not seen,
        of ids that do not fit, or else all three."""
        threes = zip(row, row[1:], row[2:]) if self.around else ()
        known = [three for three in threes if {UNK, PAD}.isdisjoint(three)]
        odd = [self.new_in(three) for three in known if not self.fits(*three)]
        return [*dict.fromkeys(chain(*odd))]

    def new_in(self, three: tuple[int, ...]) -> list[tuple[int, ...]]:
        """List the pairs of three ids that were not seen, or else these."""
        pairs: list[tuple[int, ...]] = [*pairwise(three)]
        return [(a, b) for a, b in pairs if b not in self.after[a]] or [three]

    def fits(self, first: int, middle: int, last: int) -> bool:
        """Whether three ids, or others like them, were seen."""
        firsts, lasts = self.like(first), self.like(last)
        return any(
            one in firsts and other in lasts
            for stand_in in self.like(middle)
            for one, other in self.around[stand_in]
        )

    def like(self, one: int) -> set[int]:
        """Find the ids that may stand in for one: itself, and others."""
        if one not in self.found:
            ids = self.after.keys() & self.before.keys()
            self.found[one] = {one} | {x for x in ids if self.alike(one, x)}
        return self.found[one]

    def alike(self, one: int, other: int) -> bool:
        """Whether two ids have enough neighbours in common, on each side."""
        sides = self.after, self.before
        return all(overlap_enough(side[one], side[other]) for side in sides)


def overlap_enough(one: set[int], other: set[int]) -> bool:
    """Whether two sets have enough of all that is in them in common."""
    return len(one & other) >= ALIKE * len(one | other) > 0


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

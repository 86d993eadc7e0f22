"""Exercises on heads that have no solution in the book."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

TALKING_HEADS = {
    "before": {
        "rows": "",
        "columns": "`before` was read by columns: row m says how much of "
        "each head goes into the scores of head m",
        "left": "the scores were not mixed before the softmax",
    },
    "after": {
        "rows": "",
        "columns": "`after` was read by columns: row m says how much of "
        "each head goes into the weights of head m",
        "left": "the weights were not mixed after the softmax",
        "results": "`after` mixed what the heads bring back: it mixes "
        "the weights, before they meet the values",
        "early": "`after` mixed the scores: it mixes what comes out of "
        "the softmax",
    },
    "places": {
        "own": "",
        "exchanged": "`before` and `after` have changed places",
    },
    "softmax": {
        "keys": "",
        "queries": "softmax over the queries: each column sums to 1, and "
        "each row should",
        "heads": "softmax over the heads: it belongs to the keys, the "
        "last axis",
        "left": "there is no softmax between the two",
    },
}


class TalkingHeads(Exercise):
    """Mix the heads before the softmax and after it."""

    chapter, kind, minutes, level = 5, "line", 15, 2
    title = "Talking heads"
    teaches = "a matrix product along the axis of the heads"
    axes = "scores: B H T S, v: B H S D, before: H H, after: H H -> B H T D"
    dependence = "v 1 -> 1"
    assignable = True
    switches = TALKING_HEADS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Matrices that are not symmetric, then large scores."""
        for about in ("", "", LARGE_SCORES):
            sizes = draw.sizes("B T S H D")
            b, t, s, h, d = sizes.values()
            scores = draw.numbers(b, h, t, s, scale=60 if about else 1)
            before, after = draw.numbers(h, h), draw.numbers(h, h)
            if about:  # numbers that are added without rounding
                scores, before = scores.round(), (4 * before).round() / 4
            args = scores, draw.numbers(b, h, s, d), before, after
            yield Case(args, sizes, about)

    def answer(
        self, case: Case, before: str, after: str, places: str, softmax: str
    ) -> Tensor:
        """Do one step after the other, each as its switch says."""
        scores, v, *mixes = case.args
        first, second = mixes if places == "own" else mixes[::-1]
        ways = {"rows": "mh,bh...->bm...", "columns": "hm,bh...->bm..."}
        if way := ways.get(before):
            scores = torch.einsum(way, first, scores)
        if after == "early":
            scores = torch.einsum(ways["rows"], second, scores)
        axis = {"keys": 3, "queries": 2, "heads": 1}.get(softmax)
        weights = scores if axis is None else scores.softmax(axis)
        if way := ways.get(after):
            weights = torch.einsum(way, second, weights)
        if after == "results":
            return torch.einsum(ways["rows"], second, weights @ v)
        return weights @ v


LARGE_SCORES = (
    "large scores overflow in exp: use torch.softmax, or subtract the row's "
    "maximum first"
)

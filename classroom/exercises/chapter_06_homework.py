"""Exercises on scores that have no solution in the book."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

CAPPED_SCORES = {
    "divisor": {
        "root": "",
        "none": "no 1/√D: the scores grow with the width of a head",
        "whole": "divided by D: its root is enough",
        "late": "the scores are divided by √D after the cap: divide "
        "first, and cap what comes of it",
    },
    "cap": {
        "soft": "",
        "hard": "the scores are cut off at the cap: a tanh bends them",
        "inner": "tanh gives numbers between −1 and 1: multiply them by "
        "the cap",
        "outer": "the scores go into tanh as they are: divide them by "
        "the cap first",
        "none": "the scores are not capped",
    },
    "mask": {
        "after": "",
        "before": "hidden places became −∞ before the cap, which makes "
        "−cap of them, and that hides nothing: hide after the cap",
        "polarity": "the mask's polarity: True means may attend",
        "zero": "hidden places are 0, which is a score like any other: "
        "they should be −∞",
        "none": "nothing is hidden",
    },
}


class CappedScores(Exercise):
    """Keep scores between two bounds, without a corner."""

    chapter, kind, minutes, level = 6, "line", 10, 2
    title = "Capped scores"
    teaches = "divide, cap, hide: the order of three steps"
    axes = "q: B H T D, k: B H S D, mask: B 1 T S, cap: -> B H T S"
    assignable = True
    switches = CAPPED_SCORES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Scores on both sides of the cap; large ones; and an empty row."""
        for about in ("", "", LARGE_TANH, NOBODY):
            sizes = draw.sizes("B T S H D")
            b, t, s, h, d = sizes.values()
            q, k = draw.numbers(b, h, t, d, scale=2), draw.numbers(b, h, s, d)
            if about == LARGE_TANH:
                q, k = 1000 * (q.abs() + 1) * q[..., :1].sign(), k.abs() + 1
            mask = draw.flags(b, 1, t, s)
            if about == NOBODY:
                mask[0, 0, 1] = False
            cap = 1.5 + draw.below(30) / 10
            yield Case((q, k, mask, cap), sizes, about)

    def answer(self, case: Case, divisor: str, cap: str, mask: str) -> Tensor:
        """Do one step after the other, each as its switch says."""
        q, k, seen, most = case.args
        d = q.shape[-1]
        first = {"root": d**-0.5, "whole": 1 / d}
        scores = torch.einsum("bhtd,bhsd->bhts", q, k) * first.get(divisor, 1)
        if mask == "before":
            scores = scores.masked_fill(~seen, -math.inf)
        inner = most if cap in ("soft", "inner") else 1
        outer = most if cap in ("soft", "outer") else 1
        bent = outer * (scores / inner).tanh()
        kept = {"hard": scores.clamp(-most, most), "none": scores}
        scores = kept.get(cap, bent)
        if divisor == "late":
            scores = scores * d**-0.5
        hide = {"after": ~seen, "zero": ~seen, "polarity": seen}.get(mask)
        if hide is None:
            return scores
        return scores.masked_fill(hide, 0 if mask == "zero" else -math.inf)


ALIBI_BIAS = {
    "first": {
        "one": "",
        "zero": "the heads are counted from 0 in the exponent: the first "
        "has h = 1, and its slope is below 1",
    },
    "ratio": {
        "eight": "",
        "fixed": "the exponent is h alone: it is 8h/H, so that the last "
        "head has the same slope however many there are",
        "plain": "the exponent is h/H: it is 8h/H",
        "reversed": "the heads stand in reverse: the first falls fastest",
        "natural": "the slopes are powers of e: they are powers of 2",
    },
    "distance": {
        "back": "",
        "sign": "the bias grows with the distance: what is further back "
        "should lose more",
        "one": "a position is at distance 0 from itself, and its bias is 0",
        "start": "the bias is slope · j, counted from the beginning: a "
        "softmax gives the same weights, but asked is −slope · (i − j)",
    },
    "future": {
        "hidden": "",
        "mirrored": "the future has a bias as the past has: it should be −∞",
        "zero": "the future has the bias 0: it should be −∞",
        "raised": "the bias is positive where j > i, and raises what "
        "comes later: it should be −∞ there",
        "turned": "past and future are exchanged: row i asks, column j "
        "answers",
    },
}


class AlibiBias(Exercise):
    """Let a score fall with the distance, in each head otherwise fast."""

    chapter, kind, minutes, level = 6, "line", 15, 2
    title = "A bias for distance"
    teaches = "distances as a matrix, and a slope for each head"
    axes = "n_heads:, t: -> H T T"
    assignable = True
    switches = ALIBI_BIAS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Few heads and many; then one, and eight."""
        one = "a single head has the slope 2 to the power −8"
        for heads, about in ((2, 4), ""), ((16,), ""), ((1,), one):
            t = draw.sizes("T")["T"]
            h = heads[draw.below(len(heads))]
            yield Case((h, t), {"H": h, "T": t}, about)

    def answer(
        self, case: Case, first: str, ratio: str, distance: str, future: str
    ) -> Tensor:
        """Put together a slope for each head, and the distances."""
        h, t = case.args
        numbers = torch.arange(h) + {"one": 1.0, "zero": 0.0}[first]
        step = {"fixed": 1, "plain": 1 / h}.get(ratio, 8 / h)
        base = math.e if ratio == "natural" else 2
        slopes = base ** (-step * numbers)
        slopes = slopes.flip(0) if ratio == "reversed" else slopes
        i, j = torch.meshgrid(torch.arange(t), torch.arange(t), indexing="ij")
        if future == "turned":
            i, j = j, i
        behind = {"start": -j, "sign": j - i, "one": i - j + 1}
        bias = -slopes[:, None, None] * behind.get(distance, i - j)
        later = {"zero": torch.zeros(()), "raised": bias}
        later |= {"mirrored": -bias}
        beyond = later.get(future, torch.tensor(-math.inf))
        return torch.where(j > i, beyond, bias)


LARGE_TANH = "large scores overflow in exp: use torch.tanh"
NOBODY = "a row that may attend to nobody is −∞ from end to end"

"""Exercises on scores."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from tformer_lite.model.attention import split_heads
from tformer_lite.model.variants import softmax as shares_of


class ScoresShape(Exercise):
    """Predict the shape of the scores between two sequences."""

    chapter, kind, minutes, level = 6, "shape", 5, 1
    title = "The shape of the scores"
    teaches = "the row asks, the column answers"
    axes = "B:, T:, S:, C:, H: -> B H T S"
    switches = {
        "sides": {
            "asks": "",
            "answers": "rows and columns are exchanged: the row asks, the "
            "column answers",
            "queries": "those who answer are the S positions of the source",
        },
        "heads": {
            "second": "",
            "missing": "each head has scores of its own",
            "third": "the heads stand before the positions: each is a "
            "problem of its own",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sizes that are all different."""
        for _ in range(3):
            sizes = draw.sizes("B T S H D C=H*D")
            yield Case(tuple(sizes[a] for a in "BTSCH"), sizes)

    def answer(self, case: Case, sides: str, heads: str) -> tuple[int, ...]:
        """Put the axes together."""
        b, t, s, _, h = case.args
        pairs = {"asks": (t, s), "answers": (s, t), "queries": (t, t)}
        one, other = pairs[sides]
        if heads == "missing":
            return b, one, other
        return (b, one, h, other) if heads == "third" else (b, h, one, other)


class EncoderScores(Exercise):
    """Find the width that the root is of."""

    chapter, kind, minutes, level = 6, "bug", 5, 1
    title = "Whose root"
    teaches = "the divisor is the root of one head's width"
    axes = "x: B T C, w_q: C C, w_k: C C, n_heads: -> B H T T"
    switches = {
        "divisor": {
            "root of D": "",
            "root of C": "the divisor is the root of C, the model's width: "
            "it is the root of D, the width of one head",
            "D": "divided by D: its root is enough, for it is the variance "
            "that grows with D",
            "one": "no divisor: the scores grow with the width of a head",
            "root of T": "the divisor is the root of the number of "
            "positions: it is the root of D, the width of one head",
        },
        "sides": {
            "queries": "",
            "keys": "rows and columns are exchanged: the row asks, so the "
            "queries stand on the left",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Widths and lengths that are all different."""
        for _ in range(2):
            sizes = draw.sizes("B T H D C=H*D")
            b, t, h, _, c = sizes.values()
            weights = (draw.numbers(c, c, scale=c**-0.5) for _ in "qk")
            yield Case((draw.numbers(b, t, c), *weights, h), sizes)

    def answer(self, case: Case, divisor: str, sides: str) -> Tensor:
        """Multiply, and divide by what the switch says."""
        x, w_q, w_k, h = case.args
        q, k = (split_heads(x @ w.mT, h) for w in (w_q, w_k))
        t, d = q.shape[-2:]
        squares = {"root of D": d, "root of C": h * d, "D": d * d, "one": 1}
        raw = q @ k.mT if sides == "queries" else k @ q.mT
        return raw / math.sqrt(squares.get(divisor, t))


MEAN_SLOPES = {
    "order": {
        "divided": "",
        "raw": "the two have changed places: divided comes first",
    },
    "divisor": {
        "root": "",
        "whole": "the scores are divided by D: divide by its root",
    },
    "softmax": {
        "keys": "",
        "queries": "softmax over the queries: each column sums to 1, and "
        "each row should",
    },
    "slope": {
        "slope": "",
        "share": "that is the mean of w: the slope is w (1 − w)",
        "summed": "the slopes of a row were added up: average over the "
        "keys too",
        "square": "that is the mean of (1 − w)²: the slope is w (1 − w)",
    },
}


class MeanSlopes(Exercise):
    """Measure how easily a share moves, divided and not."""

    chapter, kind, minutes, level = 6, "ablation", 10, 2
    title = "The slope"
    teaches = "what large scores do to training"
    axes = "q: B T D, k: B S D ->"
    switches = MEAN_SLOPES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """More keys than queries or fewer, then large scores."""
        for about in ("", "", LARGE_SCORES):
            sizes = draw.sizes("B T S D")
            b, t, s, d = sizes.values()
            q = draw.numbers(b, t, d, scale=200 if about else 1.5)
            yield Case((q, draw.numbers(b, s, d)), sizes, about)

    def answer(
        self, case: Case, order: str, divisor: str, softmax: str, slope: str
    ) -> tuple[Tensor, ...]:
        """Average over the rows, with a divisor and without."""
        q, k = case.args
        d = q.shape[-1]
        divisors = [d if divisor == "whole" else math.sqrt(d), 1]
        found = []
        for number in divisors if order == "divided" else divisors[::-1]:
            scores = q @ k.mT / number
            w = shares_of(scores)
            if softmax == "queries":
                w = shares_of(scores.mT).mT
            means = {"slope": w * (1 - w), "share": w, "square": (1 - w) ** 2}
            summed = means["slope"].sum(-1).mean()
            one = summed if slope == "summed" else means[slope].mean()
            found.append(one)
        return tuple(found)


class WhyDivide(Exercise):
    """Say what the divisor is for."""

    chapter, kind, minutes, level = 6, "explain", 10, 2
    title = "Why the root, and why at all"
    teaches = "the argument for the divisor"
    rubric = (
        "how the variance of a score depends on D without a divisor",
        "what large scores do to the shares, and to training",
        "what the root does to the variance, and what D would do",
    )


class OwnVariance(Exercise):
    """Measure a variance where queries and keys are the same."""

    chapter, kind, minutes, level = 6, "ablation", 5, 2
    title = "Not so independent"
    teaches = "what the argument about variances assumes"
    tolerance = 0.1
    switches = {
        "what": {
            "divided": "",
            "independent": "that holds for independent queries and keys: "
            "here each product is a square, and squares vary more",
            "raw": "that is the variance before the scores are divided by "
            "the root of D",
            "mean": "that is the mean of these scores: how much do they vary "
            "around it",
            "spread": "that is the standard deviation: the variance is its "
            "square",
            "whole": "divided by D: divide by its root",
        },
    }

    def answer(self, case: Case, what: str) -> Tensor:
        """Measure it over 40,000 words."""
        x = torch.randn(40_000, 64, generator=torch.Generator().manual_seed(6))
        raw = (x * x).sum(-1)
        scores = raw / math.sqrt(64)
        found = {"divided": scores.var(), "raw": raw.var()}
        found |= {"mean": scores.mean(), "spread": scores.std()}
        found |= {"whole": (raw / 64).var()}
        return found.get(what, torch.tensor(1.0))


LARGE_SCORES = (
    "large scores overflow in exp: use softmax, or subtract the row's "
    "maximum first"
)

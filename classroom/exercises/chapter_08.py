"""Exercises on the softmax, the weighted sum and joining the heads."""

from collections.abc import Callable, Iterable
from functools import cache

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from tformer_lite.example.running import running_trace

SOFTMAX = {
    "axis": {
        "keys": "",
        "queries": "softmax over the queries: each column sums to 1, and "
        "each row should",
        "heads": "softmax over the heads: they divide one unit between "
        "them, and each row should sum to 1",
    },
    "divisor": {
        "sum": "",
        "mean": "divided by the mean of the exponentials, and should be "
        "by their sum",
        "largest": "divided by the largest exponential: the largest "
        "weight is 1, and the sum of the row should be",
    },
    "sign": {
        "plus": "",
        "minus": "the sign of the scores is turned: the lowest score "
        "gets the largest weight",
    },
}


class RowSoftmax(Exercise):
    """Write the softmax, so that it holds for every score."""

    chapter, kind, minutes, level = 8, "line", 10, 2
    title = "A softmax that holds"
    teaches = "softmax along the keys, minus the row's maximum"
    axes = "scores: B H T S -> B H T S"
    dependence = "scores 2 -> 2"
    switches = SOFTMAX

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Some scores of −∞; then uneven, loud and empty rows."""
        for _ in range(2):
            sizes = draw.sizes("B T S H")
            shape = [sizes[a] for a in "BHTS"]
            scores, hidden = (
                draw.numbers(*shape),
                draw.flags(*shape, share=0.3),
            )
            hidden[..., 0] = hidden[:, :, 0] = hidden[:, 0] = False
            yield Case((scores.masked_fill(hidden, -torch.inf),), sizes)
        uneven = scores + 45
        uneven[:, :, 0] -= 110
        far = "a row far below the largest score of all comes out empty: "
        far += "subtract each row's own maximum"
        yield Case((uneven,), sizes, far)
        loud = "large scores overflow: subtract the row's maximum before exp"
        yield Case((60 * scores,), sizes, loud)
        empty = scores.clone()
        empty[0, 0, 0] = empty[1, 1, 1] = -torch.inf
        none = "a row in which every score is −∞ should give zeros, and −∞ "
        none += "minus −∞ or 0 divided by 0 is NaN"
        yield Case((empty,), sizes, none)

    def answer(self, case: Case, axis: str, divisor: str, sign: str) -> Tensor:
        """Take exponentials, and divide; doubles are wide enough."""
        (scores,) = case.args
        along = {"keys": -1, "queries": -2, "heads": 1}[axis]
        exps = (scores if sign == "plus" else -scores).double().exp()
        by: dict[str, Callable[..., Tensor]]
        by = {"sum": exps.sum, "mean": exps.mean, "largest": exps.amax}
        total = by[divisor](along, keepdim=True)
        return exps / total.masked_fill(total == 0, 1)


class JoinedHeads(Exercise):
    """Find what is wrong with a join that keeps the shape."""

    chapter, kind, minutes, level = 8, "bug", 5, 1
    title = "A hasty join"
    teaches = "join the heads: transpose before flatten"
    axes = "heads: B H T D -> B T C"
    dependence = "heads 2 -> 1"
    switches = {
        "turn": {
            "done": "",
            "left": "H and T were not turned back: reshape cuts the numbers "
            "as they lie in memory, and gives a position what belongs to "
            "others",
        },
        "lay": {
            "side by side": "",
            "alternating": "the heads alternate channel by channel, and "
            "should lie side by side: first all channels of head 0, then "
            "those of head 1",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Numbers that are all different."""
        for _ in range(2):
            sizes = draw.sizes("B T H D C=H*D")
            shape = [sizes[a] for a in "BHTD"]
            yield Case((draw.tags(*shape).float(),), sizes)

    def answer(self, case: Case, turn: str, lay: str) -> Tensor:
        """Turn the axes round or not, and merge two of them."""
        (heads,) = case.args
        b, h, t, d = heads.shape
        axes = {"done": (2, 1, 3), "left": (1, 2, 3)}[turn]
        if lay == "alternating":
            axes = {"done": (2, 3, 1), "left": (1, 3, 2)}[turn]
        return heads.permute(0, *axes).reshape(b, t, h * d)


@cache
def running_scores(number: int) -> Tensor:
    """Give the encoder's scores in the running model, before the mask (0) or
    after it (1): (B, H, S, S)."""
    path = "encoder.blocks.0.self_attention:scores"
    return running_trace()[path, number]


class HotAndCold(Exercise):
    """Multiply the scores, and measure the largest weights."""

    chapter, kind, minutes, level = 8, "ablation", 10, 1
    title = "Hot and cold"
    teaches = "large scores make a softmax choose, small ones average"
    tolerance = 1e-2
    switches = {
        "factor": {
            "scores": "",
            "weights": "the factor went to the weights: multiply the scores, "
            "and take the softmax afterwards",
        },
        "order": {
            "as asked": "",
            "reversed": "the three numbers stand in reversed order: times 10 "
            "comes first",
        },
        "over": {
            "rows": "",
            "columns": "the largest of each column: a row is what one word "
            "asks, so amax runs over the last axis",
            "everything": "the largest weight of all: take the largest of "
            "each row, then the mean of these",
        },
        "scores": {
            "masked": "",
            "before": "these are the scores before the mask, and [PAD] takes "
            "its share of them: take number 1",
        },
    }

    def answer(
        self, case: Case, factor: str, order: str, over: str, scores: str
    ) -> tuple[float, ...]:
        """Measure the running model."""
        given = running_scores(int(scores == "masked"))
        found = []
        for times in (10, 1, 0.1) if order == "as asked" else (0.1, 1, 10):
            if factor == "scores":
                weights = (times * given).softmax(-1)
            else:
                weights = times * given.softmax(-1)
            axes = {"rows": [-1], "columns": [-2]}.get(over, [0, 1, 2, 3])
            found.append(weights.amax(axes).mean().item())
        return tuple(found)


class AllAlike(Exercise):
    """Say what a weighted average of equal values is."""

    chapter, kind, minutes, level = 8, "explain", 5, 1
    title = "All alike"
    teaches = "a row of the output is an average of values"
    rubric = (
        "what every word receives, whatever its scores",
        "the reason: the property of a row of weights that it follows from",
        "the exception: a row in which every score is −∞",
    )


SINK = {
    "sink": {
        "joins": "",
        "missing": "the sink takes no share and every row sums to 1: it "
        "is missing in the denominator, or was divided away again, or "
        "added to all scores, which changes nothing",
        "raw": "the sink stands in the denominator as it is, and should "
        "as its exponential",
        "turned": "the sink's sign is turned: a higher logit should take "
        "a larger share",
    },
    "mask": {
        "hides": "",
        "turned": "the mask's polarity: True means may attend",
        "ignored": "the mask is not used: hidden keys get weights",
        "late": "the mask comes after the softmax: hidden keys take "
        "their share of the denominator first",
        "zero": "a hidden score was set to 0, and e to the power 0 is 1: "
        "set it to −∞",
    },
    "axis": {
        "keys": "",
        "queries": "the sum runs over the queries: it belongs to a row, "
        "which is the last axis",
    },
}


LOUD_ROWS = (
    "large scores overflow, or leave nothing of a row of low ones: subtract "
    "the largest of the row before exp, the sink among it"
)
ONE_KEY = "a row with one visible key shares with the sink alone"
NO_KEY = (
    "a row with no visible key should give zeros: there the sink takes all"
)


class SinkWeights(Exercise):
    """Give each head a learned score that takes a share and hands over
    nothing."""

    chapter, kind, minutes, level = 8, "line", 20, 3
    title = "A sink for attention"
    teaches = "an attention sink: one more term in the denominator"
    axes = "scores: B H T S, mask: B 1 T S, sink: H -> B H T S"
    dependence = "scores 2 -> 2"
    assignable = True
    switches = SINK

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Masked scores; then loud ones, and an empty row."""
        for _ in range(2):
            sizes = draw.sizes("B T S H")
            shape = [sizes[a] for a in "BHTS"]
            scores, sink = draw.numbers(*shape), draw.numbers(shape[1])
            mask = draw.flags(shape[0], 1, *shape[2:])
            mask[..., 0] = mask[..., 0, :] = True
            yield Case((scores, mask, sink), sizes)
        yield Case((60 * scores, mask, sink), sizes, LOUD_ROWS)
        one, empty = mask.clone(), mask.clone()
        one[..., 1, :] = torch.arange(shape[-1]) == 2
        yield Case((scores, one, sink), sizes, ONE_KEY)
        empty[..., 1, :] = False
        yield Case((scores, empty, sink), sizes, NO_KEY)

    def answer(self, case: Case, sink: str, mask: str, axis: str) -> Tensor:
        """Divide exponentials by their sum and what the sink adds to it."""
        scores, allowed, logits = (x.double() for x in case.args)
        never = torch.zeros_like(allowed)
        shut = {"turned": allowed, "late": never, "ignored": never}
        shut = {"hides": 1 - allowed, "zero": 1 - allowed} | shut
        e = {"zero": 1.0}.get(mask, 0.0)
        exps = scores.exp().where(shut[mask] == 0, e)
        more = {
            "joins": logits.exp(),
            "raw": logits,
            "turned": (-logits).exp(),
        }
        extra = more.get(sink, 0 * logits)[:, None, None]
        total = extra + exps.sum({"keys": 3, "queries": 2}[axis], True)
        share = exps / total.where(total != 0, 1)
        return share * allowed if mask == "late" else share

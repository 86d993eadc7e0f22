"""Exercises on the encoder: checks that a block and a stack must pass."""

from collections.abc import Iterable
from copy import deepcopy
from itertools import pairwise

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.exercises.chapter_10 import drawn_norm
from classroom.stubs import (
    Projection,
    StackOfWeights,
    Sublayer,
    TwoStepBlock,
)

EMPTIED = {
    "emptied": {
        "both": "",
        "attention": "only the output weights of attention are set to 0: the "
        "feed-forward layer still adds",
        "feed-forward": "only the output weights of the feed-forward layer "
        "are set to 0: attention still adds",
        "none": "nothing is set to 0: what the two layers add is still there",
        "norms": "the norms are set to 0 as well: a block that keeps what a "
        "norm made looks like one that keeps nothing",
    },
    "compared": {
        "x": "",
        "before": "what comes out is compared with what the block gave "
        "before: compare it with x",
        "nothing": "what comes out is not compared with x",
    },
    "measure": {
        "largest": "",
        "signed": "a difference below 0 counts as small: take abs before the "
        "maximum",
        "mean": "the differences are averaged: the largest is asked for",
        "sum": "the differences are added up: the largest is asked for",
    },
}


class EmptiedDifference(Exercise):
    """Empty a block, and measure what is left of x."""

    chapter, kind, minutes, level = 10, "ablation", 12, 2
    title = "The empty block"
    teaches = "a pre-norm block that adds nothing gives x back"
    axes = "block, x: B T C ->"
    switches = EMPTIED

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A right block, and three that lose x on the way."""
        for form in ("pre", "normed", "lost", "late"):
            sizes = draw.sizes("B T C")
            b, t, c = (sizes[a] for a in "BTC")
            attention, feed_forward = (
                Sublayer(Projection(draw.numbers(c, c, scale=c**-0.5)), mixes)
                for mixes in (True, False)
            )
            norms = [drawn_norm(draw, c) for _ in range(2)]
            x = 2 * draw.numbers(b, t, c)
            x = x if x.max() > -x.min() else -x  # -x is lowest, if x is lost
            block = TwoStepBlock(attention, feed_forward, norms, form)
            yield Case((block, x), sizes)

    def answer(
        self, case: Case, emptied: str, compared: str, measure: str
    ) -> float:
        """Set weights of a copy to 0, and compare."""
        block, x = deepcopy(case.args)
        with_x = {"x": x, "before": block(x)}.get(compared, 0 * x)
        parts = {
            "attention": [block.self_attention.output.weight],
            "feed-forward": [block.feed_forward.output.weight],
        }
        both = [*parts["attention"], *parts["feed-forward"]]
        parts |= {"both": both, "none": []}
        norms = [w for n in block.norms for w in (n.weight, n.bias)]
        for weight in parts.get(emptied, [*both, *norms]):
            weight.zero_()
        far = block(x) - with_x
        found = {"signed": far.max(), "mean": far.abs().mean()}
        found |= {"sum": far.abs().sum(), "largest": far.abs().max()}
        return found[measure].item()


COUNTED = {
    "held": {
        "once": "",
        "places": "the parameters of a block count once for each place where "
        "it stands: it holds them once",
        "blocks": "a weight that two blocks share counts in both: it is "
        "there once",
        "tensors": "the tensors were counted: count the numbers in them, "
        "with numel()",
        "numbers": "copies that are equal count once: each has parameters of "
        "its own",
    },
    "different": {
        "numbers": "",
        "objects": "equal copies count as different blocks: they are other "
        "objects, and start with the same numbers",
        "places": "each place counts as a different block",
        "first": "only the first weights are compared: blocks can differ in "
        "the others",
        "last": "only the last weights are compared: blocks can differ in "
        "the others",
        "neighbours": "a block is compared only with the one before it: equal "
        "ones can stand anywhere",
        "one": "all blocks are taken for the same: they have to be compared "
        "number by number, and not by their sums or sizes",
    },
    "order": {
        "as asked": "",
        "exchanged": "the two numbers are exchanged: the parameters come "
        "first",
    },
}

# Which weight each place of a list holds: the same one, a copy, or another.
# EQUAL numbers each weight by the first that is equal.
EQUAL = (0, 1, 0, 1, 4, 0, 6, 7, 1)
LISTS = (
    [[0, 1], [0, 4], [2, 3], [0, 1], [5, 6], [7, 8]],
    [[0, 1], [0, 1], [5, 6], [2, 3]],
    [[0, 1], [2, 3], [5, 8]],
    [[0, 1], [0, 1], [0, 1]],
    [[0, 1], [2, 4], [7, 6]],
)


class BlockCounts(Exercise):
    """Count what a stack holds, and how many of its blocks differ."""

    chapter, kind, minutes, level = 10, "ablation", 15, 2
    title = "Equal copies"
    teaches = "copies have parameters of their own, and start the same"
    axes = "stack ->"
    switches = COUNTED

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Some of each; then copies alone, one block alone, and none."""
        for held in LISTS:
            sizes = draw.sizes("C F")
            wide, narrow = (sizes["F"], sizes["C"]), (sizes["C"], sizes["F"])
            a, e = (draw.tags(*wide).float() for _ in "ae")
            b, c, d = (draw.tags(*narrow).float() for _ in "bcd")
            weights = [a, b, a, b, c, a, d, e, b]
            yield Case((StackOfWeights(weights, held),), sizes)

    def answer(
        self, case: Case, held: str, different: str, order: str
    ) -> tuple[int, ...]:
        """Count numbers and objects."""
        (stack,) = case.args
        size = 1 if held == "tensors" else stack.weights[0].numel()
        both = size * pieces(stack.held)[held], kinds(stack.held)[different]
        return both if order == "as asked" else both[::-1]


def pieces(held: list[list[int]]) -> dict[str, int]:
    """Count the weights of a list, right and wrong."""
    objects = {(i, j) for i, j in held}
    weights = {i for pair in objects for i in pair}
    return {
        "once": len(weights),
        "tensors": len(weights),
        "places": 2 * len(held),
        "blocks": 2 * len(objects),
        "numbers": len({EQUAL[i] for i in weights}),
    }


def kinds(held: list[list[int]]) -> dict[str, int]:
    """Count the different blocks of a list, right and wrong."""
    starts = [(EQUAL[i], EQUAL[j]) for i, j in held]
    return {
        "numbers": len({*starts}),
        "objects": len({(i, j) for i, j in held}),
        "places": len(held),
        "first": len({first for first, _ in starts}),
        "last": len({last for _, last in starts}),
        "neighbours": 1 + sum(a != b for a, b in pairwise(starts)),
        "one": 1,
    }

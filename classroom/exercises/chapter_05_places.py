"""Exercises on heads: where numbers lie, and where they arrive."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.stubs import (
    join_stub,
    join_transposed_late,
    join_untransposed,
)

STRIDES = {
    "heads": {
        "turned": "",
        "dealt": "the first are the strides before H and T change places: "
        "the axes of `heads` are B H T D, and each has its stride with it",
        "copy": "the first are the strides of a contiguous copy of `heads`: "
        "here no number moves, so the channels of a position still lie "
        "side by side",
        "strided": "the first give head h every H-th channel: one head "
        "further is D places further, one channel 1",
    },
    "wrong": {
        "row": "",
        "dealt": "the second are the strides of a split before H and T "
        "change places: `view` goes along the row, and its last three "
        "strides are those of a contiguous tensor H T D",
        "heads": "the second are the strides of `heads`: `wrong` has its "
        "shape, and reads the row from its start to its end",
    },
    "sentence": {
        "all": "",
        "positions": "the step to the next sentence is too short: a sentence "
        "has T * H * D numbers",
    },
    "unit": {
        "numbers": "",
        "bytes": "these are bytes: PyTorch counts strides in numbers",
    },
    "order": {
        "heads first": "",
        "wrong first": "the two have changed places: `heads` comes first",
    },
}


class StridesOnly(Exercise):
    """Give the strides of a right split and of a wrong one."""

    chapter, kind, minutes, level = 5, "line", 10, 2
    title = "Strides only"
    teaches = "two splits of one shape differ in their strides"
    axes = "T:, H:, D: ->"
    switches = STRIDES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sizes that are all different."""
        for _ in range(3):
            sizes = draw.sizes("T H D")
            yield Case(tuple(sizes.values()), sizes)

    def answer(
        self, case: Case, heads: str, wrong: str, **how: str
    ) -> tuple[tuple[int, ...], ...]:
        """Cut a tensor in each way, and read its strides."""
        t, h, d = case.args
        numbers = torch.empty(2, t, h * d)
        dealt = numbers.unflatten(-1, (h, d))
        strided = numbers.unflatten(-1, (d, h)).permute(0, 3, 1, 2)
        row = numbers.view(2, h, t, d)
        cuts = {
            "dealt": dealt,
            "turned": dealt.transpose(1, 2),
            "heads": dealt.transpose(1, 2),
            "strided": strided,
            "row": row,
            "copy": row,
        }
        first, second = cuts[heads].stride(), cuts[wrong].stride()
        if how["order"] == "wrong first":
            first, second = second, first
        size = {"all": first[0], "positions": t * d}[how["sentence"]]
        unit = {"numbers": 1, "bytes": numbers.element_size()}[how["unit"]]
        return tuple(
            tuple(n * unit for n in (size, *strides[1:]))
            for strides in (first, second)
        )


ARRIVES = {
    "changed": {
        "one": "",
        "all heads": "the position was changed in all heads: change it in "
        "head h only",
        "head": "all positions of the head were changed: change position t "
        "only",
        "sentences": "the position was changed in every sentence: change it "
        "in sentence b only",
        "exchanged": "h and t are exchanged: the axis of the heads comes "
        "before that of the positions",
        "heads itself": "nothing moves: `other = heads` gives the tensor a "
        "second name, and a change of one changes both; start from "
        "heads.clone()",
    },
    "counted": {
        "share": "",
        "any": "a place counts as a whole as soon as one of its channels "
        "moves: give the share of its channels that move",
        "number": "these are numbers of channels: divide by all channels "
        "that a position has after the join",
        "of D": "the share is that of one head's channels: divide by all "
        "channels that a position has after the join",
    },
    "seen": {
        "measured": "",
        "assumed": "the share is put at position t, whatever the join does: "
        "join the heads and the changed heads, and compare",
    },
}


class WhereItArrives(Exercise):
    """Measure where a change of one head goes in a join."""

    chapter, kind, minutes, level = 5, "ablation", 10, 2
    title = "Where it arrives"
    teaches = "a test for any join: change one position of one head"
    axes = "join:, heads: B H T D, b:, h:, t: -> B T"
    switches = ARRIVES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A right join and two that scramble, each at a place drawn."""
        joins = join_stub, join_untransposed, join_transposed_late
        for join in joins:
            sizes = draw.sizes("B H T D")
            b = 1 + draw.below(sizes["B"] - 1)
            # Two that differ, so that exchanging them is seen.
            h, t = draw.tags(min(sizes["H"], sizes["T"]))[:2].tolist()
            heads = draw.numbers(*sizes.values())
            sizes["C"] = sizes["H"] * sizes["D"]
            yield Case((join, heads, b, h, t), sizes)

    def answer(
        self, case: Case, changed: str, counted: str, seen: str
    ) -> Tensor:
        """Change, join twice, and compare."""
        join, heads, b, h, t = case.args
        every = slice(None)
        place: dict[str, tuple] = {
            "one": (b, h, t),
            "all heads": (b, every, t),
            "head": (b, h),
            "sentences": (every, h, t),
            "exchanged": (b, t, h),
            "heads itself": (slice(0),),
        }
        other = heads.clone()
        other[place[changed]] += 1
        if seen == "assumed":
            join = join_stub
        moved = (join(other) != join(heads)).double()
        size = heads.shape[-1]
        return {
            "share": moved.mean(-1),
            "any": moved.amax(-1),
            "number": moved.sum(-1),
            "of D": moved.sum(-1) / size,
        }[counted]

"""Exercises on training: how fast, and how far."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

FALLING_RATE = {
    "climb": {
        "steps": "",
        "late": "the climb is one step late: the first step has the "
        "factor 1 / warmup, and not 0",
        "none": "there is no warm-up: the factor climbs from 0 to 1 in "
        "the first steps",
        "slow": "the climb takes one step more than `warmup`",
    },
    "fall": {
        "line": "",
        "early": "the fall begins one step early: the step after the "
        "warm-up still has the factor 1",
        "zero": "the factor reaches 0 one step early: it would be 0 at "
        "the step after the last",
        "whole": "the fall is measured over all steps, and should be "
        "over those after the warm-up",
        "none": "the factor does not fall after the warm-up",
        "cosine": "the factor falls along a cosine, and should fall in "
        "a straight line",
        "turned": "the factor climbs after the warm-up, and should fall",
    },
}


class FallingRate(Exercise):
    """Write a schedule: climb, then fall in a straight line."""

    chapter, kind, minutes, level = 13, "line", 10, 1
    title = "Another schedule"
    teaches = "a warm-up, and a rate that falls in a straight line"
    axes = "step:, steps:, warmup: ->"
    switches = FALLING_RATE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Steps of the climb and of the fall, and runs without a climb."""
        warmup, steps = 5 + draw.below(5), 20 + draw.below(20)
        for step in (1, 2, warmup - 1, warmup, warmup + 1, warmup + 4, steps):
            yield Case((step, steps, warmup))
        about = "without a warm-up (warmup = 0) it fails"
        yield Case((1, steps, 0), about=about)
        yield Case((steps - 3, steps, 0), about=about)
        yield Case((1, steps, 1), about="a warm-up of one step fails")

    def answer(self, case: Case, climb: str, fall: str) -> float:
        """Find where the step is, and how far it has come."""
        step, steps, warmup = case.args
        if step <= warmup and climb != "none":
            late = step - 1 if climb == "late" else step
            return late / (warmup + (climb == "slow"))
        if step <= warmup and fall != "whole":
            return 1.0
        rest = steps - warmup
        done = (step - 1 - warmup) / rest
        others: dict[str, float] = {"early": done + 1 / rest, "none": 0}
        others["zero"] = (step - 1 - warmup) / (rest - 1)
        others["whole"] = (step - 1) / steps
        others["cosine"] = (1 - math.cos(math.pi * done)) / 2
        others["turned"] = 1 - done
        return 1 - others.get(fall, done)


CLIPPED_TOGETHER = {
    "length": {
        "common": "",
        "each": "each gradient is shortened by its own length: one "
        "length, that of both together, gives one factor for both",
        "sum": "the two lengths were added, and they stand at right "
        "angles: add their squares, then take the root",
        "square": "the root is missing: a length is the root of the sum "
        "of squares",
        "largest": "the largest number was taken for the length",
        "absolute": "absolute values were added: a length is the root of "
        "the sum of squares",
    },
    "when": {
        "longer": "",
        "always": "gradients shorter than the limit stay as they are, "
        "and are not made longer",
        "never": "nothing is shortened",
    },
    "how": {
        "factor": "",
        "clamp": "every number is cut off at the limit: the direction "
        "changes, and it should not",
        "unit": "the length that comes out is 1, and should be the limit",
    },
}


class ClippedTogether(Exercise):
    """Shorten two gradients by their common length."""

    chapter, kind, minutes, level = 13, "line", 10, 2
    title = "Shorten them together"
    teaches = "clipping: one length, and one factor for all gradients"
    axes = "one: F C, other: C, limit: ->"
    switches = CLIPPED_TOGETHER

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Gradients longer and shorter than the limit, and of nothing."""
        for limit in (1.5, 0.5, 1000.0):
            sizes = draw.sizes("F C")
            one, other = (draw.numbers(*x) for x in self.shapes(sizes))
            yield Case((one, other, limit), sizes)
        about = "gradients that are all 0 become NaN: do not divide by 0"
        zero, none = (torch.zeros(*x) for x in self.shapes(sizes))
        yield Case((zero, none, 1.0), sizes, about)

    def shapes(self, sizes: dict[str, int]) -> list[tuple[int, ...]]:
        """A matrix and a row."""
        return [(sizes["F"], sizes["C"]), (sizes["C"],)]

    def answer(
        self, case: Case, length: str, when: str, how: str
    ) -> tuple[Tensor, ...]:
        """Measure, and shorten."""
        one, other, limit = case.args
        both, pair = torch.cat((one.flatten(), other)), (one, other)
        if how == "clamp":
            return tuple(x.clamp(-limit, limit) for x in pair)
        lengths = {"common": both.norm(), "square": both.square().sum()}
        lengths["largest"] = both.abs().max()
        lengths["sum"] = one.norm() + other.norm()
        lengths["absolute"] = both.abs().sum()
        own = [lengths.get(length, x.norm()) for x in pair]
        goal = limit if how == "factor" else 1.0
        factors = [goal / n if n > limit else n**0 for n in own]
        if when != "longer":
            factors = [goal / n if when == "always" else n**0 for n in own]
        return tuple(x * factor for x, factor in zip(pair, factors))

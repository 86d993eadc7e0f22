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
        """Climb for `warmup` steps, then fall over all that are left."""
        step, steps, warmup = case.args
        if step <= warmup and climb != "none":
            return {
                "steps": step / warmup,
                "late": (step - 1) / warmup,
                "slow": step / (warmup + 1),
            }[climb]
        if step <= warmup and fall != "whole":
            return 1.0
        past, left = step - 1 - warmup, steps - warmup
        return (
            1
            - {
                "line": past / left,
                "early": (past + 1) / left,
                "zero": past / (left - 1),
                "whole": (step - 1) / steps,
                "none": 0.0,
                "cosine": (1 - math.cos(math.pi * past / left)) / 2,
                "turned": 1 - past / left,
            }[fall]
        )


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
        """Measure both together, and shorten each by the same factor."""
        one, other, limit = case.args
        both = torch.cat((one.flatten(), other))
        goal = 1.0 if how == "unit" else limit

        def clip(x: Tensor) -> Tensor:
            n = {
                "common": both.norm(),
                "each": x.norm(),
                "sum": one.norm() + other.norm(),
                "square": both.square().sum(),
                "largest": both.abs().max(),
                "absolute": both.abs().sum(),
            }[length]
            if how == "clamp":
                return x.clamp(-limit, limit)
            shorten = {"longer": n > limit, "always": True, "never": False}
            return x * (goal / n) if shorten[when] else x

        return clip(one), clip(other)

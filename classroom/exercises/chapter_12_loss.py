"""Exercises on the whole model: the loss, and its softmax."""

import math
from collections.abc import Iterable

import torch
from torch.nn.functional import cross_entropy, one_hot

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

LEAST_LOSS = {
    "softmaxes": {
        "two": "",
        "one": "the softmax that was to stand before the loss is missing",
        "three": "there is one softmax too many before the loss",
    },
    "base": {"e": "", "2": "the logarithm is to base 2"},
    "sign": {
        "minus": "",
        "plus": "the sign is turned: the loss is minus the logarithm",
    },
    "known": {
        "label": "",
        "nothing": "that is what a model pays that knows nothing",
    },
}


class LeastLoss(Exercise):
    """Measure what a perfect model pays after two softmaxes."""

    chapter, kind, minutes, level = 12, "ablation", 10, 2
    title = "What a second softmax costs"
    teaches = "the loss brings its own softmax"
    axes = "vocab_size: ->"
    switches = LEAST_LOSS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Vocabularies of several sizes, the book's among them."""
        yield Case((draw.sizes("V")["V"],))
        yield Case((100 + draw.below(100),))
        yield Case((1024,))

    def answer(self, case: Case, **choice: str) -> float:
        """Build the logits of one position, and measure."""
        (v,) = case.args
        sure = 100.0 * one_hot(torch.tensor([0]), v)
        if choice["known"] == "nothing":
            sure = torch.zeros(1, v)
        before = {"one": 0, "two": 1, "three": 2}
        for _ in range(before[choice["softmaxes"]]):
            sure = sure.softmax(-1)
        loss = cross_entropy(sure, torch.tensor([0])).item()
        loss = loss / math.log(2) if choice["base"] == "2" else loss
        return loss if choice["sign"] == "minus" else -loss


class HarmlessOne(Exercise):
    """Say why a log_softmax before the loss changes nothing."""

    chapter, kind, minutes, level = 12, "explain", 10, 2
    title = "The harmless one"
    teaches = "what a softmax takes no notice of"
    rubric = (
        "what log_softmax does to the logits of a row: it subtracts one "
        "number from all of them",
        "why the loss's own softmax does not notice that",
        "what softmax does instead: how far apart its numbers can be at most",
    )

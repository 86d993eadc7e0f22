"""Exercises on what came since 2017."""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from tformer_lite.model.config import tiny_translator
from tformer_lite.model.models import EncoderDecoder
from tformer_lite.model.modern import rotate

LATE_SCORES = {
    "start": {
        "late": "",
        "zero": "queries and keys are turned as if both began at one "
        "place: S − T words stand before the first query",
        "behind": "the queries are turned as if they stood after the "
        "last word: they are the last words",
        "early": "the queries are turned by one place too few: S − T "
        "words stand before the first of them",
    },
    "turned": {
        "both": "",
        "queries": "the keys are not turned",
        "keys": "the queries are not turned",
    },
    "scale": {
        "root": "",
        "none": "no 1/√D: the scores grow with the width of a head",
        "whole": "divided by D: it is the root of D",
    },
}


class LateScores(Exercise):
    """Scores of new words against a cache, turned by their places."""

    chapter, kind, minutes, level = 19, "bug", 10, 2
    title = "Another beginning"
    teaches = "rotary positions and a cache: where the new words stand"
    axes = "q: B H T D, k: B H S D -> B H T S"
    switches = LATE_SCORES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """The last words of a text; then all its words, and one."""
        whole = "without a cache T is S, and no word stands before"
        one = "a model that writes asks for one new word at a time"
        for about in "", "", whole, one:
            sizes = draw.sizes("B H T S") | {"D": 4 + 2 * draw.below(3)}
            t, s = sorted((sizes["T"], sizes["S"]))
            t = {whole: s, one: 1}.get(about, t)
            sizes |= {"T": t, "S": s}
            rest = sizes["B"], sizes["H"]
            q, k = (draw.numbers(*rest, n, sizes["D"]) for n in (t, s))
            yield Case((q, k), sizes, about)

    def answer(
        self, case: Case, start: str, turned: str, scale: str
    ) -> Tensor:
        """Turn what is to be turned, from some place on."""
        q, k = case.args
        late = k.shape[2] - q.shape[2]
        begins = {"zero": 0, "behind": late + q.shape[2], "early": late - 1}
        asks, answers = rotate(q, begins.get(start, late)), rotate(k)
        asks = q if turned == "keys" else asks
        answers = k if turned == "queries" else answers
        d = q.shape[-1]
        scales = {"none": 1.0, "whole": float(d)}
        return asks @ answers.mT / scales.get(scale, math.sqrt(d))


class WhyBothTurn(Exercise):
    """Why a score knows the distance only if both are turned."""

    chapter, kind, minutes, level = 19, "explain", 10, 2
    title = "Keys alone"
    teaches = "a score of two turned vectors knows their distance"
    rubric = (
        "says what a score depends on when both are turned: the distance, "
        "since only the difference of the two angles is left",
        "says what it depends on when only the keys are: the place of the "
        "key, wherever the query stands",
        "names something that one would see or measure",
    )


class HandedOut(Exercise):
    """Give each query head the keys of its group."""

    chapter, kind, minutes, level = 19, "bug", 5, 1
    title = "Group by group"
    teaches = "repeat_interleave, not repeat"
    axes = "x: B G S D, n_heads: -> B H S D"
    switches = {
        "order": {
            "groups": "",
            "turns": "the heads take turns: a group's query heads lie side "
            "by side, so head 0 goes to the first H / G of them",
            "backwards": "the last head goes to the first group: keep the "
            "order of the heads",
        },
        "copies": {
            "of heads": "",
            "of words": "the words of each head are repeated: the copies "
            "belong along axis 1, the heads",
            "too many": "each head was copied H times: with G heads, H / G "
            "copies of each are enough",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Several heads in several groups; then one, and as many as ask."""
        one = "with a single head there is one group, of all query heads"
        every = "with as many heads as ask, each is handed out once"
        for about in "", "", one, every:
            sizes = draw.sizes("B G D S H=G*D")
            g = 1 if about == one else sizes["G"]
            h = g if about == every else sizes["H"]
            sizes |= {"G": g, "H": h, "D": 4}
            x = draw.tags(*(sizes[a] for a in "BGSD"))
            yield Case((x, h), sizes, about)

    def answer(self, case: Case, order: str, copies: str) -> Tensor:
        """Repeat along an axis, each or all."""
        x, h = case.args
        n = h if copies == "too many" else h // x.shape[1]
        axis = 2 if copies == "of words" else 1
        x = x.flip(1) if order == "backwards" else x
        if order == "turns":
            return torch.cat([x] * n, axis)
        return x.repeat_interleave(n, axis)


THROUGH_WINDOWS = {
    "step": {
        "less one": "",
        "width": "each block reaches one place too far: a window of "
        "width places counts the place itself",
        "half": "the width was halved: a causal window has all its places "
        "on one side",
    },
    "blocks": {
        "all": "",
        "one": "that is a single block: each one reaches further",
        "less": "one block is missing",
        "more": "there is one block too many",
    },
    "order": {
        "causal": "",
        "both ways": "places depend on others that come later: the window is "
        "causal",
        "strict": "a place depends on itself, too",
        "later": "places depend on what comes after them: each row says what "
        "its place depends on",
    },
    "polarity": {"depends": "", "not": "True and False are exchanged"},
}


class HeardThrough(Exercise):
    """Draw what depends on what through a stack of windows."""

    chapter, kind, minutes, level = 19, "mask", 10, 2
    title = "Through a stack of windows"
    teaches = "how far a sliding window reaches"
    axes = "T: , width: , n_layers: -> T T"
    switches = THROUGH_WINDOWS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Some blocks; then a window of one place, and one wide open."""
        alone = "in a window of one place each place depends on itself alone"
        wide = "no place depends on what lies before the text"
        for about in "", "", alone, wide:
            t = 23 + draw.below(7)
            width = {alone: 1, wide: t}.get(about, 3 + draw.below(3))
            yield Case((t, width, 3 + draw.below(2)), {"T": t}, about)

    def answer(self, case: Case, order: str, **choice: str) -> Tensor:
        """Count how far each place is, and compare."""
        t, width, n = case.args
        step = {"width": width, "half": width // 2}
        n = {"one": 1, "less": n - 1, "more": n + 1}.get(choice["blocks"], n)
        reach = n * step.get(choice["step"], width - 1)
        far = torch.arange(t)[:, None] - torch.arange(t)
        depends = {
            "causal": (far >= 0) & (far <= reach),
            "both ways": far.abs() <= reach,
            "strict": (far > 0) & (far <= reach),
            "later": (far <= 0) & (far >= -reach),
        }[order]
        return ~depends if choice["polarity"] == "not" else depends


GATED_LAYER = {
    "gate": {
        "bent": "",
        "straight": "the gate is not bent: it goes through the activation",
        "value": "the other projection is bent: it is the gate that goes "
        "through the activation",
        "both": "both projections are bent: only the gate goes through the "
        "activation",
        "late": "the product is bent: the gate goes through the activation "
        "before it is multiplied",
    },
    "pair": {
        "product": "",
        "sum": "the two are added: the gate multiplies",
        "gate": "only the gate is used: it multiplies the other projection",
        "value": "only the hidden projection is used: nothing gates it",
    },
}


class Gated(nn.Module):
    """A gated layer with switches, to build models with: what each does is
    said in `GatedLayer`."""

    def __init__(self, choice: dict[str, str], d_model: int, d_ff: int):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.hidden = nn.Linear(d_model, d_ff, bias=False)
        self.output = nn.Linear(d_ff, d_model, bias=False)
        self.choice = choice

    def forward(self, x: Tensor) -> Tensor:
        """Widen twice, combine, and narrow: (B, T, C) -> (B, T, C)."""
        bent, pair = self.choice.values()
        gate, value = self.gate(x), self.hidden(x)
        gate = silu(gate) if bent in ("bent", "both") else gate
        value = silu(value) if bent in ("value", "both") else value
        pairs = {"sum": gate + value, "gate": gate, "value": value}
        both = pairs.get(pair, gate * value)
        return self.output(silu(both) if bent == "late" else both)


GATES: dict[str, Any] = {"max_len": 19, "d_ff": 5, "activation": "silu"}


@cache
def with_gates(vocab_size: int) -> EncoderDecoder:
    """Build a translator with such layers: once, since that takes a while."""

    def build(d_model: int, d_ff: int, *_: Any) -> Gated:
        return Gated({"gate": "bent", "pair": "product"}, d_model, d_ff)

    config = replace(tiny_translator, **GATES, vocab_size=vocab_size)
    return EncoderDecoder(replace(config, feed_forward=build)).eval()


class GatedLayer(Exercise):
    """A gated feed-forward layer of your own in the translator."""

    chapter, kind, minutes, level = 19, "part", 15, 2
    title = "A gate of your own"
    teaches = "SwiGLU, in the model"
    axes = "src: B S, tgt: B T -> B T V"
    switches = GATED_LAYER

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A tiny translator with random weights."""
        for _ in range(2):
            sizes = draw.sizes("B S T V")
            v = sizes["V"]
            make = GATES | {"vocab_size": v}
            state = {
                name: draw.numbers(*x.shape, scale=0.6)
                for name, x in with_gates(v).state_dict().items()
            }
            src, tgt = (
                draw.ids(sizes["B"], sizes[a], below=v, least=2) for a in "ST"
            )
            yield Case((src, tgt), sizes, "", make, state, "feed_forward")

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Run a translator with such a layer."""
        model = with_gates((case.make or {})["vocab_size"])
        model.load_state_dict(dict(case.state or {}))
        for part in model.modules():
            if isinstance(part, Gated):
                part.choice = choice
        with torch.no_grad():
            return model(*case.args)

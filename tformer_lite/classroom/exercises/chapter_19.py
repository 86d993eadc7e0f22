"""Exercises on what came since 2017."""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tformer_lite.classroom.cases import Case, Draw
from tformer_lite.classroom.exercise import Exercise
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


class Switched(nn.Module):
    """A norm with switches, to build models with: what each does is said
    in `RootNorm`."""

    def __init__(self, d_model: int, choice: dict[str, str]):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.choice = choice

    def forward(self, x: Tensor) -> Tensor:
        """Divide by a root: (B, T, C) -> (B, T, C)."""
        mean, root, gain = self.choice.values()
        if mean == "taken":
            x = x - x.mean(-1, keepdim=True)
        square = x.square()
        size = square.mean(-1, keepdim=True)
        n = x.shape[-1]
        sizes = {
            "sum": size * n,
            "fewer": size * n / (n - 1),
            "square": (size + 1e-5) ** 2 - 1e-5,
            "positions": square.mean(-2, keepdim=True),
        }
        normal = x / (sizes.get(root, size) + 1e-5).sqrt()
        gains = {"none": normal, "plus": normal * (1 + self.gain)}
        return gains.get(gain, normal * self.gain)


ROOT_NORM = {
    "mean": {
        "kept": "",
        "taken": "the mean is subtracted: RMSNorm leaves it where it is",
    },
    "root": {
        "mean": "",
        "sum": "divided by the root of the sum of squares: it is the "
        "root of their mean",
        "fewer": "the mean of squares is over one channel less: divide "
        "by all of them",
        "square": "divided by the mean square itself: its root is missing",
        "positions": "the mean is over the positions: each position is "
        "normalised on its own, over its channels",
    },
    "gain": {
        "times": "",
        "none": "the gain is not used: it multiplies each channel",
        "plus": "1 is added to the gain: here the gain is the factor itself",
    },
}


class RootNorm(Exercise):
    """A norm of your own in the translator: RMSNorm."""

    chapter, kind, minutes, level = 19, "part", 15, 2
    title = "A norm without a mean"
    teaches = "RMSNorm, written by hand"
    axes = "src: B S, tgt: B T -> B T V"
    switches = ROOT_NORM

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A tiny translator with random weights; then a quiet stream."""
        quiet = "where the numbers are small it shows that eps is missing "
        quiet += "or in another place: add it to the mean square, inside "
        quiet += "the root"
        for about, scale in ("", 0.5), ("", 0.5), (quiet, 1e-4):
            sizes = draw.sizes("B S T V")
            make: dict[str, Any] = {
                "vocab_size": sizes["V"],
                "max_len": 19,
                "d_ff": 5,
            }
            model = EncoderDecoder(replace(tiny_translator, **make, norm=ROOT))
            state = {
                name: draw.numbers(*x.shape, scale=scale)
                for name, x in model.state_dict().items()
            }
            state |= {
                name: draw.numbers(*x.shape) + 2
                for name, x in state.items()
                if name.endswith("gain")
            }
            state["head.weight"] = draw.numbers(*state["head.weight"].shape)
            src, tgt = (
                draw.ids(sizes["B"], sizes[a], below=sizes["V"], least=2)
                for a in "ST"
            )
            yield Case((src, tgt), sizes, about, make, state, "norm")

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Build a translator with such a norm, and run it."""
        norm = partial(Switched, choice=choice)
        config: Any = replace(tiny_translator, **(case.make or {}), norm=norm)
        model = EncoderDecoder(config).eval()
        model.load_state_dict(dict(case.state or {}))
        with torch.no_grad():
            return model(*case.args)


RIGHT = {"mean": "kept", "root": "mean", "gain": "times"}
ROOT = partial(Switched, choice=RIGHT)

"""Exercises on what came since 2017 that can be set as homework."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

CACHE_BYTES = {
    "kinds": {
        "two": "",
        "keys": "only the keys were weighed, or only the values: a "
        "cache keeps both",
        "all": "queries were weighed as well: they are used once, and "
        "not kept",
    },
    "heads": {
        "shared": "",
        "asking": "as much as with a key for every query head: the "
        "cache keeps n_kv_heads of them, each d_model / n_heads wide",
        "wide": "each head of keys was taken to be d_model wide: a head "
        "has d_model / n_heads channels",
        "one": "a single head of keys was weighed: there are n_kv_heads",
    },
    "kept": {
        "window": "",
        "text": "all of the text was kept: with a window nobody asks "
        "for what lies further back",
        "less": "one place is missing: a window of width places counts "
        "the place itself",
        "more": "one place too many: a window of width places counts "
        "the place itself",
        "scores": "a number for every pair of places was kept: keys and "
        "values are kept for each place",
    },
    "rest": {
        "all": "",
        "layers": "only one block was weighed: each keeps its own",
        "batch": "only one text was weighed: each text of the batch has "
        "its own cache",
        "bytes": "that is how many numbers there are: each takes some bytes",
        "bits": "that is in bits: each number takes the given bytes",
    },
}


class CacheBytes(Exercise):
    """What a cache of keys and values weighs."""

    chapter, kind, minutes, level, assignable = 19, "line", 10, 2, True
    title = "The weight of a cache"
    teaches = "the bytes of a cache with groups and a window"
    switches = CACHE_BYTES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Texts longer than the window, then shorter, and just as long."""
        short = (
            "a text shorter than the window fills its own places, all of them"
        )
        same = "a text as long as the window fills all of it"
        for about, more in ("", 9), ("", 40), (short, -8), (same, 0):
            kv_heads, b = 3 + 3 * draw.below(2), 5 + 2 * draw.below(2)
            h = kv_heads * (2 + draw.below(3))
            width, each = 15 + draw.below(9), 4 if more == 40 else 2
            sizes = 10 * h, h, kv_heads, 11 + 2 * draw.below(2)
            yield Case((*sizes, width, b, width + more, each), {}, about)

    def answer(
        self, case: Case, kinds: str, heads: str, kept: str, rest: str
    ) -> int:
        """Count keys and values of all blocks, texts and places kept."""
        c, h, shared, layers, width, b, t, each = case.args
        tensors = {"two": 2, "keys": 1, "all": 3}[kinds]
        d = c // h
        channels = {
            "shared": shared * d,
            "asking": c,
            "wide": shared * c,
            "one": d,
        }[heads]
        places = {
            "window": min(t, width),
            "text": t,
            "less": min(t, width - 1),
            "more": min(t, width + 1),
            "scores": width**2,
        }[kept]
        layers = 1 if rest == "layers" else layers
        b = 1 if rest == "batch" else b
        each = {"bytes": 1, "bits": 8 * each}.get(rest, each)
        return layers * tensors * b * places * channels * each


def spun(x: Tensor, angles: Tensor, halves: bool) -> Tensor:
    """Turn points about the origin: (..., T, D), (T, D / 2) -> (..., T, D).

    Their two channels lie side by side or, with `halves`, half of all
    channels apart.
    """
    two = x.unflatten(-1, (2, -1)).mT if halves else x.unflatten(-1, (-1, 2))
    points = torch.view_as_complex(two.double().contiguous())
    turns = torch.polar(torch.ones_like(angles).double(), angles.double())
    two = torch.view_as_real(points * turns)
    return (two.mT if halves else two).flatten(-2)


PARTIAL_ROTARY = {
    "partners": {
        "halves": "",
        "neighbours": "neighbouring channels were paired: the partner "
        "of channel i is channel i + r/2",
    },
    "speeds": {
        "of r": "",
        "of D": "the exponent was divided by D: only r channels turn, "
        "so their speeds run over r",
        "single": "the exponent grows by 1/r for each pair, and should "
        "grow by 2/r",
    },
    "place": {
        "from 0": "",
        "from 1": "the first row is turned: it is place 0, and stays",
        "heads": "turned by the number of the head: the place is the "
        "axis before the last",
    },
    "way": {
        "forward": "",
        "back": "turned the other way: check the sign of the sine",
    },
    "rest": {
        "stays": "",
        "before": "the last r channels were turned: it is the first r",
        "turned": "all channels were turned: those from r on stay",
        "gone": "the channels from r on are missing",
    },
}


class PartialRotary(Exercise):
    """Turn the first channels of a head, and leave the others."""

    chapter, kind, minutes, level, assignable = 19, "line", 20, 3, True
    title = "Turned in part"
    teaches = "partial rotary positions, with partners half of r apart"
    axes = "x: B H T D, r: -> B H T D"
    switches = PARTIAL_ROTARY

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A head of which a part turns; then all of it, and two channels."""
        every = "with r = D all channels are turned"
        two = "with r = 2 a single pair is turned"
        for about in "", "", every, two:
            sizes = draw.sizes("B H T") | {"D": 10}
            r = {every: 10, two: 2}.get(about, 4 + 2 * draw.below(2))
            x = draw.numbers(*sizes.values())
            yield Case((x, r), sizes, about)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Turn the first r channels, and leave the others beside them."""
        x, r = case.args
        (heads, t, d), rest = x.shape[1:], choice["rest"]
        part, others = x[..., :r], x[..., r:]
        if rest == "before":
            others, part = x[..., : d - r], x[..., d - r :]
        if rest == "turned":
            part = x
        places = {
            "from 0": torch.arange(t)[:, None],
            "from 1": torch.arange(t)[:, None] + 1,
            "heads": torch.arange(heads)[:, None, None],
        }[choice["place"]]
        pairs = torch.arange(part.shape[-1] // 2).double()
        exponents = {
            "of r": 2 * pairs / part.shape[-1],
            "of D": 2 * pairs / d,
            "single": pairs / r,
        }[choice["speeds"]]
        angles = places * 10000**-exponents
        angles = -angles if choice["way"] == "back" else angles
        turned = spun(part, angles, choice["partners"] == "halves").to(x)
        if rest in ("turned", "gone"):
            return turned
        both = (others, turned) if rest == "before" else (turned, others)
        return torch.cat(both, -1)


SCALED_ROTARY = {
    "base": {
        "power": "",
        "plain": "the base was multiplied by s alone: it is s to the "
        "power D / (D − 2)",
        "same": "the base is as before: a longer text needs a larger one",
        "inverse": "the exponent of s is upside down: D / (D − 2)",
        "places": "the places were divided by s: here they stay, and "
        "the base grows",
    },
    "share": {
        "longer": "",
        "shorter": "s is upside down: the length over the trained length",
    },
    "partners": {
        "neighbours": "",
        "halves": "channels half a head apart were paired: the partner "
        "of channel 2i is channel 2i + 1",
        "scattered": "the turned channels were put back as two halves: "
        "each goes back to its own place",
    },
    "place": {
        "from 0": "",
        "from 1": "the first row is turned: it is place 0, and stays",
    },
    "way": {
        "forward": "",
        "back": "turned the other way: check the sign of the sine",
    },
}


class ScaledRotary(Exercise):
    """Turn the places of a text that is longer than those trained."""

    chapter, kind, minutes, level, assignable = 19, "line", 20, 3, True
    title = "Longer than trained"
    teaches = "a larger base for rotary positions (NTK-aware)"
    axes = "x: B H T D, trained: -> B H T D"
    switches = SCALED_ROTARY

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Texts longer than trained; then a shorter one."""
        short = "a text no longer than trained is turned as `rotate` does it"
        for about in "", "", short:
            sizes = draw.sizes("B H T") | {"D": 6 + 2 * draw.below(3)}
            t = sizes["T"]
            trained = t + 3 if about else 1 + t // (2 + draw.below(2))
            x = draw.numbers(*sizes.values())
            yield Case((x, trained), sizes, about)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Turn as `rotate` does, with a base that grows with the text."""
        x, trained = case.args
        base, (t, d) = choice["base"], x.shape[-2:]
        s = max(1.0, t / trained)
        s = 1 / s if choice["share"] == "shorter" else s
        power = {
            "power": d / (d - 2),
            "plain": 1.0,
            "same": 0.0,
            "inverse": (d - 2) / d,
            "places": 0.0,
        }[base]
        speeds = (10000 * s**power) ** -torch.linspace(
            0, 1 - 2 / d, d // 2
        ).double()
        places = torch.arange(t).double()[:, None]
        places = places + 1 if choice["place"] == "from 1" else places
        places = places / s if base == "places" else places
        angles = (
            -places * speeds if choice["way"] == "back" else places * speeds
        )
        turned = spun(x, angles, choice["partners"] == "halves").to(x)
        if choice["partners"] == "scattered":
            return turned.unflatten(-1, (-1, 2)).mT.flatten(-2)
        return turned

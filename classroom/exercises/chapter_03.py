"""Exercises on positions."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

PLACED = {
    "place": {
        "own": "",
        "sentence": "all words of a sentence get the row with the number of "
        "the sentence: x.size(0) counts sentences, and the places are counted "
        "by x.size(1)",
        "one": "places are counted from 1: the first word gets row 0",
        "back": "places are counted from the end of the sentence",
        "end": "the rows come from the end of the table, and should from its "
        "beginning",
        "first": "every place gets row 0 of the table",
    },
    "total": {
        "added": "",
        "product": "words and places were multiplied, and should be added",
        "places": "the words are gone: the places should be added to x",
    },
}


class Placed(Exercise):
    """Add to each word the row of its place."""

    chapter, kind, minutes, level = 3, "bug", 5, 1
    title = "The number of what?"
    teaches = "places run along the second axis of a batch"
    axes = "x: B T C, table: L C -> B T C"
    dependence = "table 0 -> 1"
    switches = PLACED

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Tables that are longer than the sentences; a batch of one."""
        for i in range(4):
            sizes = draw.sizes("B T C") | {"L": 23}
            sizes["B"] = 1 if i == 2 else sizes["B"]
            sizes["T"] = 1 if i == 3 else sizes["T"]
            x = draw.numbers(*(sizes[a] for a in "BTC"))
            table = draw.numbers(23, sizes["C"])
            about = "", "", "a batch of one sentence", "sentences of one word"
            why = f"{about[i]} lose an axis" if i == 3 else about[i]
            why = f"{why} loses an axis" if i == 2 else why
            yield Case((x, table), sizes, why)

    def answer(self, case: Case, place: str, total: str) -> Tensor:
        """Choose rows, and add them or not."""
        x, table = case.args
        b, t, _ = x.shape
        places = torch.arange(t)
        row = {
            "own": places,
            "sentence": torch.arange(b)[:, None],
            "one": places + 1,
            "back": places.flip(0),
            "end": places + len(table) - t,
            "first": places * 0,
        }[place]
        rows = table[row].expand_as(x)
        return {"added": x + rows, "product": x * rows, "places": rows}[total]


class EightByEight(Exercise):
    """Say why a wrong line can give the right sum."""

    chapter, kind, minutes, level = 3, "explain", 6, 2
    title = "Right by accident"
    teaches = "broadcasting from the right, and sizes that agree by accident"
    rubric = (
        "which axis of x the rows of the table meet, and why that one",
        "why eight sentences of eight words come out right",
        "what happens with seven sentences, and what with one",
    )


WAVES = {
    "pairs": {
        "beside": "",
        "halves": "all sines come first and all cosines after them: the sine "
        "and the cosine of a pair lie side by side",
    },
    "first": {
        "sine": "",
        "cosine": "sine and cosine are exchanged: even channels have the sine",
    },
    "speed": {
        "slower": "",
        "half": "the exponent is -i / C for pair i, and should be -2i / C",
        "own": "sine and cosine of a pair have different speeds: channels 2i "
        "and 2i + 1 share one",
        "faster": "the sign of the exponent: each pair should be slower than "
        "the one before",
        "double": "the exponent is -4i / C: the steps of two were doubled "
        "again",
    },
    "start": {
        "0": "",
        "1": "places are counted from 1: the first row belongs to place 0",
    },
    "base": {
        "10000": "",
        "1000": "the base is 1000, and should be 10000",
        "e": "the base is e, and should be 10000",
    },
}


class Waves(Exercise):
    """Build the paper's table for any width."""

    chapter, kind, minutes, level = 3, "line", 10, 2
    title = "Waves of any width"
    teaches = "sinusoidal positions, in pairs of channels"
    axes = "n_places: , d_model: -> T C"
    switches = WAVES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Even widths, then an odd one, and a width of one."""
        for width in ("even", "even", "odd", "one"):
            sizes = draw.sizes("T H C")
            even = 4 * sizes["H"] - 2
            c = {"even": even, "odd": sizes["C"], "one": 1}[width]
            sizes = {"T": sizes["T"], "C": c}
            about = "an odd width has a last sine without its cosine"
            about = "" if width == "even" else about
            yield Case((sizes["T"], c), sizes, about)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Lay the speeds out by channels, then take sines and cosines."""
        t, c = case.args
        channel = torch.arange(c).float()
        even = channel - channel % 2
        power = {
            "slower": -even / c,
            "half": -even / 2 / c,
            "own": -channel / c,
            "faster": even / c,
            "double": -2 * even / c,
        }[choice["speed"]]
        base = {"10000": 1e4, "1000": 1e3, "e": math.e}[choice["base"]]
        start = int(choice["start"])
        place = torch.arange(start, start + t).float()[:, None]
        angles = place * base**power
        waves = torch.stack((angles.sin(), angles.cos()))
        odd = 1 - channel % 2 if choice["first"] == "cosine" else channel % 2
        table = torch.where(odd.bool(), waves[1], waves[0])
        if choice["pairs"] == "halves":
            table = torch.cat((table[:, 0::2], table[:, 1::2]), 1)
        return table


RELATIVE_BIAS = {
    "side": {
        "right": "",
        "left": "the two sides are exchanged: the upper half of the buckets "
        "belongs to offsets s - t greater than 0",
        "same": "both sides share their buckets: offsets greater than 0 take "
        "the upper half",
        "zero": "the offset 0 is counted to the upper half: it belongs to the "
        "lower",
    },
    "near": {
        "half": "",
        "all": "distances above E have buckets of their own, until these run "
        "out: from E on they share, by the logarithm",
    },
    "rounded": {
        "down": "",
        "nearest": "the logarithm is rounded to the nearest number, and "
        "should be rounded down",
        "up": "the logarithm is rounded up, and should be rounded down",
    },
    "ratio": {
        "both": "",
        "numerator": "the divisor is log(max_distance), and should be "
        "log(max_distance / E)",
        "denominator": "the logarithm is taken of the distance d, and should "
        "be of d / E",
    },
    "span": {
        "rest": "",
        "side": "the ratio was multiplied by all buckets of a side, n, and "
        "should be by those that are left, n - E",
    },
    "from": {
        "E": "",
        "0": "E was not added to the rounded logarithm",
    },
}


ODD = "with an odd number of buckets a side, E is rounded down"


class RelativeBias(Exercise):
    """Give each pair of places a learned number for its distance."""

    chapter, kind, minutes, level = 3, "line", 20, 3
    title = "How far apart?"
    teaches = "relative positions in buckets, as in T5"
    axes = "table: N H, T: , S: , max_distance: -> H T S"
    assignable = True
    switches = RELATIVE_BIAS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Distances below max_distance; then beyond; few buckets."""
        for i in range(5):
            t, s = draw.random.sample((11, 13, 17, 19, 23), 2)
            few = {3: 10, 4: 6}  # an odd number of buckets a side
            n = few.get(i, draw.random.choice((16, 20, 24)))
            sizes = draw.sizes("H") | {"T": t, "S": s, "N": n}
            about, far = "", draw.random.choice((29, 31, 37))
            if i >= 2:
                sizes |= {"T": 23, "S": 31}
                far = 4 if i == 4 else draw.random.choice((11, 13))
                about = "distances from max_distance on share the last "
                about += "bucket of their side, n - 1: cut off there"
                about = ODD if i == 4 else about
            table = draw.numbers(n, sizes["H"])
            yield Case((table, sizes["T"], sizes["S"], far), sizes, about)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Look the steps from distance to bucket up by the switches."""
        table, t, s, far = case.args
        offset = torch.arange(s) - torch.arange(t)[:, None]
        n = len(table) // 2
        bucket = bucket_of(offset.abs().double(), n, far, choice)
        upper = {
            "right": offset > 0,
            "left": offset < 0,
            "same": offset > t + s,
            "zero": offset >= 0,
        }[choice["side"]]
        return table[bucket.long() + upper * n].movedim(-1, 0)


def bucket_of(d: Tensor, n: int, far: int, choice: dict[str, str]) -> Tensor:
    """Give a distance its bucket on one side."""
    e = n // 2
    over, under = {
        "both": (d / e, far / e),
        "numerator": (d / e, far),
        "denominator": (d, far / e),
    }[choice["ratio"]]
    span = {"rest": n - e, "side": n}[choice["span"]]
    steps = over.clamp(min=1e-3).log() / math.log(under) * span
    turn = {"down": torch.floor, "nearest": torch.round, "up": torch.ceil}
    start = {"E": e, "0": 0}[choice["from"]]
    shared = start + turn[choice["rounded"]](steps)
    far_off = {"half": shared, "all": d}[choice["near"]]
    return torch.where(d < e, d, far_off).clamp(0, n - 1)

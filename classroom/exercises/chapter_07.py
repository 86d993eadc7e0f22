"""Exercises on masks."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from tformer_lite.model.variants import softmax

UPSIDE_DOWN = "the mask's polarity: True means may attend"


class FrontMask(Exercise):
    """Draw a mask by hand."""

    chapter, kind, minutes, level = 7, "mask", 5, 1
    title = "Padding in front"
    teaches = "who may attend to whom, row by row"
    switches = {
        "padding": {
            "columns": "",
            "rows": "the rows of [PAD] are hidden instead of its columns: "
            "nobody may attend to [PAD]",
            "none": "[PAD] is not hidden",
            "behind": "the padding stands in front: its columns are the "
            "first two",
        },
        "future": {
            "hidden": "",
            "turned": "the triangle is turned round: row i asks, and may "
            "attend to columns up to and including i",
            "strict": "a position may attend to itself",
            "ahead": "each row shows one place too many: the next word",
            "seen": "the future is not hidden",
        },
        "numbers": {"one": "", "zero": UPSIDE_DOWN.replace("True", "1")},
    }

    def answer(
        self, case: Case, padding: str, future: str, numbers: str
    ) -> list[list[int]]:
        """Put both masks together."""
        words = torch.tensor([False, False, True, True, True])
        seen = torch.ones(5, 5, dtype=torch.bool)
        real = {"columns": words, "rows": words[:, None], "none": seen}
        real |= {"behind": words.flip(0)}
        sees = {"hidden": seen.tril(), "turned": seen.triu(), "seen": seen}
        sees |= {"strict": seen.tril(-1), "ahead": seen.tril(1)}
        mask = real[padding] & sees[future]
        rows: list[list[int]] = (mask ^ (numbers == "zero")).long().tolist()
        return rows


DECODER_MASK = {
    "padding": {
        "columns": "",
        "rows": "the rows of the padding are hidden, and its columns "
        "should be: nobody attends to padding",
        "both": "the rows of the padding are hidden too: its columns "
        "are enough",
        "none": "the padding is not hidden",
        "ones": "padding is compared with a fixed id: use `pad`",
    },
    "future": {
        "hidden": "",
        "turned": "the triangle is turned round: the past is hidden "
        "instead of the future",
        "strict": "a position may attend to itself",
        "ahead": "each position sees the next one too: tril(1) keeps one "
        "diagonal too many",
        "seen": "the future is not hidden",
    },
    "joined": {
        "and": "",
        "or": "the two masks are joined with `|`: a place must pass "
        "both, so it takes `&`",
    },
    "polarity": {"may": "", "hide": UPSIDE_DOWN},
}


class DecoderMask(Exercise):
    """Hide the padding and the future."""

    chapter, kind, minutes, level = 7, "mask", 10, 1
    title = "The decoder's mask"
    teaches = "padding hides columns, the future is a triangle"
    axes = "ids: B T, pad: -> B 1 T T"
    switches = DECODER_MASK

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Padding anywhere in the row; then a row of nothing else."""
        empty = "a row of nothing but padding attends to nobody"
        for about in ("", "", empty):
            sizes = draw.sizes("B T")
            ids, pad = drawn_ids(draw, *sizes.values())
            if about:
                ids[0] = pad
            yield Case((ids, pad), sizes, about)

    def answer(
        self, case: Case, padding: str, future: str, joined: str, polarity: str
    ) -> Tensor:
        """Join one mask of each kind."""
        ids, pad = case.args
        keys = (ids != pad)[:, None, None, :]
        seen = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool)
        real = {"columns": keys, "rows": keys.mT, "both": keys & keys.mT}
        real |= {"ones": (ids != 1)[:, None, None, :]}
        sees = {"hidden": seen.tril(), "turned": seen.triu(), "seen": seen}
        sees |= {"strict": seen.tril(-1), "ahead": seen.tril(1)}
        one, other = real.get(padding, seen), sees[future]
        mask = one | other if joined == "or" else one & other
        mask = mask.expand(len(ids), 1, -1, -1)
        return ~mask if polarity == "hide" else mask


def drawn_ids(draw: Draw, b: int, t: int) -> tuple[Tensor, int]:
    """Ids with some padding anywhere in each row, and the padding's id."""
    pad = 2 * draw.below(3)
    ids = draw.ids(b, t, below=30, least=6)
    ids[draw.flags(b, t, share=0.25)] = pad
    ids[:, draw.below(t - 2) + 1] = pad
    ids[:, -1] = 1  # an id like others here, though often the padding's
    return ids, pad


class WhyColumns(Exercise):
    """Say why padding hides columns and not rows."""

    chapter, kind, minutes, level = 7, "explain", 5, 2
    title = "Why columns"
    teaches = "what the rows of padding do, and to whom"
    rubric = (
        "what a hidden column keeps from whom",
        "where the result of a row of padding goes",
        "who attends to padding if its rows are hidden instead",
    )


class AdditiveMask(Exercise):
    """Turn a mask into numbers that are added to scores."""

    chapter, kind, minutes, level = 7, "bug", 5, 1
    title = "Zero times infinity"
    teaches = "−∞ by choice, and not by a product"
    axes = "mask: B 1 T S -> B 1 T S"
    switches = {
        "made": {
            "chosen": "",
            "product": "0 times infinity is NaN, not 0: choose the number "
            "with where or masked_fill instead of multiplying",
            "finite": "a large negative number hides nearly, and in half "
            "precision there is none so large: use −∞",
            "tiny": "a score near 0 hides nothing: use −∞",
            "shares": "what may be seen gets 1 and the rest 0: added to the "
            "scores that hides nothing",
        },
        "polarity": {"may": "", "hide": UPSIDE_DOWN},
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Masks at random."""
        for _ in range(2):
            sizes = draw.sizes("B T S")
            b, t, s = sizes.values()
            yield Case((draw.flags(b, 1, t, s),), sizes)

    def answer(self, case: Case, made: str, polarity: str) -> Tensor:
        """Choose a number for True, and one for False."""
        (mask,) = case.args
        mask = ~mask if polarity == "hide" else mask
        if made == "product":
            return ~mask * -math.inf
        if made == "shares":
            return mask.float()
        hidden = {"finite": -1e9, "tiny": -1e-9}.get(made, -math.inf)
        return torch.where(mask, 0.0, hidden)


class LookingBack(Exercise):
    """Find out who attends to the future."""

    chapter, kind, minutes, level = 7, "bug", 5, 1
    title = "One diagonal too many"
    teaches = "reading who attends to whom"
    axes = "q: B H T D, k: B H T D, v: B H T D -> B H T D"
    dependence = "v 2 -> 2"
    switches = {
        "seen": {
            "past": "",
            "next": "each position attends to the next one: tril(1) keeps "
            "one diagonal too many",
            "strict": "no position attends to itself",
            "future": "each position attends to itself and the future "
            "instead of the past",
            "all": "the future is not hidden",
        },
        "when": {
            "scores": "",
            "weights": "what is hidden takes its share first and loses it "
            "afterwards: the rows no longer sum to 1. Mask the scores",
            "zero": "hidden scores are 0, a score like any other: −∞ hides",
        },
        "divisor": {"root": "", "none": "the scores are not divided by √D"},
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Queries, keys and values at random."""
        for _ in range(2):
            sizes = draw.sizes("B H T D")
            shape = tuple(sizes.values())
            yield Case(tuple(draw.numbers(*shape) for _ in "qkv"), sizes)

    def answer(self, case: Case, seen: str, when: str, divisor: str) -> Tensor:
        """Attend to what the switch says."""
        q, k, v = case.args
        ones = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool)
        masks = {"past": ones.tril(), "next": ones.tril(1), "all": ones}
        masks |= {"strict": ones.tril(-1), "future": ones.triu()}
        hide = ~masks[seen]
        scores = (
            q @ k.mT / (1 if divisor == "none" else math.sqrt(q.shape[-1]))
        )
        if when == "weights":
            return softmax(scores).masked_fill(hide, 0) @ v
        low = 0 if when == "zero" else -math.inf
        return softmax(scores.masked_fill(hide, low)) @ v

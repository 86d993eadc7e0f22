"""Exercises of the repair clinic: small patients, one fault or two each."""

from collections.abc import Iterable

import torch
from torch import Tensor

from tformer_lite.classroom.cases import Case, Draw
from tformer_lite.classroom.exercise import Exercise
from tformer_lite.model.attention import softmax


class ToldPlaces(Exercise):
    """Tell each word its own place."""

    chapter, kind, minutes, level = 18, "bug", 5, 1
    title = "Everybody at place 0"
    teaches = "len(x) is the size of the first axis, the batch"
    axes = "x: B T C, table: L C -> B T C"
    switches = {
        "rows": {
            "places": "",
            "first": "every word is told that it stands at place 0: len(x) "
            "is the size of the batch, not the number of places",
            "late": "every word is told the place after its own: the first "
            "stands at place 0",
            "end": "the rows come from the end of the table: the first word "
            "stands at place 0",
        },
        "result": {
            "sum": "",
            "rows": "the words are gone: the rows of the table are added to "
            "x, they do not replace it",
            "squeezed": "the batch is gone: the result has every axis of x",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """One sentence at a time, then a batch."""
        batch = "a batch may have several sentences: the number of places "
        batch += "is the size of axis 1, x.shape[1]"
        for about in "", "", batch:
            sizes = draw.sizes("B T C") | {"L": 23}
            sizes |= {} if about else {"B": 1}
            b, t, c, most = sizes.values()
            x, table = draw.numbers(b, t, c), draw.numbers(most, c)
            yield Case((x, table), sizes, about)

    def answer(self, case: Case, rows: str, result: str) -> Tensor:
        """Choose rows of the table, and add them."""
        x, table = case.args
        t = x.shape[1]
        chosen = {
            "places": table[:t],
            "first": table[:1].expand(t, -1),
            "late": table[1 : t + 1],
            "end": table[-t:],
        }[rows]
        both = chosen.expand_as(x) if result == "rows" else x + chosen
        return both[0] if result == "squeezed" else both


NORM_OF_THE_SUM = {
    "of": {
        "sum": "",
        "x": "x alone is normalised: what the sublayer made, y, is lost",
        "y": "y alone is normalised: the residual connection is lost",
        "before": "the norm comes before the sum: add first, then normalise",
        "twice": "x is added to the norm again: the sum comes before "
        "the norm, and nothing after it",
    },
    "variance": {
        "biased": "",
        "unbiased": "the variance is divided by one channel less: "
        "correction=0 divides by all of them",
        "none": "the spread is left as it is: divide by it",
    },
    "mean": {
        "channels": "",
        "positions": "mean and variance are taken over the positions: "
        "each position is normalised on its own, over its channels",
        "kept": "the mean is not subtracted",
    },
}


class NormOfTheSum(Exercise):
    """Add and norm: the sum is what is normalised."""

    chapter, kind, minutes, level = 18, "bug", 5, 1
    title = "A norm that forgets the sum"
    teaches = "add, then norm"
    axes = "x: B T C, y: B T C -> B T C"
    switches = NORM_OF_THE_SUM

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Numbers with a mean; then small ones, and equal channels."""
        small = "where the spread is small it shows that eps is missing or "
        small += "in another place: add it to the variance, inside the root"
        for about, scale in ("", 1.0), ("", 3.0), (small, 1e-3):
            sizes = draw.sizes("B T C")
            x, y = draw.numbers(2, *sizes.values(), scale=scale)
            yield Case((x + scale, y), sizes, about)

    def answer(self, case: Case, of: str, variance: str, mean: str) -> Tensor:
        """Take a sum or not, and a norm of it."""
        x, y = case.args
        dim = -2 if mean == "positions" else -1
        z = {"x": x, "twice": x + y, "sum": x + y}.get(of, y)
        n = 1 if variance == "unbiased" else 0
        root = (z.var(dim, correction=n, keepdim=True) + 1e-5).sqrt()
        centre = 0 if mean == "kept" else z.mean(dim, keepdim=True)
        normal = (z - centre) / (1 if variance == "none" else root)
        return normal + x if of in ("before", "twice") else normal


HIDDEN_SHARES = {
    "mask": {
        "hides": "",
        "added": "the mask is added as numbers: True counts as 1, which "
        "hides nobody",
        "times": "the mask is multiplied in: a hidden score becomes 0, "
        "and a score of 0 still gets a weight",
        "turned": "the mask's polarity: True means may attend",
        "after": "the mask comes after the softmax: what is left of a "
        "row no longer sums to 1",
        "unused": "the mask is not used",
    },
    "axis": {
        "keys": "",
        "queries": "the columns sum to 1, and the rows should",
        "heads": "the weights are shared out among the heads: each row "
        "of keys sums to 1",
    },
}


class HiddenShares(Exercise):
    """Hide with a mask of truth values, and keep large scores finite."""

    chapter, kind, minutes, level = 18, "bug", 10, 2
    title = "A mask that hides nobody"
    teaches = "a boolean mask is no number to add; softmax needs its maximum"
    axes = "scores: B H T S, mask: 1 1 T S -> B H T S"
    switches = HIDDEN_SHARES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Rows in which somebody may be attended to; then large scores."""
        large = "large scores overflow: subtract each row's largest score "
        large += "before exp"
        small = "very negative scores leave a row without weights: subtract "
        small += "each row's largest score before exp"
        for about, scale in ("", 1), ("", 2), (large, 90), (small, 1):
            sizes = draw.sizes("B H T S")
            t, s = sizes["T"], sizes["S"]
            scores = draw.numbers(*sizes.values(), scale=scale)
            mask = draw.flags(1, 1, t, s)
            mask[..., draw.below(s)] = True
            scores = scores - 400 if about == small else scores
            yield Case((scores, mask), sizes, about)

    def answer(self, case: Case, mask: str, axis: str) -> Tensor:
        """Hide in one of many ways, then share out."""
        scores, seen = case.args
        hidden = {
            "hides": scores.masked_fill(~seen, -torch.inf),
            "added": scores + seen,
            "times": scores * seen,
            "turned": scores.masked_fill(seen, -torch.inf),
        }.get(mask, scores)
        dim = {"queries": -2, "heads": 1}.get(axis, -1)
        weights = softmax(hidden.movedim(dim, -1)).movedim(-1, dim)
        return weights * seen if mask == "after" else weights


class OtherMask(Exercise):
    """A row that is hidden from end to end."""

    chapter, kind, minutes, level = 18, "bug", 10, 2
    title = "The other mask"
    teaches = "−1e9 is not −∞: a row that sees nobody"
    axes = "scores: B H T S, mask: B 1 1 S -> B H T S"
    tolerance = 2e-3  # half precision has three digits
    switches = {
        "empty": {
            "zeros": "",
            "even": "a row that is hidden from end to end attends to "
            "everything: with −1e9 everywhere, all its scores are equal",
            "nan": "a row that is hidden from end to end is NaN: with −∞ "
            "everywhere, there is nothing to divide by",
        },
        "polarity": {
            "may": "",
            "may not": "the mask's polarity: True means may attend",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A sentence that is all padding; then half precision."""
        half = "half precision ends at 65,504 and has no −1e9: hide with −∞"
        for about in "", "", half:
            sizes = draw.sizes("B H T S")
            scores = draw.numbers(*sizes.values())
            mask = draw.flags(sizes["B"], 1, 1, sizes["S"])
            mask[0], mask[1, ..., 1] = False, True
            yield Case(
                (scores.half() if about else scores, mask), sizes, about
            )

    def answer(self, case: Case, empty: str, polarity: str) -> Tensor:
        """Take a softmax, and look after rows without anybody."""
        scores, mask = case.args
        mask = mask if polarity == "may" else ~mask
        weights = softmax(scores.float().masked_fill(~mask, -torch.inf))
        nobody = ~mask.any(-1, keepdim=True).expand_as(weights)
        fill = {"even": 1 / scores.shape[-1], "nan": torch.nan}.get(empty, 0.0)
        return weights.masked_fill(nobody, fill)


class PieceToSay(Exercise):
    """The next piece is a row of the vocabulary, not a place."""

    chapter, kind, minutes, level = 18, "bug", 5, 1
    title = "A place is no piece"
    teaches = "the last position's logits give the next id"
    axes = "x: B T C, head: V C -> B"
    switches = {
        "choice": {
            "id": "",
            "flat": "one number for the whole batch: without an axis, "
            "argmax counts through everything",
            "logit": "that is the largest logit: the id is its place",
            "least": "the least likely piece was taken",
            "place": "the largest was looked for along the positions: an id "
            "is a place in the vocabulary",
        },
        "position": {
            "last": "",
            "first": "the first position was asked: the last one has read "
            "the whole text",
            "all": "all positions were asked: the next piece is said by the "
            "last alone",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """States, and the weight of a head."""
        for _ in range(3):
            sizes = draw.sizes("B T C V")
            b, t, c, v = sizes.values()
            yield Case((draw.numbers(b, t, c), draw.numbers(v, c)), sizes)

    def answer(self, case: Case, choice: str, position: str) -> Tensor:
        """Ask a position, and take the largest of something."""
        x, head = case.args
        logits = x @ head.mT
        if choice in ("flat", "place"):
            return logits.argmax() if choice == "flat" else logits.argmax(1)
        asked = {"last": logits[:, -1], "first": logits[:, 0]}
        row = asked.get(position, logits)
        found = {"logit": row.amax(-1), "least": row.argmin(-1)}
        return found.get(choice, row.argmax(-1))

"""Exercises of the repair clinic: small patients, one fault or two each."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from tformer_lite.model.attention import split_heads
from tformer_lite.model.variants import softmax

PROJECTED_SCORES = {
    "applied": {
        "both": "",
        "none": "the two layers are never applied: every word is held "
        "against the words themselves, not queries against keys",
        "query": "the keys are not projected",
        "key": "the queries are not projected",
        "same": "one weight makes queries and keys: each has its own",
    },
    "weight": {
        "turned": "",
        "as it is": "the weights stand the wrong way round: their rows "
        "make the new channels, so multiply by weight.mT",
    },
    "scale": {
        "root": "",
        "none": "no 1/√D: the scores grow with the width of a head",
        "wide": "divided by √C: it is the width of one head, D",
    },
}


class ProjectedScores(Exercise):
    """Use the layers that were made."""

    chapter, kind, minutes, level = 18, "bug", 5, 1
    title = "Made and never applied"
    teaches = "queries and keys are projected before they meet"
    axes = "x: B T C, query: C C, key: C C, n_heads: -> B H T T"
    switches = PROJECTED_SCORES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Words and two weights; then a single head."""
        one = "with one head D is C"
        for about in "", "", one:
            sizes = draw.sizes("B T H D C=H*D")
            b, t, h, _, c = sizes.values()
            x, query, key = draw.numbers(b, t, c), *draw.numbers(2, c, c)
            yield Case((x, query, key, 1 if about else h), sizes, about)

    def answer(
        self, case: Case, applied: str, weight: str, scale: str
    ) -> Tensor:
        """Project what is to be projected, and let it meet."""
        x, query, key, h = case.args
        key = query if applied == "same" else key
        two = [query, key] if weight == "as it is" else [query.mT, key.mT]
        q, k = (split_heads(x @ one, h) for one in two)
        plain = split_heads(x, h)
        q = plain if applied in ("none", "key") else q
        k = plain if applied in ("none", "query") else k
        d = {"none": 1, "wide": x.shape[-1]}.get(scale, q.shape[-1])
        return q @ k.mT / d**0.5


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
        """Rows with somebody to attend to; then scores that are large."""
        large = "large scores overflow: subtract each row's largest score "
        large += "before exp"
        unseen = "a hidden score may be the largest by far, and then nothing "
        unseen += "is left of the others: hide first, then subtract the "
        unseen += "largest that is left"
        quiet = "one largest score for all rows leaves nothing of a row of "
        quiet += "low ones: each row has its own"
        for about in "", "", large, unseen, quiet:
            sizes = draw.sizes("B H T S")
            scores = draw.numbers(*sizes.values(), scale=1.5)
            mask = draw.flags(1, 1, sizes["T"], sizes["S"])
            i = draw.below(sizes["S"])
            # Every row and every column has both, so that no fault gives NaN.
            mask[..., i], mask[..., i - 1] = True, False
            mask[..., 0, :] = torch.arange(sizes["S"]) != i
            loud = ~mask if about == unseen else torch.ones_like(mask)
            scores = scores + 300 * loud if about else scores
            if about == quiet:
                scores[:, :, 0] -= 900
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

"""Exercises on the model at the paper's size."""

from collections.abc import Iterable

import torch
from torch import Tensor

from tformer_lite.classroom.cases import Case, Draw
from tformer_lite.classroom.exercise import Exercise

THE_OTHER_MATRIX = {
    "rows": {
        "by kind": "",
        "by head": "the rows of keys and values still run head by head: "
        "all keys come first, and then all values",
        "turned twice": "the rows were dealt out as if all keys came "
        "first: they run head by head, the head's key and then its value",
        "every other": "every other row was taken for a key: a head's D "
        "rows of keys lie side by side",
    },
    "place": {
        "first": "",
        "last": "the queries come after keys and values, and should "
        "come first",
    },
    "pair": {
        "keys": "",
        "values": "the values come before the keys: of a head's 2·D "
        "rows, the first D are its keys",
    },
}


class TheOtherMatrix(Exercise):
    """Bring a fused matrix of keys and values into PyTorch's order."""

    chapter, kind, minutes, level = 16, "line", 10, 2
    title = "The other matrix"
    teaches = "the order of the rows in fused weights"
    axes = "query: C C, key_value: 2*C C, n_heads: -> 3*C C"
    switches = THE_OTHER_MATRIX

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Numbers that are all different, then a single head."""
        one_head = "with one head the rows are in order already"
        for about in "", "", one_head:
            sizes = draw.sizes("H D C=H*D")
            h, c = max(sizes["H"], sizes["D"]), sizes["C"]  # 3 or more
            h = 1 if about else h
            query, both = draw.tags(3 * c, c).split((c, 2 * c))
            yield Case((query, both, h), {"H": h, "C": c}, about)

    def answer(self, case: Case, rows: str, place: str, pair: str) -> Tensor:
        """Put the rows in order, and the three matrices."""
        query, both, h = case.args
        dealt = both.unflatten(0, (h, 2, -1)).transpose(0, 1).flatten(1, 2)
        key, value = {
            "by kind": dealt,
            "by head": both.unflatten(0, (2, -1)),
            "turned twice": both.unflatten(0, (2, h, -1))
            .transpose(0, 1)
            .reshape(2, -1, both.shape[1]),
            "every other": torch.stack((both[0::2], both[1::2])),
        }[rows]
        two = [key, value] if pair == "keys" else [value, key]
        three = [query, *two] if place == "first" else [*two, query]
        return torch.cat(three)


class SquaresAlone(Exercise):
    """Find where attention's two products cost as much as feed-forward."""

    chapter, kind, minutes, level = 16, "ablation", 10, 2
    title = "Squares alone"
    teaches = "what grows with the square of the length"
    axes = "C: , F: ->"
    switches = {
        "products": {
            "two": "",
            "one": "one product was counted: attention has two without "
            "parameters, the scores and the weighted sums",
            "all": "the four square matrices were counted as well: asked "
            "are the two products alone",
        },
        "matrices": {
            "two": "",
            "one": "one matrix was counted: a feed-forward layer has two, "
            "there and back",
            "paper": "F was taken for 4·C, as the paper has it: here F is "
            "given, and may be anything",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A width, and a wide layer that is not four times as wide."""
        for _ in range(3):
            c = 16 * (3 + draw.below(40))
            f = 5 * c + 8 * draw.below(20) + 8
            yield Case((c, f), {"C": c, "F": f})

    def answer(self, case: Case, products: str, matrices: str) -> float:
        """Solve for the length: work for each word, and for each pair."""
        c, f = case.args
        word = {"two": 2 * c * f, "one": c * f, "paper": 8 * c * c}[matrices]
        if products == "all":
            word -= 4 * c * c
        return word / (c if products == "one" else 2 * c)

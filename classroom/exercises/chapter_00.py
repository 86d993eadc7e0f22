"""Exercises on reading a trace."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

PRODUCT_SHAPE = {
    "rows": {
        "first": "",
        "second": "rows and columns are exchanged: the rows come from the "
        "first factor, left.mT, and the columns from the second, x",
        "unturned": "left was not turned: the rows of left.mT are its "
        "channels, not its words",
    },
    "shared": {
        "summed": "",
        "kept": "the axis that both factors share, the words, is still there: "
        "a matrix product sums over it",
    },
    "batch": {
        "kept": "",
        "lost": "the sentences are missing: the product is made once for each "
        "of them",
    },
}


class ProductShape(Exercise):
    """Predict what a product leaves of its axes."""

    chapter, kind, minutes, level = 0, "shape", 3, 1
    title = "Channels against channels"
    teaches = "the shape of a matrix product, and of mT"
    axes = "B: , T: , C: , D: -> B D C"
    switches = PRODUCT_SHAPE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sizes alone."""
        for _ in range(2):
            sizes = draw.sizes("B T C D")
            yield Case(tuple(sizes.values()), sizes)

    def answer(self, case: Case, rows: str, shared: str, batch: str) -> tuple:
        """Measure the product, or put the axes together wrongly."""
        b, t, c, d = case.args
        product = torch.zeros(b, t, d).mT @ torch.zeros(b, t, c)
        pair = {
            "first": tuple(product.shape[1:]),
            "second": (c, d),
            "unturned": (t, c),
        }[rows]
        middle = (t,) if shared == "kept" else ()
        front = (b,) if batch == "kept" else ()
        return (*front, pair[0], *middle, pair[1])


COMPARISONS = {
    "turn": {
        "turned": "",
        "viewed": "view (or reshape) reads the same numbers in the same "
        "order: it gives right another shape and does not turn it, so one "
        "column mixes several words",
    },
    "result": {
        "as it is": "",
        "viewed": "the product was made the other way round and then brought "
        "into shape with view, which scrambles its rows: turn it",
    },
    "sentence": {
        "own": "",
        "first": "every sentence is compared with the words of the first "
        "sentence, and should be with those of its own",
        "all": "the words of all sentences are added up: a sentence should be "
        "compared with its own alone",
    },
}


class Comparisons(Exercise):
    """Turn the words of y without scrambling them."""

    chapter, kind, minutes, level = 0, "bug", 5, 1
    title = "A view that scrambles"
    teaches = "view does not turn a matrix"
    axes = "left: B T D, right: B S D -> B T S"
    dependence = "right 1 -> 2"
    switches = COMPARISONS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Ordinary numbers; a single sentence; a single word."""
        sizes = [draw.sizes("B T S D") for _ in range(4)]
        sizes[2]["B"], sizes[3]["S"] = 1, 1
        about = (
            "",
            "",
            "a batch of one loses an axis",
            "one word loses an axis",
        )
        for each, why in zip(sizes, about):
            left = draw.numbers(*(each[a] for a in "BTD"))
            right = draw.numbers(*(each[a] for a in "BSD"))
            yield Case((left, right), each, why)

    def answer(
        self, case: Case, turn: str, result: str, sentence: str
    ) -> Tensor:
        """Turn right or view it; take it from one sentence or another."""
        left, right = case.args
        if sentence != "own":
            one = right[0] if sentence == "first" else right.sum(0)
            right = one.expand_as(right)
        if result == "viewed":
            shape = len(left), left.shape[1], right.shape[1]
            return (right @ left.mT).reshape(shape)
        b, s, d = right.shape
        turned = right.mT if turn == "turned" else right.reshape(b, d, s)
        return left @ turned


MOVED_COLUMNS = {
    "axis": {
        "rows": "",
        "columns": "this tells which rows moved: to have one answer for each "
        "column, go through the rows, dim=0",
    },
    "how many": {
        "any": "",
        "all": "a column has moved even if only some of its numbers have: "
        "any, not all",
        "sum": "the changes of a column were added up before they were "
        "compared with 0, and changes up and down cancel",
    },
    "sign": {
        "both": "",
        "up": "a number that became smaller has moved, too: take the absolute "
        "difference",
    },
}


class MovedColumns(Exercise):
    """Find the words of y on which a result depends."""

    chapter, kind, minutes, level = 0, "line", 6, 2
    title = "Which columns moved?"
    teaches = "test a property: change something, see what moves"
    axes = "before: T S, after: T S -> S"
    switches = MOVED_COLUMNS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Columns that move in some rows; then numbers that are rounded."""
        for noise in (0.0, 0.0, 1e-8):
            sizes = draw.sizes("T S")
            before = draw.numbers(sizes["T"], sizes["S"]).double()
            change = torch.zeros_like(before)
            change[1, 1], change[2, 1], change[0, 2] = 1, -1, -1
            change[:, -1] = 1
            place = int(draw.below(sizes["S"] - 4)) + 3
            change[draw.below(sizes["T"]), place] = 2
            about = noise and "what differs by rounding alone has not moved: "
            about = about and about + "ask for more than 1e-6"
            yield Case((before, before + change + noise), sizes, about or "")

    def answer(self, case: Case, axis: str, sign: str, **more: str) -> Tensor:
        """Compare the two, and gather along rows or columns."""
        before, after = case.args
        change, dim = after - before, 0 if axis == "rows" else 1
        if more["how many"] == "sum":
            change = change.sum(dim, keepdim=True)
        moved = (change if sign == "up" else change.abs()) > 1e-6
        return moved.all(dim) if more["how many"] == "all" else moved.any(dim)

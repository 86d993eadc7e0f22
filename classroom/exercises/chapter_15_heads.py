"""An exercise on a symmetry: heads may change places."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

TWO_HEADS = {
    "output": {
        "columns": "",
        "rows": "of the output's weight the columns belong to a head: its "
        "rows are the channels of the stream",
        "left": "the output's weight was left as it is: it still takes each "
        "head's numbers from the old place",
    },
    "projections": {
        "rows": "",
        "columns": "of a projection's weight the rows belong to a head: its "
        "columns are the channels of the stream",
        "left": "queries, keys and values were left as they are",
    },
    "heads": {
        "blocks": "",
        "in turn": "a head has D rows side by side: the heads do not take "
        "turns row by row",
        "first": "only the first row of each head was moved: a head has D",
        "rows": "single rows i and j were exchanged: head i is a block of D "
        "rows, and not row i",
        "others": "heads 0 and 1 were exchanged, whichever were asked for",
    },
}


class TwoHeads(Exercise):
    """Exchange two heads in the weights of an attention."""

    chapter, kind, minutes, level = 15, "line", 10, 2
    title = "Two heads change places"
    teaches = "which rows and columns belong to a head"
    axes = "query: C C, key: C C, value: C C, output: C C, n_heads:, i:, j: ->"
    switches = TWO_HEADS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Two of several heads; then a head with itself."""
        same = "a head that changes places with itself stays"
        for about in "", "", same:
            sizes = {"H": 5, "D": 2 + draw.below(3)}
            c = sizes["C"] = 5 * sizes["D"]
            weights = draw.tags(4, c, c).unbind()
            i, j = draw.tags(3)[:2].tolist()
            yield Case(
                (*weights, 5, i + 2, (i if about else j) + 2), sizes, about
            )

    def answer(
        self, case: Case, output: str, projections: str, heads: str
    ) -> tuple[Tensor, ...]:
        """Number the rows in their new order, and look them up."""
        *weights, n, i, j = case.args
        i, j = (0, 1) if heads == "others" else (i, j)
        rows = torch.arange(len(weights[0]))
        rows = rows.view(-1, n).mT if heads == "in turn" else rows.view(n, -1)
        new = rows.clone()
        moved = slice(1) if heads == "first" else slice(None)
        new[[i, j], moved] = rows[[j, i], moved]
        order = (new.mT if heads == "in turn" else new).flatten()
        if heads == "rows":
            order = torch.arange(len(order))
            order[[i, j]] = order[[j, i]]
        ways = {"rows": lambda w: w[order], "columns": lambda w: w[:, order]}
        three = ways.get(projections, torch.clone)
        last = ways.get(output, torch.clone)
        return *(three(w) for w in weights[:3]), last(weights[3])

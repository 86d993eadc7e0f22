"""What a beam search tries: each token, how likely it was, and its fate."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from tformer_lite.decoding.search import Beams

SEEN = 0.005  # a dropped beginning less likely than that is not noted


@dataclass(eq=False)
class Node:
    """A token that was tried after those before it: how likely it was there
    (`chance`), and with all that comes before (`total`). `kept` tells whether
    the search went on from it; `rank` is the place among the rows of the
    node that ends one, 0 the best."""

    token: int
    step: int = 0
    chance: float = 1.0
    total: float = 1.0
    before: "Node | None" = None
    kept: bool = True
    rank: int | None = None

    def path(self) -> Iterator["Node"]:
        """Go back from here to the start."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.before


class WatchedBeams(Beams):
    """Beams that note what they try for one source: `nodes`, a step after the
    other; `rows` are the nodes that the rows have come to."""

    def __init__(
        self, src: Tensor, start: int, end: int, width: int, penalty: float
    ):
        super().__init__(src, start, end, width, penalty)
        self.nodes = [Node(start)]
        self.rows = self.nodes * width

    def grow(self, log_probs: Tensor) -> Tensor:
        """Grow, and note the best tokens after each row that had no end."""
        live = (~self.done).nonzero().flatten().tolist()
        before, totals = self.rows, self.total.exp().tolist()
        rows = super().grow(log_probs)
        chosen = list(zip(rows.tolist(), self.tgt[:, -1].tolist()))
        best = log_probs.topk(self.width).indices.tolist()
        tried = dict.fromkeys(pair for pair in chosen if pair[0] in live)
        tried |= dict.fromkeys((row, i) for row in live for i in best[row])
        made = {}
        for row, token in tried:
            chance = math.exp(log_probs[row, token])
            node = Node(token, before[row].step + 1, chance)
            node.total, node.before = totals[row] * chance, before[row]
            node.kept = (row, token) in chosen
            made[row, token] = node
            if node.kept or node.total >= SEEN:
                self.nodes.append(node)
        self.rows = [made.get(pair, before[pair[0]]) for pair in chosen]
        return rows

    def ranked(self) -> list[Node]:
        """Give the rows' last nodes their ranks, the best first."""
        last = [node for node in self.rows if node.before]
        for rank, node in enumerate(last):
            node.rank = rank
        return last

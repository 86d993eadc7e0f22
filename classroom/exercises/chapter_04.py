"""Exercises on queries, keys and values."""

from collections.abc import Iterable

from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise


class StackedShape(Exercise):
    """Predict the shape of a weight that makes all three."""

    chapter, kind, minutes, level = 4, "shape", 5, 1
    title = "Three matrices in one"
    teaches = "a weight is (out, in), and stacking adds up the rows"
    axes = "C:, H:, D:, E: -> H*(2D+E) C"
    switches = {
        "turn": {
            "out_in": "",
            "in_out": "a weight is (out, in): a row for each channel that "
            "comes out",
        },
        "values": {
            "own": "",
            "same": "a head's value has E channels, and not D as its query "
            "and its key",
            "one": "queries and keys have D channels each: D counts twice",
        },
        "heads": {
            "all": "",
            "one": "those are the rows of one head, and there are H of them",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sizes that are all different."""
        for _ in range(3):
            sizes = draw.sizes("C H D E")
            yield Case(tuple(sizes.values()), sizes)

    def answer(
        self, case: Case, turn: str, values: str, heads: str
    ) -> tuple[int, int]:
        """Count the rows of all heads."""
        c, h, d, e = case.args
        rows = {"own": 2 * d + e, "same": 3 * d, "one": d + e}[values]
        rows *= h if heads == "all" else 1
        return (rows, c) if turn == "out_in" else (c, rows)


class KeysOfHead(Exercise):
    """Compute one head's keys from its rows of the weight."""

    chapter, kind, minutes, level = 4, "line", 5, 1
    title = "The keys of one head"
    teaches = "which rows of a weight make which channels"
    axes = "x: B S C, weight: C C, n_heads:, head: -> B S D"
    switches = {
        "rows": {
            "rows": "",
            "columns": "that takes columns of the weight, or forgets .mT: "
            "row c is the recipe for channel c",
            "strided": "that is every H-th row: a head has D rows that lie "
            "side by side",
        },
        "count": {
            "zero": "",
            "one": "those are the keys of the head before: heads are counted "
            "from 0",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A head in the middle or at the end; then the first."""
        for i in range(4):
            sizes = draw.sizes("B S H D C=H*D")
            b, s, h, _, c = sizes.values()
            x, weight = draw.numbers(b, s, c), draw.numbers(c, c) / c**0.5
            head = 0 if i == 3 else 1 + draw.below(h - 1)
            about = "head 0 has the first D rows" if i == 3 else ""
            yield Case((x, weight, h, head), sizes, about)

    def answer(self, case: Case, rows: str, count: str) -> Tensor:
        """Take D recipes, and use them."""
        x, weight, h, head = case.args
        d = len(weight) // h
        if count == "one":
            head = head - 1
        if rows == "strided":
            return x @ weight[head::h].mT
        mine = slice(head * d, (head + 1) * d)
        return x @ (weight[:, mine] if rows == "columns" else weight[mine].mT)


UNPACK = {
    "order": {
        "heads": "",
        "roles": "the rows were taken role by role, all queries first: "
        "here each head brings its query, its key and its value",
        "turns": "query, key and value were taken in turn, row by row: "
        "within a head they follow one another, D rows each",
    },
    "names": {
        "qkv": "",
        "kqv": "query and key have changed places",
        "vkq": "query and value have changed places",
        "qvk": "key and value have changed places",
    },
    "turn": {
        "kept": "",
        "turned": "the weights came out turned round: leave them (out, in)",
    },
}


class Unpack(Exercise):
    """Take the weight of a `FusedAttention` apart."""

    chapter, kind, minutes, level = 4, "line", 10, 2
    title = "Unpack"
    teaches = "head by head or role by role: two orders of the same rows"
    axes = "weight: 3*C C, n_heads: -> 3 C C"
    switches = UNPACK

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Weights whose numbers are all different."""
        for _ in range(2):
            sizes = draw.sizes("H D C=H*D")
            h, _, c = sizes.values()
            yield Case((draw.tags(3 * c, c), h), sizes)

    def answer(
        self, case: Case, order: str, names: str, turn: str
    ) -> tuple[Tensor, ...]:
        """Find the rows of each role."""
        weight, h = case.args
        c = weight.shape[1]
        if order == "heads":
            roles = weight.view(h, 3, c // h, c).transpose(0, 1)
        elif order == "roles":
            roles = weight.view(3, c, c)
        else:
            roles = weight.view(c, 3, c).transpose(0, 1)
        found = [roles[i].reshape(c, c) for i in map("qkv".index, names)]
        return tuple(w.mT if turn == "turned" else w for w in found)


class OneHead(Exercise):
    """Say why a test with one head shows nothing."""

    chapter, kind, minutes, level = 4, "explain", 5, 2
    title = "Why one head hides it"
    teaches = "what a test with one head cannot show"
    rubric = (
        "what the two orders of the rows are with one head",
        "why role by role then passes",
        "what a test needs to tell the orders apart",
    )


THREE_ROLES = {
    "query": {
        "x w_q": "",
        "source w_q": "the queries come from the source: x asks",
        "x w_k": "the queries are made with the matrix of the keys",
    },
    "key": {
        "source w_k": "",
        "x w_k": "the keys come from x: the source answers",
        "source w_q": "the keys are made with the matrix of the queries",
        "source w_v": "the keys are made with the matrix of the values",
    },
    "value": {
        "source w_v": "",
        "x w_v": "the values come from x: the source answers",
        "source w_k": "the values are made with the matrix of the keys, "
        "and w_v is not used",
    },
    "turn": {
        "turned": "",
        "not": "x @ weight without .mT: a weight is (out, in)",
    },
}


class ThreeRoles(Exercise):
    """Find the matrix that does another's job."""

    chapter, kind, minutes, level = 4, "bug", 5, 1
    title = "A slip of copy and paste"
    teaches = "who reads what in cross-attention"
    axes = "x: B T C, source: B S C, w_q: C C, w_k: C C, w_v: C C -> 3 B S C"
    switches = THREE_ROLES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Two sequences of different lengths."""
        for _ in range(2):
            sizes = draw.sizes("B T S C")
            b, t, s, c = sizes.values()
            weights = (draw.numbers(c, c, scale=c**-0.5) for _ in range(3))
            args = draw.numbers(b, t, c), draw.numbers(b, s, c), *weights
            yield Case(args, sizes)

    def answer(
        self, case: Case, query: str, key: str, value: str, turn: str
    ) -> tuple[Tensor, ...]:
        """Multiply what each name says."""
        given = dict(zip(self.inputs, case.args))

        def product(names: str) -> Tensor:
            x, weight = (given[name] for name in names.split())
            return x @ (weight if turn == "not" else weight.mT)

        return product(query), product(key), product(value)

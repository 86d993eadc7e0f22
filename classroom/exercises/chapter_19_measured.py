"""Exercises on what came since 2017: three measurements."""

from collections.abc import Iterable

from torch import Tensor
from torch.nn.functional import silu

from classroom.cases import Case, Draw
from classroom.exercise import Exercise, flawless
from tformer_lite.model.attention import dot_product_attention
from tformer_lite.model.modern import rotate

VALUES_TOO = {
    "values": {
        "turned": "",
        "plain": "nothing moves, up to rounding: turn the values as well, "
        "and compare the results, not their lengths",
    },
    "keys": {
        "with them": "",
        "queries": "the keys move on as well, not the queries alone",
        "plain": "queries and keys are to be turned, too",
    },
    "far": {
        "length": "",
        "squared": "that is the square of the distance: take the root",
        "mean": "the mean over the channels was taken: the length of a "
        "difference is the root of a sum",
    },
    "early": {
        "turned": "",
        "plain": "a sentence that begins at place 0 is turned, too: only its "
        "first word stands at place 0",
    },
}


class ValuesToo(Exercise):
    """How far results move when the values are turned as well."""

    chapter, kind, minutes, level = 19, "ablation", 15, 2
    title = "Values too"
    teaches = "why values are not turned: a result should not know its place"
    axes = "q: B H T D, k: B H T D, v: B H T D, start: -> B H T"
    switches = VALUES_TOO

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sentences that begin some places later; then not at all."""
        stays = "a sentence that begins at 0 has not moved"
        for about in "", "", stays:
            sizes = draw.sizes("B H T") | {"D": 4 + 2 * draw.below(3)}
            shape = [sizes[a] for a in "BHTD"]
            q, k, v = (draw.numbers(*shape) for _ in range(3))
            yield Case((q, k, v, 0 if about else 2), sizes, about)

    def answer(
        self, case: Case, values: str, keys: str, far: str, early: str
    ) -> Tensor:
        """Attend from both places, and compare."""
        q, k, v, start = case.args

        def result(place: int) -> Tensor:
            asks, answers = {
                "queries": (rotate(q, place), rotate(k)),
                "plain": (q, k),
            }.get(keys, (rotate(q, place), rotate(k, place)))
            worth = v if values == "plain" else rotate(v, place)
            return dot_product_attention(asks, answers, worth)

        plain = dot_product_attention(q, k, v)
        first = plain if early == "plain" else result(0)
        ways = {"squared": 2.0, "mean": 1.0}
        moved = (result(start) - first).norm(dim=-1) ** ways.get(far, 1.0)
        return moved / q.shape[-1] ** 0.5 if far == "mean" else moved


OPEN_GATE = {
    "bias": {
        "inside": "",
        "outside": "the bias was added after the activation: it belongs to "
        "the gate's projection",
        "channels": "the bias was given to the hidden projection: it opens "
        "the gate",
        "less": "the bias was subtracted: that closes the gate",
    },
    "size": {
        "divided": "",
        "left": "an open gate multiplies by about the bias: divide by it",
        "multiplied": "the result was multiplied by the bias: divide by it",
    },
    "plain": {
        "two": "",
        "bent": "two plain matrices have no activation between them",
        "gate": "the matrix of the gate was taken for the hidden one",
    },
    "largest": {
        "size": "",
        "signed": "take the absolute value before the maximum",
        "mean": "the mean of the differences: asked for is the largest",
    },
}


class OpenGate(Exercise):
    """How far a gated layer is from two plain matrices."""

    chapter, kind, minutes, level = 19, "ablation", 15, 2
    title = "A gate that is open"
    teaches = "a gate with a large bias lets everything pass"
    axes = "x: T C, gate: F C, hidden: F C, output: C F, bias: ->"
    switches = OPEN_GATE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A gate half open, then further."""
        for bias in (2.0, 5.0, 20.0):
            sizes = draw.sizes("T C F")
            t, c, f = (sizes[a] for a in "TCF")
            shapes = (t, c), (f, c), (f, c), (c, f)
            args = [draw.numbers(*shape, scale=0.5) for shape in shapes]
            case = Case((*args, bias), sizes)
            signed = flawless(self.switches) | {"largest": "signed"}
            if self.answer(case, **signed) == self.right(case):
                args[3].neg_()  # the largest difference is negative
            yield case

    def answer(
        self, case: Case, bias: str, plain: str, **choice: str
    ) -> Tensor:
        """Open the gate, divide, and compare."""
        x, gate, hidden, output, b = case.args
        opened, value = x @ gate.mT, x @ hidden.mT
        gates = {
            "outside": silu(opened) + b,
            "channels": silu(opened),
            "less": silu(opened - b),
        }
        wide = value + b if bias == "channels" else value
        made = (gates.get(bias, silu(opened + b)) * wide) @ output.mT
        scales = {"left": 1.0, "multiplied": b}
        made = made * scales.get(choice["size"], 1 / b)
        flat = {"bent": silu(value), "gate": opened}.get(plain, value)
        apart = made - flat @ output.mT
        if choice["largest"] == "mean":
            return apart.abs().mean()
        apart = apart if choice["largest"] == "signed" else apart.abs()
        return apart.max()


MISTRALS_CACHE = {
    "ratio": {
        "heads": "",
        "upside": "the heads were divided the wrong way round: groups make "
        "the cache smaller, and so a window of as many places pays later",
        "saved": "at that length both together save as much as groups: "
        "compare the window alone with the groups alone",
        "none": "the groups do not count here: compare the window, with all "
        "heads, with the groups, without a window",
    },
    "first": {
        "more": "",
        "equal": "there both save alike: one token more, and the window "
        "saves more",
        "beyond": "one token too many: the window saves more a token earlier",
    },
}


class MistralsCache(Exercise):
    """The length from which on a window saves more than groups."""

    chapter, kind, minutes, level = 19, "ablation", 10, 2
    title = "Mistral's cache"
    teaches = "groups save a share, a window saves all but its places"
    axes = "width:, n_heads:, n_kv_heads: ->"
    switches = MISTRALS_CACHE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Windows and groups; then heads that share nothing."""
        for about in "", "", "", "without groups any saving is more":
            width = 50 + draw.below(300)
            n = 2 + draw.below(3)
            groups = (3, 5, 7)[draw.below(3)]
            yield Case((width, n if about else n * groups, n), {}, about)

    def answer(self, case: Case, ratio: str, first: str) -> int:
        """Compare what both keep: a share, and a number of places."""
        width, heads, kept = case.args
        even = {
            "upside": width * kept // heads,
            "saved": width * heads // max(heads - kept, 1),
            "none": width,
        }.get(ratio, width * heads // kept)
        return even + {"equal": 0, "beyond": 2}.get(first, 1)

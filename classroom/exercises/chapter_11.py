"""Exercises on the decoder and its cross-attention."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from tformer_lite.model.attention import join_heads, split_heads
from tformer_lite.model.masks import causal_mask, padding_mask
from tformer_lite.model.variants import softmax


class CrossShape(Exercise):
    """Predict the shape of the scores of cross-attention."""

    chapter, kind, minutes, level = 11, "shape", 3, 1
    title = "Who asks whom"
    teaches = "scores of cross-attention: T rows, S columns"
    axes = "B, S, T, H, D -> B H T S"
    switches = {
        "axes": {
            "BHTS": "",
            "BHST": "rows and columns are exchanged: the target asks, so it "
            "has the rows",
            "BHTT": "this is the shape of the decoder's self-attention: the "
            "memory has S positions",
            "BHSS": "this is the shape of the encoder's self-attention: the "
            "target asks, and has T positions",
            "BHTD": "this is the shape of the queries: a product with the "
            "keys sums D away",
            "BTS": "the heads are missing: each head has scores of its own",
            "BTHS": "the heads come before the positions: in the product "
            "each head is a matrix",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sizes alone."""
        for _ in range(3):
            sizes = draw.sizes("B H D S T")
            yield Case(tuple(sizes[a] for a in "BSTHD"), sizes)

    def answer(self, case: Case, axes: str) -> tuple[int, ...]:
        """Put the sizes in this order."""
        return tuple(case.sizes[letter] for letter in axes)


BLIND = {
    "source": {
        "memory": "",
        "own": "keys and values come from x: x attends to itself, "
        "and not to memory",
    },
    "matrices": {
        "own": "",
        "exchanged": "the matrices of keys and values are exchanged",
        "key": "the matrix of the keys makes the values, too",
    },
    "scale": {
        "√D": "",
        "√C": "divided by √C: the width of one head is D",
        "none": "no 1/√D: the scores grow with the width of a head",
    },
}


class AsksMemory(Exercise):
    """Find what is wrong with a decoder that never attends to memory."""

    chapter, kind, minutes, level = 11, "bug", 8, 2
    title = "The blind decoder"
    teaches = "cross-attention: keys and values come from memory"
    axes = (
        "x: B T C, memory: B S C, query: C C, key: C C, value: C C, n_heads"
        " -> B T C"
    )
    dependence = "memory 1 -> 1"
    switches = BLIND

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A target and a memory of other lengths."""
        for _ in range(2):
            sizes = draw.sizes("B H D T S C=H*D")
            b, t, s, c = (sizes[a] for a in "BTSC")
            x, memory = draw.numbers(b, t, c), draw.numbers(b, s, c)
            made = (draw.numbers(c, c, scale=c**-0.5) for _ in range(3))
            yield Case((x, memory, *made, sizes["H"]), sizes)

    def answer(
        self, case: Case, source: str, matrices: str, scale: str
    ) -> Tensor:
        """Attend to memory or to x."""
        x, memory, query, key, value, n_heads = case.args
        if matrices == "exchanged":
            key, value = value, key
        value = key if matrices == "key" else value
        keyed = memory if source == "memory" else x
        q, k, v = (
            split_heads(of @ w, n_heads)
            for of, w in ((x, query), (keyed, key), (keyed, value))
        )
        d, c = q.shape[-1], x.shape[-1]
        by = {"√D": math.sqrt(d), "√C": math.sqrt(c), "none": 1}[scale]
        return join_heads(softmax(q @ k.mT / by) @ v)


MASKS = {
    "future": {
        "hidden": "",
        "and present": "a position does not see itself: the diagonal belongs "
        "to what it may attend to",
        "past": "the causal mask is turned round: it hides the past, and "
        "should hide the future",
        "seen": "the future is not hidden in the target's mask",
    },
    "padding": {
        "hidden": "",
        "seen": "padding of the target is not hidden in the target's mask",
        "asks": "padding hides the rows of those who ask: a mask is about "
        "those who answer",
    },
    "joined": {
        "and": "",
        "or": "the two conditions are joined with or: a position must be in "
        "the past and no padding",
    },
    "memory": {
        "hidden": "",
        "seen": "padding of the source is not hidden in the memory's mask",
    },
    "pad": {
        "given": "",
        "1": "the id 1 is taken for padding: it has the id `pad`",
    },
    "polarity": {
        "may": "",
        "hide": "the masks' polarity: True means may attend",
    },
}


class DecoderMasks(Exercise):
    """Draw both masks of a decoder's block."""

    chapter, kind, minutes, level = 11, "mask", 10, 2
    title = "Which mask goes where"
    teaches = "a mask is about those who answer"
    axes = "src: B S, tgt: B T, pad -> B 1 T T"
    switches = MASKS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Ids with padding inside the rows."""
        for pad in (0, 3):
            sizes = draw.sizes("B T S")
            b, t, s = (sizes[a] for a in "BTS")
            src, tgt = (draw.ids(b, n, below=5) for n in (s, t))
            for ids in (src, tgt):
                ids[0, :4] = torch.tensor([2, 1, pad, 2])
            yield Case((src, tgt, pad), sizes)

    def answer(self, case: Case, **how: str) -> tuple[Tensor, Tensor]:
        """Join what hides the future and what hides padding."""
        src, tgt, pad = case.args
        pad = {"given": pad, "1": 1}[how["pad"]]
        t = tgt.shape[1]
        past = causal_mask(t)
        past = {
            "and present": past & ~torch.eye(t, dtype=torch.bool),
            "past": past.mT,
            "seen": past | True,
        }.get(how["future"], past)
        real, other = padding_mask(tgt, pad), padding_mask(src, pad)
        real = {"seen": real | True, "asks": real.mT}.get(how["padding"], real)
        mask = past & real if how["joined"] == "and" else past | real
        other = other | (how["memory"] == "seen")
        return (mask, other) if how["polarity"] == "may" else (~mask, ~other)


class StillATriangle(Exercise):
    """Say why many causal blocks are causal."""

    chapter, kind, minutes, level = 11, "explain", 8, 2
    title = "Still a triangle"
    teaches = "causality of a stack follows from that of its blocks"
    rubric = (
        "what row t of one block depends on",
        "why that stays so from block to block",
        "why the memory, which all rows attend to, brings in no future",
    )


LOUD = (
    "large scores overflow: subtract the row's maximum, over both memories, "
    "before exp"
)
NONE = "a row with no visible key in either memory should give zeros"
MIXTURE = {
    "sums": {
        "joint": "",
        "apart": "each memory has a softmax of its own: one runs over the "
        "keys of both",
        "halved": "two attentions are averaged: one softmax runs over the "
        "keys of both",
    },
    "bias": {
        "added": "",
        "missing": "the biases are not used: add them to the scores",
        "exchanged": "the biases are exchanged: bias[0] belongs to the first "
        "memory",
        "scaled": "the bias is divided by √D, too: add it after the scaling",
        "factor": "the scores are multiplied by the biases: add them",
    },
    "scale": {
        "√D": "",
        "none": "no 1/√D: the scores grow with the width of a head",
    },
    "masks": {
        "both": "",
        "first": "the second mask is not used: the target attends to padding "
        "of the second memory",
        "second": "the first mask is not used: the target attends to padding "
        "of the first memory",
        "neither": "the masks are not used: the target attends to padding",
        "turned": "the masks' polarity: True means may attend",
    },
}


def two_memories(draw: Draw, sizes: dict[str, int]) -> list[Tensor]:
    """Draw queries, keys, values and masks of two memories, and biases."""
    b, h, t, d = (sizes[a] for a in "BHTD")
    args = [1.5 * draw.numbers(b, h, t, d)]
    for n in (sizes["S"], sizes["R"]):
        mask = draw.flags(b, 1, 1, n, share=0.7)
        mask[..., 0], mask[..., 1] = False, True
        args += [draw.numbers(b, h, n, d) for _ in "kv"] + [mask]
    return [*args, draw.numbers(2, h)]


HALF = "where one memory is all padding, the target attends to the other"


class MemoryMixture(Exercise):
    """Let a target ask two memories at once."""

    chapter, kind, minutes, level = 11, "line", 25, 3
    title = "Two memories"
    teaches = "cross-attention to two memories, with a bias for each"
    axes = (
        "q: B H T D, k1: B H S D, v1: B H S D, mask1: B 1 1 S, k2: B H R D, "
        "v2: B H R D, mask2: B 1 1 R, bias: N H -> B H T D"
    )
    dependence = "v2 2 -> 2"
    assignable = True
    switches = MIXTURE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Padding inside both; then large scores, and no visible key."""
        for _ in range(2):
            sizes = draw.sizes("B H D R T S")
            args = two_memories(draw, sizes)
            yield Case(tuple(args), sizes)
        yield Case((20 * args[0], *args[1:]), sizes, LOUD)
        for rows, about in (((0, 1), HALF), ((0, 0), NONE)):
            args[3], args[6] = args[3].clone(), args[6].clone()
            args[3][rows[0]] = args[6][rows[1]] = False
            yield Case(tuple(args), sizes, about)

    def answer(
        self, case: Case, sums: str, bias: str, scale: str, masks: str
    ) -> Tensor:
        """Sum exponentials over each memory, and divide."""
        q, *rest, given = (x.double() for x in case.args)
        root = {"√D": q.shape[-1] ** 0.5}.get(scale, 1.0)
        plus = {"added": given, "exchanged": given.flip(0)}
        plus |= {"scaled": given / q.shape[-1] ** 0.5}
        added = plus.get(bias, 0 * given)[..., None, None]
        times = {"factor": given}.get(bias, given**0)[..., None, None]
        some = {"first": (0,), "second": (1,), "neither": ()}
        used = some.get(masks, (0, 1))
        found = []
        for i, (k, v, mask) in enumerate((rest[:3], rest[3:])):
            seen = {"turned": 1 - mask}.get(masks, mask)
            exps = (times[i] * (q @ k.mT) / root + added[i]).exp()
            exps = exps * (seen if i in used else 1)
            found.append((exps @ v, exps.sum(-1, keepdim=True)))
        both = found[0][1] + found[1][1]
        total = [both if sums == "joint" else n for _, n in found]
        parts = [x / n.where(n > 0, 1) for (x, _), n in zip(found, total)]
        return (parts[0] + parts[1]) / {"halved": 2}.get(sums, 1)

"""Exercises on generation: what is missed, what may stay, what is stale."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.exercises.chapter_14_search import telling

WIDER_BEAM = {
    "count": {
        "its own": "",
        "better": "the beginnings that look better were counted: the beam "
        "has to hold one more, the right one",
        "worse": "the beginnings that look worse were counted: a beam keeps "
        "the likeliest",
        "flat": "that is a place in the table of products, which `argmax` "
        "counts row after row: asked is the rank of its first word",
    },
    "best": {
        "product": "",
        "sum": "the two chances were added: a sentence has their product",
        "second": "the best sentence is not the one with the likeliest "
        "second word: its first word counts as well",
        "greedy": "that is where greedy decoding goes: the best sentence may "
        "begin with another word",
    },
    "of": {
        "each": "",
        "first": "a beginning was judged by its sentence with word 0: take "
        "the best one",
    },
}


class WiderBeam(Exercise):
    """Find the least width with which a beam finds the best sentence."""

    chapter, kind, minutes, level = 14, "line", 10, 2
    title = "A wider beam"
    teaches = "what a beam misses: a good sentence that begins badly"
    axes = "first: N, then: N V ->"
    switches = WIDER_BEAM

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Tables that tell; then a likely beginning, and the worst one."""
        yield from telling(self, lambda: self.table(draw))
        for about, best in (
            ("a width of 1 may be enough", 0),
            ("the best sentence may begin with the least likely word", -1),
        ):
            case = self.table(draw, about)
            first, then = case.args
            then[:] = then.mean(1, keepdim=True)
            then[first.argsort(descending=True)[best]] *= 0
            then[first.argsort(descending=True)[best], 2] = 1
            first += 0.1 * len(then[0])
            first /= first.sum()
            yield case

    def table(self, draw: Draw, about: str = "") -> Case:
        """Draw the chances of first words, and of what comes then."""
        sizes = {"N": 6 + draw.below(3), "V": 11}
        first = draw.numbers(sizes["N"]).softmax(-1)
        then = draw.numbers(sizes["N"], 11, scale=1.5).softmax(-1)
        return Case((first, then), sizes, about)

    def answer(self, case: Case, count: str, best: str, of: str) -> int:
        """Find the best sentence, and the rank of its first word."""
        first, then = case.args
        second = then.amax(1) if of == "each" else then[:, 0]
        judged = {"sum": first + second, "second": second, "greedy": first}
        row = judged.get(best, first * second).argmax()
        better = int((first > first[row]).sum())
        flat = int((first[:, None] * then).argmax())
        counts = {"better": better, "worse": len(first) - better}
        counts["flat"] = flat
        return counts.get(count, better + 1)


GROWING_SOURCE = {
    "blocks": {
        "all": "",
        "one": "that is a single block: what a position attends to there "
        "has itself attended to others in the block below",
        "less": "one block is missing",
        "more": "there is one block too many",
    },
    "new": {
        "behind": "",
        "one less": "the first of the new tokens was taken for an old one: "
        "the old ones are those before place n",
        "one more": "the last of the old tokens was taken for a new one",
    },
    "who": {
        "asks": "",
        "answers": "rows of the mask ask, and columns answer: what counts "
        "is whom a row attends to, and not who attends to it",
    },
    "itself": {
        "always": "",
        "masked": "what a position depends on stays with it, even where it is "
        "masked from itself: the residual connection carries it on",
    },
    "polarity": {
        "stay": "",
        "change": "these are the rows that change: True means that a row "
        "stays",
    },
}


class GrowingSource(Exercise):
    """Tell which rows of memory stay when the source grows."""

    chapter, kind, minutes, level = 14, "line", 15, 3
    title = "A growing source"
    teaches = "which rows can be kept: those that depend on nothing new"
    axes = "mask: S S, n_layers:, n: -> n"
    switches = GROWING_SOURCE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Masks with a few holes; the encoder's own, and the decoder's."""
        yield from telling(self, lambda: self.grown(draw))
        yield from (self.grown(draw) for _ in range(2))
        s, n = 19, 11
        every = torch.ones(s, s, dtype=torch.bool)
        about = "where everybody attends to everybody no row stays"
        yield Case((every, 2, n), {"S": s, "n": n}, about)
        about = "behind a causal mask every row stays"
        yield Case((every.tril(), 3, n), {"S": s, "n": n}, about)
        about = "a source that has not grown leaves every row as it is"
        yield Case((every, 1, s), {"S": s, "n": s}, about)

    def grown(self, draw: Draw) -> Case:
        """Draw a mask in which few attend to few."""
        s, n = 17 + draw.below(4), 10 + draw.below(3)
        mask = draw.flags(s, s, share=0.07)
        places = torch.arange(s)
        mask[places, (places - 1).clamp(0)] = True
        return Case((mask, 2 + draw.below(2), n), {"S": s, "n": n})

    def answer(self, case: Case, who: str, **choice: str) -> Tensor:
        """Follow who attends to whom, block by block."""
        mask, n, old = case.args
        n = {"one": 1, "less": n - 1, "more": n + 1}.get(choice["blocks"], n)
        step = mask.mT if who == "answers" else mask
        lag = {"one less": 1, "one more": -1}.get(choice["new"], 0)
        new = torch.arange(len(mask)) >= old + lag
        for _ in range(n):
            moved = (step & new).any(-1)
            new = moved if choice["itself"] == "masked" else new | moved
        return new[:old] if choice["polarity"] == "change" else ~new[:old]


STALE_MEMORY = {
    "made": {
        "when new": "",
        "once": "the next sentence is answered from the memory of the "
        "first: make keys and values anew when the memory is another one, "
        "whatever its shape",
        "always": "keys and values are made at every step: as long as the "
        "memory is the same they can be kept",
        "kept first": "`kept` is never renewed: each memory is compared with "
        "the first sentence's, and should be with the last one's",
        "late": "keys and values are made one step too late: the first step "
        "of a new sentence still has the old ones",
    },
    "which": {
        "both": "",
        "keys": "the keys are new, and the values are still those of the "
        "first sentence",
        "values": "the values are new, and the keys are still those of the "
        "first sentence",
    },
}


class StaleMemory(Exercise):
    """Notice that the memory is another sentence's."""

    chapter, kind, minutes, level = 14, "bug", 10, 2
    title = "Stale memory"
    teaches = "what is kept of a source has to go with it"
    axes = "q: T D, memories:, w_key: C D, w_value: C D -> T D"
    switches = STALE_MEMORY

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sentences in turn; then of other lengths, nearly alike, alone."""
        other = "sentences may have different lengths"
        alike = "sentences whose memories begin alike are taken for one"
        one = "a single sentence has its keys and values made once"
        for about in "", "", other, alike, one:
            sizes = draw.sizes("D T S C")
            s, c, d = (sizes[a] for a in "SCD")
            lengths = (s, s + 1, s + 2) if about == other else (s, s, s)
            texts = [draw.numbers(n, c) for n in lengths]
            if about == alike:
                texts[1][:-1] = texts[0][:-1]
            order = [0] * 4 if about == one else [0, 0, 0, 1, 1, 2, 2]
            q = draw.numbers(len(order), d)
            w, named = draw.numbers(2, c, d), {"T": len(q), "D": d, "C": c}
            memories = [texts[i].clone() for i in order]
            yield Case((q, memories, *w), named, about)

    def answer(self, case: Case, made: str, which: str) -> tuple:
        """Find whose keys and values each step has, and count the makings."""
        q, memories, w_key, w_value = case.args
        steps = range(len(memories))
        now = renewed(memories, made)
        rows = []
        for i in steps:
            lag = i - 1 if made == "late" and i else i
            last = memories[max(j for j in now if j <= lag)]
            k = (memories[0] if which == "values" else last) @ w_key
            v = (memories[0] if which == "keys" else last) @ w_value
            weights = (k @ q[i] / math.sqrt(len(q[i]))).softmax(-1)
            rows.append(weights @ v)
        return torch.stack(rows), len(now)


def renewed(memories: list[Tensor], made: str) -> list[int]:
    """List the steps that make keys and values anew; the first one does."""
    if made == "once":
        return [0]
    kept = memories[:1] * len(memories)
    pairs = zip(memories[1:], kept if made == "kept first" else memories)
    new = [made == "always" or not now.equal(last) for now, last in pairs]
    return [0, *(i for i, each in enumerate(new, 1) if each)]

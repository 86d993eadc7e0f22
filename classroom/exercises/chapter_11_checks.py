"""Exercises on the decoder: who asks whom, and what a mask is too late for."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.stubs import CrossAttentionStub

ROWS_MOVED = {
    "order": {
        "as asked": "",
        "exchanged": "the two numbers are exchanged: what a change of x moves "
        "comes first",
    },
    "counted": {
        "rows": "",
        "numbers": "single numbers are counted: a row that moves counts once",
        "sentences": "a row is counted in every sentence: count positions",
        "all": "only rows are counted that move in all numbers: a row moves "
        "if any of its numbers does",
        "upwards": "a row that moves downwards moves, too: take abs",
        "farthest": "how far they move is measured: count the rows that do",
    },
    "changed": {
        "one place": "",
        "all places": "all places are changed: change the first alone",
        "last place": "the last place is changed: change the first",
    },
    "apart": {
        "apart": "",
        "together": "memory is changed while x is still changed: change one "
        "at a time",
    },
}


class RowsMoved(Exercise):
    """Find out from outside who asks and who answers."""

    chapter, kind, minutes, level = 11, "ablation", 15, 2
    title = "Memory asks"
    teaches = "a check that tells who asks, at equal lengths"
    axes = "attend, x: B T C, memory: B T C ->"
    switches = ROWS_MOVED

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Who asks: the target, memory, the target itself, and nobody."""
        for asks in ("target", "memory", "alone", "nobody"):
            sizes = draw.sizes("B T C")
            b, t, c = (sizes[a] for a in "BTC")
            x, memory = draw.numbers(b, t, c), draw.numbers(b, t, c)
            q, k = (draw.numbers(c, c, scale=0.7 * c**-0.5) for _ in "qk")
            value = draw.numbers(c, c)
            value[:, 1] = 0  # a channel that never moves
            attend = CrossAttentionStub(q, k, value, asks)
            yield Case((attend, x, memory), sizes)

    def answer(self, case: Case, **how: str) -> tuple[float, ...]:
        """Change a place of each, and count the rows that move."""
        attend, x, memory = case.args
        more = torch.zeros(x.shape[1], 1)
        places = {"one place": slice(1), "last place": slice(-1, None)}
        more[places.get(how["changed"], slice(None))] = 1
        kept = x + more if how["apart"] == "together" else x
        found = []
        for trial in ((x + more, memory), (kept, memory + more)):
            far = attend(*trial) - attend(x, memory)
            up, moved = far > 1e-5, far.abs() > 1e-5
            rows = moved.any(-1)
            counts = {"numbers": moved.sum(), "sentences": rows.sum()}
            counts |= {"rows": rows.any(0).sum(), "farthest": far.abs().max()}
            counts["all"] = moved.all(-1).all(0).sum()
            counts["upwards"] = up.any(-1).any(0).sum()
            found.append(counts[how["counted"]].item())
        return tuple(found if how["order"] == "as asked" else found[::-1])


LOST_WORDS = {
    "present": {
        "kept": "",
        "lost": "the word at its own place is counted as lost: the causal "
        "mask leaves it",
    },
    "counted": {
        "lost": "",
        "left": "the words that are left are counted: asked are those that "
        "are lost",
        "before": "the words before it are counted: the causal mask hides "
        "those after it",
    },
    "padding": {
        "no word": "",
        "counted": "padding is counted: it was hidden anyway",
    },
    "each": {
        "target": "",
        "source": "counted is, for each English word, who loses it: asked is "
        "what each Nepali position loses",
    },
    "pad": {
        "given": "",
        "1": "the id 1 is taken for padding: it has the id `pad`",
    },
}


class LostWords(Exercise):
    """Count what a causal mask on memory hides."""

    chapter, kind, minutes, level = 11, "ablation", 10, 1
    title = "A mask too many"
    teaches = "memory has no future: a causal mask hides what may be read"
    axes = "src: B S, pad -> B T"
    switches = LOST_WORDS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Padding inside the rows, with the id 1 among the words."""
        for pad in (0, 3):
            sizes = draw.sizes("B S")
            src = draw.ids(sizes["B"], sizes["S"], below=5)
            src[0, :5] = torch.tensor([2, 1, pad, 2, 1])
            yield Case((src, pad), sizes)

    def answer(
        self, case: Case, present: str, counted: str, **how: str
    ) -> Tensor:
        """Sum the words that a triangle hides."""
        src, pad = case.args
        word = src != {"given": pad}.get(how["pad"], 1)
        word = word | (how["padding"] == "counted")
        ones = torch.ones(src.shape[1], src.shape[1])
        future = ones.triu(1 if present == "kept" else 0)
        other = {"left": 1 - future, "before": future.mT}
        hides = other.get(counted, future)
        if how["each"] == "source":
            return (hides.sum(0) * word).long()
        return (word.float() @ hides.mT).long()


REACH_THROUGH = {
    "itself": {
        "always": "",
        "forgotten": "a row always depends on itself, along the residual "
        "connection: the mask need not allow it",
    },
    "masks": {
        "chained": "",
        "reversed": "the blocks come in reversed order: the first mask is "
        "that of the block which reads the words",
        "and": "the masks are joined with and: each block lets words go on "
        "from where they are",
        "or": "the masks are joined with or: a word can go on from where an "
        "earlier block took it",
        "last": "only the last mask is used: the blocks before have mixed "
        "words already",
        "first": "only the first mask is used: later blocks mix, too",
    },
    "turn": {
        "row asks": "",
        "column asks": "rows and columns are exchanged: row i tells what "
        "position i depends on",
    },
}


class ReachThrough(Exercise):
    """Say who has reached whom through blocks with different masks."""

    chapter, kind, minutes, level = 11, "mask", 15, 2
    title = "Too late for a mask"
    teaches = "a mask cannot take back what a block before it has mixed"
    axes = "masks -> T T"
    switches = REACH_THROUGH

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Rings of their own, where some see themselves; then a triangle."""
        for n in (2, 3):
            sizes = draw.sizes("T")
            t, masks = sizes["T"], []
            for _ in range(n):
                ring = draw.tags(t)
                masks.append(torch.diag(draw.flags(t, share=0.4)))
                masks[-1][ring, ring.roll(1)] = True
            yield Case((masks,), sizes)
        full = torch.ones(t, t, dtype=torch.bool)
        late = "behind a block in which all see all, no triangle is left"
        yield Case(([full, full.tril()],), sizes, late)
        one = "with one block it is the mask, and each position itself"
        yield Case((masks[:1],), sizes, one)

    def answer(self, case: Case, itself: str, masks: str, turn: str) -> Tensor:
        """Multiply matrices, the last from the left."""
        (given,) = case.args
        own = torch.eye(len(given[0]), dtype=torch.bool)
        each = [m | own if itself == "always" else m for m in given]
        stacked = torch.stack(each)
        some = {"reversed": each[::-1], "last": each[-1:], "first": each[:1]}
        some |= {"and": [stacked.all(0)], "or": [stacked.any(0)]}
        reach = torch.eye(len(own))
        for mask in some.get(masks, each):
            reach = mask.float() @ reach
        return (reach if turn == "row asks" else reach.mT) > 0

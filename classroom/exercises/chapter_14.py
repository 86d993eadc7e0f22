"""Exercises on generation: what is kept, and when to stop."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

BEAM_KEYS_SHAPE = {
    "rows": {
        "each": "",
        "sentences": "every beginning has read other words, so each has "
        "keys of its own: the rows are B times W",
        "beginnings": "each sentence of the batch has its own W "
        "beginnings: the rows are B times W",
        "apart": "the beginnings have no axis of their own: to the model "
        "they are rows of the batch",
    },
    "places": {
        "read": "",
        "source": "these are the keys of the decoder's own words: the "
        "source's length belongs to cross-attention",
        "new": "what is kept has every place read so far: only the query "
        "has one place",
        "next": "the word being guessed has not been read yet, and has no key",
    },
    "channels": {
        "dealt": "",
        "whole": "keys are kept as the heads use them: split, with H "
        "before the places",
        "late": "the heads stand before the places, and not after them",
    },
}


class BeamKeysShape(Exercise):
    """Predict the shape of the keys that a beam search keeps."""

    chapter, kind, minutes, level = 14, "shape", 5, 2
    title = "Keys for every beginning"
    teaches = "what is kept in the cache of a beam search"
    axes = "B:, S:, T:, H:, D:, W: -> B*W H T D"
    switches = BEAM_KEYS_SHAPE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sizes alone."""
        for _ in range(3):
            sizes = draw.sizes("B H D W T S")
            yield Case(tuple(sizes[a] for a in "BSTHDW"), sizes)

    def answer(
        self, case: Case, rows: str, places: str, channels: str
    ) -> tuple[int, ...]:
        """Put the axes together."""
        b, s, t, h, d, w = case.args
        first = {"each": (b * w,), "sentences": (b,), "beginnings": (w,)}
        n = {"read": t, "source": s, "new": 1, "next": t + 1}[places]
        rest = {"dealt": (h, n, d), "whole": (n, h * d), "late": (n, h, d)}
        return *first.get(rows, (b, w)), *rest[channels]


CHUNK_MASK = {
    "corner": {
        "after": "",
        "first": "the triangle starts at the first key: new token i "
        "stands at place kept + i, and may see up to there",
        "ahead": "every token may see one token too many, the next one",
        "behind": "a token may see itself, too",
    },
    "polarity": {
        "may": "",
        "hidden": "the mask's polarity: True means may attend",
    },
    "past": {
        "seen": "",
        "hidden": "the kept tokens are hidden: they are the past, and "
        "every new token may see all of it",
    },
    "future": {
        "hidden": "",
        "seen": "nothing is hidden: a new token must not see the new "
        "ones after it",
        "turned": "the new tokens see those after them, and not those before",
    },
}


class ChunkMask(Exercise):
    """Draw the mask of several new tokens after those that are kept."""

    chapter, kind, minutes, level = 14, "mask", 10, 2
    title = "Several new tokens at once"
    teaches = "the causal mask behind a cache: its triangle starts further on"
    axes = "kept:, new: -> T S"
    switches = CHUNK_MASK

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Both numbers greater than 1, then one of them at its least."""
        for _ in range(2):
            one, other = draw.sizes("T S").values()
            yield self.case(other, one)
        yield self.case(0, one, "with nothing kept it is no causal mask")
        yield self.case(one, 1, "with a single new token it goes wrong")

    def case(self, kept: int, new: int, about: str = "") -> Case:
        """Name the sizes."""
        return Case((kept, new), {"T": new, "S": kept + new}, about)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Compare places: those that ask, and those that answer."""
        kept, new = case.args
        keys = torch.arange(kept + new)
        steps = {"after": kept, "ahead": kept + 1, "behind": kept - 1}
        step = steps.get(choice["corner"], 0)
        asks = torch.arange(new)[:, None] + step
        seen = keys <= asks
        if choice["future"] == "seen":
            seen = torch.ones_like(seen)
        elif choice["future"] == "turned":
            seen = (keys >= asks) | (keys < kept)
        if choice["past"] == "hidden":
            seen = seen & (keys >= kept)
        return seen if choice["polarity"] == "may" else ~seen


GREEDY_ROWS = {
    "done": {
        "kept": "",
        "forgotten": "a row that has ended wakes up again: `done` "
        "remembers only whether the last token was the end",
        "never": "a row that has ended goes on: it should be padded "
        "after its end",
        "early": "the end itself is overwritten with padding: fill what "
        "comes after it",
        "all": "one row that ends stops all of them",
    },
    "fill": {
        "pad": "",
        "end": "a row that has ended repeats its end, and should be "
        "filled with `pad`",
    },
    "from": {
        "last": "",
        "first": "the next token depends on the last one, and not on the "
        "first",
    },
    "by": {
        "words": "",
        "columns": "row v of the table has what comes after word v: a "
        "column was read",
    },
}


class GreedyRows(Exercise):
    """Stop every row at its own end."""

    chapter, kind, minutes, level = 14, "bug", 10, 2
    title = "A row that wakes up again"
    teaches = "rows of a batch that end at different steps"
    axes = "logits: V V, first: B, end:, pad:, max_len: -> B T"
    switches = GREEDY_ROWS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Rows that end after 1, 2 and more steps, and words after an end."""
        for _ in range(2):
            sizes = draw.sizes("B T V") | {"V": 13, "T": 9}
            yield self.case(draw, sizes)
        yield self.case(draw, sizes | {"B": 1}, "a batch of one row fails")

    def case(self, draw: Draw, sizes: dict[str, int], about: str = "") -> Case:
        """Draw a chain of words that leads to the end, and goes on."""
        b, v = sizes["B"], sizes["V"]
        chain = draw.tags(v)
        logits = draw.numbers(v, v)
        logits[chain, chain.roll(-1)] += 9.0
        end, pad = chain[9].item(), chain[11].item()
        starts = torch.arange(8, 8 - b, -1) if b < 7 else torch.arange(2, 9)
        return Case(
            (logits, chain[starts], end, pad, sizes["T"]), sizes, about
        )

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Write every row, token by token."""
        logits, ids, end, pad, max_len = case.args
        table = logits if choice["by"] == "words" else logits.mT
        done, ids = ids == end, ids[:, None]
        while ids.shape[1] < max_len:
            last = ids[:, -1 if choice["from"] == "last" else 0]
            best, before = table[last].argmax(-1), done
            ended = best == end
            kinds = {"forgotten": ended, "never": ended & False}
            kinds["all"] = (done | ended).any().expand_as(done)
            done = kinds.get(choice["done"], done | ended)
            hide = done if choice["done"] == "early" else before
            fill = pad if choice["fill"] == "pad" else end
            best = best.masked_fill(hide, fill)
            ids = torch.cat((ids, best[:, None]), dim=1)
        return ids

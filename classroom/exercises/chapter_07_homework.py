"""Exercises on masks that have no solution in the book."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.exercises.chapter_07 import UPSIDE_DOWN, drawn_ids

STRICT = "a position may attend to itself"
TURNED = "past and future are exchanged: row i asks, column j answers"
SEEN = "the future is not hidden"


PREFIX_MASK = {
    "prefix": {
        "below": "",
        "upto": "the prefix is one place too long: its places are 0 to "
        "prefix − 1",
        "asks": "the positions of the prefix see everything: it is the "
        "columns of the prefix that all may attend to",
        "first": "every sentence got the prefix of the first one",
        "longest": "every sentence got the longest prefix of the batch",
        "none": "the prefix is hidden like all that comes later",
        "only": "the two rules are joined with `&`: it is enough that "
        "one of them holds",
    },
    "future": {
        "hidden": "",
        "strict": STRICT,
        "turned": TURNED,
        "seen": SEEN,
        "ahead": "each position sees the next one too",
    },
    "padding": {
        "columns": "",
        "rows": "the rows of the padding are hidden, and its columns "
        "should be",
        "both": "the rows of the padding are hidden too: its columns "
        "are enough",
        "none": "the padding is not hidden",
        "prefix": "padding inside the prefix is not hidden: hide it "
        "last, with `&`",
    },
    "polarity": {"may": "", "hide": UPSIDE_DOWN},
}


class PrefixMask(Exercise):
    """Let everyone see the whole prefix, and the rest look back."""

    chapter, kind, minutes, level = 7, "mask", 15, 2
    title = "A prefix that all may read"
    teaches = "masks that differ within a batch"
    axes = "ids: B T, prefix: B, pad: -> B 1 T T"
    assignable = True
    switches = PREFIX_MASK

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Prefixes of several lengths; then of none, and of all places."""
        ends = "a prefix of 0 places or of all is a prefix too"
        one = "a batch of one sentence is a batch too"
        for about in ("", "", ends, one):
            sizes = draw.sizes("B T")
            sizes["B"] = 1 if about == one else sizes["B"]
            b, t = sizes.values()
            ids, pad = drawn_ids(draw, b, t)
            order = torch.randperm(t - 2, generator=draw.generator)
            prefix = 2 + order[torch.arange(b) % (t - 2)].sort()[0]
            ids[:, 0] = pad
            if about == ends:
                prefix[0], prefix[1] = 0, t
            yield Case((ids, prefix, pad), sizes, about)

    def answer(
        self, case: Case, prefix: str, future: str, padding: str, polarity: str
    ) -> Tensor:
        """Join three masks, each as its switch says."""
        ids, lengths, pad = case.args
        j = torch.arange(ids.shape[1])
        i = j[:, None]
        n = lengths[:, None, None, None]
        reach = {"upto": n + 1, "first": n[:1], "longest": n.max()}
        head = (i if prefix == "asks" else j) < reach.get(prefix, n)
        sees = {"strict": j < i, "turned": j >= i, "ahead": j <= i + 1}
        back = sees.get(future, j <= i) | (future == "seen")
        keys = (ids != pad)[:, None, None, :]
        if padding == "prefix":
            back = back & keys
        both = {"none": back & (n == n), "only": head & back}
        mask = both.get(prefix, head | back)
        real = {"columns": keys, "rows": keys.mT, "both": keys & keys.mT}
        mask = mask & real.get(padding, keys == keys)
        return ~mask if polarity == "hide" else mask


BLOCK_SPARSE_MASK = {
    "near": {
        "neighbours": "",
        "own": "only the own block is seen: the blocks beside it are too",
        "window": "a window moves with each position, blocks do not: "
        "compare the numbers of the blocks",
        "before": "of the blocks beside the own one only that before it "
        "is seen",
        "far": "the block after the next is seen too",
    },
    "whole": {
        "both": "",
        "columns": "global places are seen by all, but do not see all: "
        "their rows are missing",
        "rows": "global places see all, but are not seen by all: their "
        "columns are missing",
        "corner": "a place is seen for being global only by global ones: "
        "it is enough that one of the two is",
        "none": "there are no global places",
        "more": "there is one global place too many",
    },
    "future": {
        "asked": "",
        "never": "the future is seen although `causal` is True",
        "always": "the future is hidden although `causal` is False",
        "blocks": "`causal` must hold for the global places too",
        "strict": STRICT,
        "turned": TURNED,
    },
    "polarity": {"may": "", "hide": UPSIDE_DOWN},
}


class BlockSparseMask(Exercise):
    """Attend in blocks, and to a few places that all may read."""

    chapter, kind, minutes, level = 7, "mask", 20, 3
    title = "Blocks and global places"
    teaches = "sparse attention as a mask"
    axes = "t:, block:, n_global:, causal: -> 1 1 T T"
    assignable = True
    switches = BLOCK_SPARSE_MASK

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Causal or not; then no global place, and blocks of one."""
        edges = "", "", NONE_GLOBAL, "blocks of one place are blocks too"
        for n, about in enumerate(edges):
            t, block = (13, 17, 19, 23)[draw.below(4)], 2 + draw.below(2)
            block = 1 if n == 3 else block
            whole = 0 if about == NONE_GLOBAL else 2 * block + 1
            args = t, block, whole, n == 0
            yield Case(args, {"T": t}, about)

    def answer(
        self, case: Case, near: str, whole: str, future: str, polarity: str
    ) -> Tensor:
        """Join three masks, each as its switch says."""
        t, block, n, causal = case.args
        i, j = torch.arange(t)[:, None], torch.arange(t)
        apart = i // block - j // block
        local = apart.abs() <= {"own": 0, "far": 2}.get(near, 1)
        others = {"window": (i - j).abs() <= block}
        others["before"] = (apart == 0) | (apart == 1)
        local = others.get(near, local)
        n = n + 1 if whole == "more" else n
        rows, columns = i < n, j < n
        wide = {"columns": columns & (i == i), "rows": rows & (j == j)}
        wide |= {"corner": rows & columns, "none": rows & (j < 0)}
        shared = wide.get(whole, rows | columns)
        sees = {"never": j == j, "strict": j < i, "turned": j >= i}
        back = sees.get(future, j <= i)
        back = back if causal or future == "always" else i == i
        mask = local & back | shared & (back | (future == "blocks"))
        mask = ~mask if polarity == "hide" else mask
        return mask[None, None]


NONE_GLOBAL = "without global places only the blocks are left"


PACKED_MASK = {
    "documents": {
        "same": "",
        "earlier": "documents with smaller numbers are seen too: the "
        "numbers must be equal",
        "all": "other documents are seen: a position attends within its "
        "own alone",
        "first": "every row of the batch got the documents of the first one",
        "others": "the other documents are seen instead of the own",
    },
    "future": {
        "hidden": "",
        "strict": STRICT,
        "turned": TURNED,
        "seen": SEEN,
        "ahead": "each position sees the next one too",
    },
    "padding": {
        "hidden": "",
        "seen": "padding attends to padding: −1 is no document, and "
        "nobody attends to it",
        "zero": "document 0 is hidden as well: only −1 is padding",
        "itself": "padding attends to itself: nobody attends to it",
    },
    "polarity": {"may": "", "hide": UPSIDE_DOWN},
}


class PackedMask(Exercise):
    """Keep documents that share a row apart."""

    chapter, kind, minutes, level = 7, "mask", 15, 2
    title = "Several documents in a row"
    teaches = "compare every position with every other"
    axes = "documents: B T -> B 1 T T"
    assignable = True
    switches = PACKED_MASK

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Documents numbered in no order, with padding; then just one."""
        alone = "one document is attended to causally, and has no others"
        for about in ("", "", "", alone):
            sizes = draw.sizes("B T")
            rows = [packed(draw, sizes["T"]) for _ in range(sizes["B"])]
            documents = torch.stack(rows)
            if about:
                documents[:] = 4
            yield Case((documents,), sizes, about)

    def answer(
        self,
        case: Case,
        documents: str,
        future: str,
        padding: str,
        polarity: str,
    ) -> Tensor:
        """Join three masks, each as its switch says."""
        (ids,) = case.args
        keys, asks = ids[:, None, None, :], ids[:, None, :, None]
        i, j = torch.arange(ids.shape[1])[:, None], torch.arange(ids.shape[1])
        together = {"earlier": asks >= keys, "all": keys == keys}
        same = asks == keys
        together |= {"first": same[:1], "others": ~same}
        sees = {"strict": j < i, "turned": j >= i, "ahead": j <= i + 1}
        back = sees.get(future, j <= i) | (future == "seen")
        real = {"seen": keys == keys, "zero": keys > 0}
        real |= {"itself": (keys >= 0) | (i == j)}
        mask = together.get(documents, same) & back
        mask = mask & real.get(padding, keys >= 0)
        return ~mask if polarity == "hide" else mask


def packed(draw: Draw, t: int) -> Tensor:
    """Number the positions of a row: documents in no order, with a −1."""
    names = torch.randperm(6, generator=draw.generator)[:4]
    names[names == names.max()] = 0 if 0 not in names else names.max()
    cuts = 1 + torch.randperm(t - 1, generator=draw.generator)[:3]
    run = (torch.arange(t)[:, None] >= cuts).sum(1)
    names[3] = names[0]  # its second piece
    documents = names[run]
    return torch.where(run == 1 + draw.below(2), -1, documents)

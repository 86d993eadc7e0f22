"""Exercises on the block and the stack of the encoder."""

from collections.abc import Iterable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.outcomes import build_answer
from classroom.stubs import (
    MixingBlock,
    NormStub,
    attention_stub,
    feed_forward_stub,
)
from tformer_lite.model.attention import MultiHeadAttention
from tformer_lite.model.layers import FeedForward
from tformer_lite.model.variants import LayerNorm


def filled(draw: Draw, module: nn.Module) -> nn.Module:
    """Give a module parameters that are drawn."""
    for values in module.parameters():
        values.data = draw.numbers(*values.shape, scale=0.4)
    return module.eval()


def drawn_norm(draw: Draw, c: int) -> NormStub:
    """A norm with gains and shifts that are drawn."""
    return NormStub(draw.numbers(c, scale=0.4), draw.numbers(c, scale=0.4))


def padding(draw: Draw, b: int, t: int) -> Tensor:
    """Hide some places inside the rows, the same for all: (B, 1, 1, T)."""
    mask = draw.flags(b, 1, 1, t, share=0.7)
    mask[..., 0], mask[..., 1], mask[..., 2] = True, False, True
    return mask


TWO_STEPS = {
    "stream": {
        "whole": "",
        "normed": "the residual connection starts after the norm: add to "
        "x as it came in",
        "lost": "x is not added to what attention gives: the residual "
        "connection is missing",
    },
    "reads": {
        "sum": "",
        "x": "the feed-forward layer reads x: it should read what the "
        "first step made",
        "raw": "the feed-forward layer reads the stream as it is: "
        "normalise a copy before",
    },
    "attends": {
        "normal": "",
        "raw": "attention reads the stream as it is: normalise a copy before",
    },
    "norms": {
        "own": "",
        "exchanged": "the two norms are exchanged",
        "first": "the first norm serves both steps: the second step has "
        "its own",
    },
    "end": {
        "added": "",
        "lost": "what the first step made is not added to what the "
        "feed-forward layer gives",
    },
}


class TwoSteps(Exercise):
    """Join attention and feed-forward layer to a block."""

    chapter, kind, minutes, level = 10, "line", 10, 1
    title = "Two steps make a block"
    teaches = "a pre-norm block: two residual steps"
    axes = "x: B T C, attend, feed_forward, first_norm, second_norm -> B T C"
    dependence = "x 1 -> 1"
    switches = TWO_STEPS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Two norms with different gains, and functions for layers."""
        for _ in range(2):
            sizes = draw.sizes("B T C")
            x = 2 * draw.numbers(*(sizes[a] for a in "BTC"))
            norms = [drawn_norm(draw, sizes["C"]) for _ in range(2)]
            yield Case((x, attention_stub, feed_forward_stub, *norms), sizes)

    def answer(
        self, case: Case, stream: str, reads: str, attends: str, **how: str
    ) -> Tensor:
        """Take both steps."""
        x, attend, feed_forward, first, second = case.args
        if how["norms"] == "exchanged":
            first, second = second, first
        second = first if how["norms"] == "first" else second
        normal = first(x)
        told = attend(normal if attends == "normal" else x)
        after = {"whole": x, "normed": normal}.get(stream, 0 * x) + told
        read = {"sum": second(after), "x": second(x)}.get(reads, after)
        return feed_forward(read) + after * (how["end"] == "added")


HAND_ON = {
    "mask": {
        "every": "",
        "first": "the mask goes to the first block only: in all others "
        "words attend to padding",
        "rest": "the first block gets no mask: there, words attend to padding",
        "none": "no block gets the mask: words attend to padding",
    },
    "blocks": {
        "each": "",
        "echo": "the first block is called again and again: each block "
        "has its turn once",
        "reversed": "the blocks come in reversed order",
        "few": "the last block is left out",
    },
    "norm": {
        "end": "",
        "missing": "the final norm is missing",
        "each": "the norm comes after each block, and belongs to the end "
        "of the stack",
    },
}


class HandOn(Exercise):
    """Find what is wrong with a stack that keeps every shape."""

    chapter, kind, minutes, level = 10, "bug", 8, 2
    title = "The forgetful stack"
    teaches = "every block needs the mask"
    axes = "x: B T C, mask: B 1 1 T, blocks, norm -> B T C"
    dependence = "x 1 -> 1"
    switches = HAND_ON

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Three blocks, and padding inside the rows."""
        for _ in range(2):
            sizes = draw.sizes("B T C")
            b, t, c = (sizes[a] for a in "BTC")
            blocks = [
                MixingBlock(draw.numbers(c, c, scale=0.4)) for _ in "123"
            ]
            norm = drawn_norm(draw, c)
            args = draw.numbers(b, t, c), padding(draw, b, t)
            yield Case((*args, blocks, norm), sizes)

    def answer(self, case: Case, mask: str, blocks: str, norm: str) -> Tensor:
        """Hand x from block to block."""
        x, hidden, given, last = case.args
        b = [*given]
        order = {"echo": [b[0]] * len(b), "reversed": b[::-1], "few": b[:-1]}
        turns = order.get(blocks, b)
        for i, block in enumerate(turns):
            told = {"every": True, "first": i == 0, "rest": i > 0}
            x = block(x, hidden if told.get(mask) else None)
            x = last(x) if norm == "each" else x
        return last(x) if norm == "end" else x


class Reached(Exercise):
    """Say who has reached whom after some blocks."""

    chapter, kind, minutes, level = 10, "mask", 15, 2
    title = "Small steps"
    teaches = "who has reached whom: masks and residual connections, chained"
    axes = "mask: T T, n_blocks -> T T"
    switches = {
        "itself": {
            "always": "",
            "forgotten": "a row always depends on itself, along the residual "
            "connection: the mask need not allow it",
        },
        "steps": {
            "n": "",
            "fewer": "one block too few is counted",
            "more": "one block too many is counted",
            "one": "this is what one block allows: the blocks are not chained",
        },
        "turn": {
            "row asks": "",
            "column asks": "rows and columns are exchanged: row i tells what "
            "position i depends on",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Each position sees one other in a ring, and some see themselves."""
        for n in (2, 3):
            sizes = draw.sizes("T")
            t = sizes["T"]
            ring, mask = draw.tags(t), torch.diag(draw.flags(t, share=0.4))
            mask[ring, ring.roll(1)] = True
            yield Case((mask, n), sizes)
        one = "with one block it is the mask, and each position itself"
        yield Case((mask, 1), sizes, one)
        none = "after no block at all each position has reached only itself"
        yield Case((mask, 0), sizes, none)

    def answer(self, case: Case, itself: str, steps: str, turn: str) -> Tensor:
        """Multiply matrices."""
        mask, n = case.args
        n = {"n": n, "fewer": n - 1, "more": n + 1, "one": 1}[steps]
        own = torch.eye(len(mask))
        one = mask + own if itself == "always" else mask.float()
        reach = torch.linalg.matrix_power(one, n) > 0
        return reach if turn == "row asks" else reach.mT


PARALLEL = {
    "thinks": {
        "normal": "",
        "after": "the feed-forward layer comes after attention: both should "
        "read the same normalised x",
        "raw": "the feed-forward layer reads x as it is: it should read the "
        "normalised x",
    },
    "attends": {
        "normal": "",
        "raw": "attention reads x as it is: it should read the normalised x",
    },
    "stream": {
        "whole": "",
        "normed": "the normalised x is kept: add to x as it came in",
        "twice": "x is added twice: one residual connection goes around both",
        "lost": "x is not added: the residual connection is missing",
    },
    "mask": {
        "used": "",
        "ignored": "attention does not get the mask: words attend to padding",
    },
    "sum": {
        "whole": "",
        "mean": "what the two layers give is averaged: add it",
        "normed": "the sum is normalised: the norm comes before the layers "
        "only",
    },
}


class AnyParallel(nn.Module):
    """Two layers side by side, as `choice` has them."""

    def __init__(
        self, choice: Mapping[str, str], d_model: int, n_heads: int, d_ff: int
    ):
        super().__init__()
        self.choice, self.norm = choice, LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Look up what each layer reads, and what is added."""
        reads = {"normal": self.norm(x), "raw": x}
        mask = {"used": mask}.get(self.choice["mask"])
        mixed = self.attention(reads[self.choice["attends"]], None, mask)
        reads["after"] = self.norm(x + mixed)
        found = self.feed_forward(reads[self.choice["thinks"]]) + mixed
        found = found / {"mean": 2}.get(self.choice["sum"], 1)
        streams = {"whole": x, "normed": reads["normal"], "twice": 2 * x}
        y = streams.get(self.choice["stream"], 0 * x) + found
        return {"normed": self.norm(y)}.get(self.choice["sum"], y)


class ParallelBlock(Exercise):
    """Let attention and feed-forward layer read the same."""

    chapter, kind, minutes, level = 10, "part", 20, 2
    title = "Side by side"
    teaches = "a parallel block: both layers read the same normalised input"
    axes = "x: B T C, mask: B 1 1 T -> B T C"
    dependence = "x 1 -> 1"
    assignable = True
    switches = PARALLEL

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Padding inside the rows; then no mask."""
        for _ in range(2):
            sizes = draw.sizes("B H D T F C=H*D")
            b, t, c = (sizes[a] for a in "BTC")
            make = {"d_model": c, "n_heads": sizes["H"], "d_ff": sizes["F"]}
            state = filled(draw, AnyParallel({}, **make)).state_dict()
            x = 2 * draw.numbers(b, t, c) + 1
            args = x, padding(draw, b, t)
            yield Case(args, sizes, "", make, state)
        open_to_all = "without a mask every position should attend to all"
        yield Case((x,), sizes, open_to_all, make, state)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Let a block with these switches do it."""
        return build_answer(partial(AnyParallel, choice), case)(*case.args)

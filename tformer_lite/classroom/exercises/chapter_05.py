"""Exercises on heads."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from tformer_lite.classroom.cases import Case, Draw
from tformer_lite.classroom.exercise import Exercise
from tformer_lite.classroom.playing import made, own_seed
from tformer_lite.model.attention import MultiHeadAttention
from tformer_lite.model.config import tiny_translator
from tformer_lite.model.models import EncoderDecoder


class DealtOut(Exercise):
    """Split the channels into heads."""

    chapter, kind, minutes, level = 5, "line", 5, 1
    title = "Deal the channels out"
    teaches = "split into heads: unflatten, then transpose"
    axes = "x: B T C, n_heads: -> B H T D"
    switches = {
        "cut": {
            "channels": "",
            "row": "the row was cut as it lies in memory: each head has its "
            "own positions instead of its own channels of every position",
            "strided": "head h takes every H-th channel, and should take D "
            "channels that lie side by side: unflatten with (H, D)",
        },
        "turn": {
            "done": "",
            "left": "H and T did not change places: transpose(1, 2) after "
            "the split",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Numbers that are all different."""
        for _ in range(2):
            sizes = draw.sizes("B T H D C=H*D")
            x = draw.tags(*(sizes[a] for a in "BTC"))
            yield Case((x, sizes["H"]), sizes)

    def answer(self, case: Case, cut: str, turn: str) -> Tensor:
        """Cut C or the row, and turn H and T round or not."""
        x, h = case.args
        if cut == "row":
            dealt = x.reshape(len(x), h, x.shape[1], -1).transpose(1, 2)
        elif cut == "strided":
            dealt = x.unflatten(-1, (-1, h)).mT
        else:
            dealt = x.unflatten(-1, (h, -1))
        return dealt.transpose(1, 2) if turn == "done" else dealt


class RenamedChannels(Exercise):
    """Say whether another cut is a bug."""

    chapter, kind, minutes, level = 5, "explain", 10, 2
    title = "Why the other cut can be right"
    teaches = "which channels make a head is a convention"
    rubric = (
        "each number stays in its own position's row; only the channels of "
        "a head are others",
        "a model trained with it from the start is as good: the rows of its "
        "projections, and the columns of its output matrix, have other "
        "names",
        "with weights that were trained with the other cut it is a bug",
    )


class PlaceInRow(Exercise):
    """Find an element of a view by its strides."""

    chapter, kind, minutes, level = 5, "line", 5, 2
    title = "By hand, at any size"
    teaches = "strides: where an element of a view lies in memory"
    axes = "b:, t:, h:, d:, T:, H:, D: ->"
    switches = {
        "order": {
            "view": "",
            "copy": "that is the place in a contiguous copy of `heads`: in "
            "the view the channels of a position still lie side by side",
            "strided": "head h has channels h * D to (h + 1) * D: one head "
            "further is D places further, one channel 1",
        },
        "batch": {
            "counted": "",
            "forgotten": "the sentences before this one are not counted",
            "places": "a sentence has T * H * D numbers, all its channels",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Places off the first row and column, then the first of all."""
        for i in range(6):
            sizes = draw.sizes("B T H D")
            b, t, h, d = (1 + draw.below(n - 1) for n in sizes.values())
            rest = [n for letter, n in sizes.items() if letter != "B"]
            args = (0,) * 4 if i == 5 else (b, t, h, d)
            about = "the first number lies at place 0" if i == 5 else ""
            yield Case((*args, *rest), sizes, about)

    def answer(self, case: Case, order: str, batch: str) -> int:
        """Add up the steps along each axis."""
        b, t, h, d, T, H, D = case.args
        steps = {
            "view": t * H * D + h * D + d,
            "copy": h * T * D + t * D + d,
            "strided": t * H * D + d * H + h,
        }
        size = {"counted": T * H * D, "forgotten": 0, "places": T * D}
        return b * size[batch] + steps[order]


class Joined(Exercise):
    """Join the heads without scrambling the words."""

    chapter, kind, minutes, level = 5, "bug", 5, 1
    title = "A bad join"
    teaches = "join heads: transpose back, then flatten"
    axes = "x: B H T D -> B T C"
    hears = "x 2 -> 1"
    switches = {
        "turn": {
            "back": "",
            "not": "the heads were joined without changing places with the "
            "positions first: each row holds several positions of one head",
            "channels": "the channels of the heads alternate: H comes before "
            "D when the two become one axis",
            "late": "the positions became the last axis by a reshape: only a "
            "transpose brings an axis there",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Numbers that are all different."""
        for _ in range(2):
            sizes = draw.sizes("B T H D C=H*D")
            x = draw.tags(*(sizes[a] for a in "BHTD"))
            yield Case((x.float(),), sizes)

    def answer(self, case: Case, turn: str) -> Tensor:
        """Bring H behind T, and make one axis of H and D."""
        (x,) = case.args
        b, h, t, d = x.shape
        if turn == "channels":
            return x.permute(0, 2, 3, 1).flatten(2)
        if turn == "late":
            return x.reshape(b, h * d, t).mT
        return (x if turn == "not" else x.transpose(1, 2)).reshape(b, t, -1)


class OtherCut(Exercise):
    """Cut the channels otherwise, in every attention of a translator."""

    chapter, kind, minutes, level = 5, "part", 15, 2
    title = "The other cut, in a model"
    teaches = "an attention of your own in the model"
    axes = "src: B S, tgt: B T -> B T V"
    switches = {
        "cut": {
            "strided": "",
            "blocks": "the heads have channels that lie side by side, as "
            "in the chapter: here head h has channels h, h + H and so on",
            "row": "the row was cut as it lies in memory: each head has its "
            "own positions instead of its own channels",
        },
        "whose": {
            "all": "",
            "query": "only the queries are cut the other way: keys and "
            "values must be cut as the queries are",
            "no values": "the values are cut as in the chapter: cut all "
            "three the other way",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Translators with two sizes of heads."""
        for _ in range(2):
            sizes = draw.sizes("B T S H D C=H*D")
            make = {"vocab_size": 23, "max_len": 19, "d_ff": 4}
            make |= {"d_model": sizes["C"], "n_heads": sizes["H"]}
            ids = (
                draw.ids(sizes["B"], sizes[a], below=23, least=2) for a in "ST"
            )
            state = drawn_state(draw, make)
            sizes["V"] = 23
            yield Case((*ids,), sizes, "", make, state, "attention")

    def answer(self, case: Case, cut: str, whose: str) -> Tensor:
        """Build a translator whose attention is cut so."""
        others = {"all": "qkv", "query": "q", "no values": "qk"}[whose]

        def deal(x: Tensor, h: int, role: str) -> Tensor:
            if cut == "row":
                return x.reshape(len(x), h, x.shape[1], -1)
            if cut == "blocks" or role not in others:
                return x.unflatten(-1, (h, -1)).transpose(1, 2)
            return x.unflatten(-1, (-1, h)).permute(0, 3, 1, 2)

        class Cut(MultiHeadAttention):
            def project(
                self, x: Tensor, source: Tensor | None = None, start: int = 0
            ) -> tuple[Tensor, Tensor, Tensor]:
                source = x if source is None else source
                q, k, v = self.query(x), self.key(source), self.value(source)
                h = self.n_heads
                return deal(q, h, "q"), deal(k, h, "k"), deal(v, h, "v")

        with own_seed(), torch.no_grad():
            return made(Cut, case)(*case.args)


def drawn_state(draw: Draw, make: Mapping[str, Any]) -> dict[str, Tensor]:
    """Random parameters for a translator of these sizes."""
    with torch.device("meta"):
        shapes = EncoderDecoder(replace(tiny_translator, **make)).state_dict()
    return {
        name: draw.numbers(*x.shape, scale=0.4) for name, x in shapes.items()
    }


class TalkingHeads(Exercise):
    """Mix the heads before the softmax and after it."""

    chapter, kind, minutes, level = 5, "line", 15, 2
    title = "Talking heads"
    teaches = "a matrix product along the axis of the heads"
    axes = "scores: B H T S, v: B H S D, before: H H, after: H H -> B H T D"
    hears = "v 1 -> 1"
    assignable = True
    switches = {
        "before": {
            "rows": "",
            "columns": "`before` was read by columns: row m says how much of "
            "each head goes into the scores of head m",
            "left": "the scores were not mixed before the softmax",
        },
        "after": {
            "rows": "",
            "columns": "`after` was read by columns: row m says how much of "
            "each head goes into the weights of head m",
            "left": "the weights were not mixed after the softmax",
            "results": "`after` mixed what the heads bring back: it mixes "
            "the weights, before they meet the values",
            "early": "`after` mixed the scores: it mixes what comes out of "
            "the softmax",
        },
        "places": {
            "own": "",
            "exchanged": "`before` and `after` have changed places",
        },
        "softmax": {
            "keys": "",
            "queries": "softmax over the queries: each column sums to 1, and "
            "each row should",
            "heads": "softmax over the heads: it belongs to the keys, the "
            "last axis",
            "left": "there is no softmax between the two",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Matrices that are not symmetric, then large scores."""
        for about in ("", "", LARGE_SCORES):
            sizes = draw.sizes("B T S H D")
            b, t, s, h, d = sizes.values()
            scores = draw.numbers(b, h, t, s, scale=60 if about else 1)
            before, after = draw.numbers(h, h), draw.numbers(h, h)
            if about:  # numbers that are added without rounding
                scores, before = scores.round(), (4 * before).round() / 4
            args = scores, draw.numbers(b, h, s, d), before, after
            yield Case(args, sizes, about)

    def answer(
        self, case: Case, before: str, after: str, places: str, softmax: str
    ) -> Tensor:
        """Do one step after the other, each as its switch says."""
        scores, v, *mixes = case.args
        first, second = mixes if places == "own" else mixes[::-1]
        ways = {"rows": "mh,bh...->bm...", "columns": "hm,bh...->bm..."}
        if way := ways.get(before):
            scores = torch.einsum(way, first, scores)
        if after == "early":
            scores = torch.einsum(ways["rows"], second, scores)
        axis = {"keys": 3, "queries": 2, "heads": 1}.get(softmax)
        weights = scores if axis is None else scores.softmax(axis)
        if way := ways.get(after):
            weights = torch.einsum(way, second, weights)
        if after == "results":
            return torch.einsum(ways["rows"], second, weights @ v)
        return weights @ v


LARGE_SCORES = (
    "large scores overflow in exp: use torch.softmax, or subtract the row's "
    "maximum first"
)

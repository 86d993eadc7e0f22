"""Exercises on heads."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.outcomes import build_answer, own_seed
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
        "what stays in its own position, and what does not",
        "which weights, in another order, make up for the other cut",
        "with which weights the cut is a bug",
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
    dependence = "x 2 -> 1"
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


OTHER_CUT = {
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


class OtherCut(Exercise):
    """Cut the channels otherwise, in every attention of a translator."""

    chapter, kind, minutes, level = 5, "part", 15, 2
    title = "The other cut, in a model"
    teaches = "an attention of your own in the model"
    axes = "src: B S, tgt: B T -> B T V"
    switches = OTHER_CUT

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
                self, x: Tensor, source: Tensor | None = None
            ) -> tuple[Tensor, Tensor, Tensor]:
                source = x if source is None else source
                q, k, v = self.query(x), self.key(source), self.value(source)
                h = self.n_heads
                return deal(q, h, "q"), deal(k, h, "k"), deal(v, h, "v")

        with own_seed(), torch.no_grad():
            return build_answer(Cut, case)(*case.args)


def drawn_state(draw: Draw, make: Mapping[str, Any]) -> dict[str, Tensor]:
    """Random parameters for a translator of these sizes."""
    with torch.device("meta"):
        shapes = EncoderDecoder(replace(tiny_translator, **make)).state_dict()
    return {
        name: draw.numbers(*x.shape, scale=0.4) for name, x in shapes.items()
    }

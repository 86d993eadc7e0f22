"""Exercises on a softmax along the wrong axis, and on heads that add up."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from classroom.cases import Case, Draw
from classroom.exercise import Exercise, flawless
from classroom.exercises.chapter_05 import drawn_state
from classroom.outcomes import build_answer, own_seed
from tformer_lite.model.attention import (
    MultiHeadAttention,
    dot_product_attention,
)
from tformer_lite.model.layers import Linear
from tformer_lite.model.masks import causal_mask

ALARM = {
    "where": {
        "columns": "",
        "rows": "these are rows in which everything is hidden: along "
        "dim=-2 the exponentials of a column are summed up, not those "
        "of a row",
        "hidden": "these are all hidden places: as long as one row of "
        "the column may attend, a hidden score gives 0 and no NaN",
        "some": "a column is marked as soon as one row may not attend to it: "
        "only a column that nobody may attend to gives NaN",
        "sentences": "all of a sentence is marked: a column without a "
        "score does not touch the columns beside it",
        "either": "rows in which everything is hidden are marked, too: "
        "their scores share columns with others, and give 0",
        "inverted": "True in the mask means may attend: hide where it is "
        "False, and see which columns nobody may attend to",
    },
    "marked": {
        "NaN": "",
        "numbers": "True and False are exchanged: True means NaN",
    },
}


class AlarmByChance(Exercise):
    """Say where a softmax along the wrong axis gives NaN."""

    chapter, kind, minutes, level = 8, "ablation", 8, 2
    title = "An alarm by chance"
    teaches = "which masks let a softmax along the wrong axis give NaN"
    axes = "mask: B 1 T S -> B 1 T S"
    switches = ALARM

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Some columns and rows that are hidden; then a causal mask."""
        for _ in range(2):
            sizes = draw.sizes("B T S")
            b, t, s = sizes.values()
            mask = draw.flags(b, 1, t, s)
            mask[:, :, 1:, 0] = mask[:, :, 1] = mask[..., 0, :] = True
            mask[1:, :, :, 1 + draw.below(s - 1)] = False
            mask[0, :, -1] = False
            yield Case((mask,), sizes)
        whole = causal_mask(t).expand(b, 1, t, t).clone()
        yield Case((whole,), sizes | {"S": t}, NO_PADDING)

    def answer(self, case: Case, where: str, marked: str) -> Tensor:
        """Measure with scores of 0, or mark as the mistakes do."""
        (mask,) = case.args
        scores = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
        columns, rows = (scores.softmax(i).isnan() for i in (-2, -1))
        found = {
            "columns": columns,
            "rows": rows,
            "hidden": ~mask,
            "some": (~mask).any(-2, True).expand_as(mask),
            "sentences": columns.any((2, 3), True).expand_as(mask),
            "either": columns | rows,
            "inverted": mask.all(-2, True).expand_as(mask),
        }[where]
        return ~found if marked == "numbers" else found


NO_PADDING = (
    "a causal mask alone gives no NaN: the last row may attend to everybody, "
    "so no column is hidden from all"
)


class AnySum(MultiHeadAttention):
    """Add up what the heads give, as `choice` has it."""

    output: Linear

    def __init__(
        self,
        choice: Mapping[str, str],
        d_model: int,
        n_heads: int,
        bias: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__(d_model, n_heads, bias, dropout)
        self.choice = dict(choice)
        self.volume = nn.Parameter(torch.ones(n_heads))

    def forward(
        self,
        x: Tensor,
        source: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Attend: (B, T, C), (B, S, C) -> (B, T, C)."""
        q, k, v = self.project(x, source)
        mask = mask if self.choice["mask"] == "used" else None
        heads = dot_product_attention(q, k, v, mask)
        h, d, weight = self.n_heads, heads.shape[-1], self.output.weight
        pieces = {
            "columns": weight.unflatten(1, (h, d)).permute(1, 2, 0),
            "rows": weight.unflatten(0, (h, d)),
            "strided": weight.unflatten(1, (d, h)).permute(2, 1, 0),
        }[self.choice["pieces"]]
        volume = self.volume ** int(self.choice["volume"] == "used")
        total = (heads @ pieces * volume[:, None, None]).sum(1)
        total = total / {"sum": 1, "mean": h}[self.choice["sum"]]
        if self.output.bias is None or self.choice["bias"] == "never":
            return total
        times: dict[str, Any]
        times = {"once": 1, "each": h, "loud": volume.sum()}
        return total + times[self.choice["bias"]] * self.output.bias


SUMMED = {
    "pieces": {
        "columns": "",
        "rows": "a head's share of the weight was cut out of the rows: a "
        "weight is (out, in), and what comes in from one head are D columns",
        "strided": "a head's share of the weight is every H-th column, and "
        "should be D columns that lie side by side",
    },
    "volume": {
        "used": "",
        "unused": "the volumes are not used: multiply what head h gives by "
        "volume[h]",
    },
    "sum": {
        "sum": "",
        "mean": "what the heads give is averaged: add it up",
    },
    "bias": {
        "once": "",
        "never": "the bias of self.output is missing: add it once, at the end",
        "each": "the bias is added once for each head: add it once, at the "
        "end",
        "loud": "the bias is added for each head, times its volume: add it "
        "once, at the end, as it is",
    },
    "mask": {
        "used": "",
        "left": "the mask is not used: hand it on to dot_product_attention",
    },
}


class SummedHeads(Exercise):
    """Add one product for each head, in every attention of a translator."""

    chapter, kind, minutes, level = 8, "part", 15, 2
    title = "Heads that add up"
    teaches = "the output projection is a sum over heads"
    axes = "src: B S, tgt: B T -> B T V"
    switches = SUMMED

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Translators with two sizes of heads; then one without biases."""
        part = partial(AnySum, flawless(SUMMED))
        for bias in (True, True, False):
            sizes = draw.sizes("B T S H D C=H*D")
            make: dict[str, Any] = {"vocab_size": 23, "max_len": 19}
            make |= {"d_model": sizes["C"], "n_heads": sizes["H"]}
            make |= {"d_ff": 4, "bias": bias}
            src, tgt = (
                draw.ids(sizes["B"], sizes[a], below=23, least=2) for a in "ST"
            )
            src[:, -1] = 1
            state = drawn_state(draw, make | {"attention": part})
            about = "" if bias else "without biases self.output.bias is None"
            sizes["V"] = 23
            yield Case((src, tgt), sizes, about, make, state, "attention")

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Build a translator whose attention adds up so."""
        with own_seed(), torch.no_grad():
            return build_answer(partial(AnySum, choice), case)(*case.args)

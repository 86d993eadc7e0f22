"""Exercises on norms and residual connections without a solution."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from classroom.cases import Case, Draw
from classroom.exercise import Exercise, flawless
from classroom.exercises.models import in_the_model
from classroom.outcomes import build_answer
from classroom.stubs import mixing_stub

PARTIAL = {
    "measured": {
        "first": "",
        "all": "the mean square runs over all channels: measure the "
        "first p only",
        "last": "the mean square is that of the last p channels: measure "
        "the first p",
        "others": "the mean square is that of the channels from p on: "
        "measure those before p",
    },
    "share": {
        "p": "",
        "C": "the sum of p squares is divided by the number of all "
        "channels: it has p terms",
        "1": "the squares are summed up: take their mean",
    },
    "root": {
        "taken": "",
        "missing": "divided by the mean square: its root is missing",
    },
    "eps": {
        "inside": "",
        "outside": "eps stands outside the root: add it to the mean square",
        "missing": "eps is not used: add it to the mean square",
    },
    "gain": {
        "from 0": "",
        "from 1": "the gain is the weight itself, and should be 1 more",
        "none": "the gain is missing: multiply by 1 plus the weight",
    },
    "divided": {
        "all": "",
        "first": "only the first p channels are divided: they measure, "
        "and all channels are divided by what they found",
    },
}


class PartialRmsNorm(Exercise):
    """Divide all channels by what a few of them measure."""

    chapter, kind, minutes, level = 9, "line", 15, 2
    title = "Measured on a few channels"
    teaches = "a partial root mean square, and a gain that starts from 0"
    axes = "x: B T C, weight: C, p, eps -> B T C"
    dependence = "x 2 -> 2"
    assignable = True
    switches = PARTIAL

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A small eps and a large one; then all channels, and zeros."""
        for eps in (1e-5, 0.1):
            sizes = draw.sizes("B T C")
            c = sizes["C"]
            x = draw.numbers(*(sizes[a] for a in "BTC")) + 0.5
            weight, p = draw.numbers(c), 2 + draw.below((c - 2) // 2)
            yield Case((x, weight, p, eps), sizes)
        whole = "with p equal to C it should be an ordinary root mean square"
        yield Case((x, weight, c, eps), sizes, whole)
        empty = x.clone()
        empty[:, 1, :p] = 0
        zeros = "a row whose first p channels are 0 should be divided by the "
        zeros += "root of eps"
        yield Case((empty, weight, p, eps), sizes, zeros)

    def answer(
        self, case: Case, measured: str, gain: str, divided: str, **how: str
    ) -> Tensor:
        """Square and weigh the channels; then divide and gain."""
        x, weight, p, eps = case.args
        c = x.shape[-1]
        place = torch.arange(c)
        counted = {"first": place < p, "last": place >= c - p}
        counted |= {"all": place < c, "others": place >= p}
        n = {"p": int(counted[measured].sum()), "C": c, "1": 1}[how["share"]]
        found = (x**2 @ counted[measured].to(x))[..., None] / n
        added = {"inside": eps}.get(how["eps"], 0.0)
        root = (found + added) ** {"taken": 0.5, "missing": 1.0}[how["root"]]
        root = root + {"outside": eps}.get(how["eps"], 0.0)
        times = {"from 0": weight + 1, "from 1": weight}.get(gain, weight**0)
        untouched = (place >= p) & (divided == "first")
        return times * torch.where(untouched, x, x / root)


class AnyGate(nn.Module):
    """Mix x with what a sublayer makes of it, as `choice` has it."""

    def __init__(
        self,
        choice: Mapping[str, str],
        d_model: int,
        norm: Callable[[int], nn.Module],
        dropout: float = 0.0,
    ):
        super().__init__()
        self.choice = choice
        self.norm, self.gate = norm(d_model), nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable) -> Tensor:
        """Look up what reads what, and in which shares it is mixed."""
        where, normal = self.choice["norm"], self.norm(x)
        made = self.dropout(sublayer({"before": normal}.get(where, x)))
        seen = {"x": x, "normal": normal, "made": made}[self.choice["reads"]]
        bend = {"sigmoid": torch.sigmoid, "tanh": torch.tanh}
        g = bend.get(self.choice["bend"], lambda y: y)(self.gate(seen))
        one, other = {
            "opened": (1 - g, g),
            "shut": (g, 1 - g),
            "kept": (g**0, g),
            "lost": (0 * g, g),
        }[self.choice["shares"]]
        mixed = one * {"kept": normal}.get(self.choice["stream"], x)
        mixed = mixed + other * made
        return self.norm(mixed) if where == "after" else mixed


GATE = {
    "reads": {
        "x": "",
        "normal": "the gate reads the normalised x: it should read x as "
        "it came in",
        "made": "the gate reads what the sublayer made: it should read x",
    },
    "bend": {
        "sigmoid": "",
        "tanh": "the gate is bent by tanh, and goes below 0: sigmoid "
        "keeps it between 0 and 1",
        "none": "the gate is not bent: sigmoid keeps it between 0 and 1",
    },
    "shares": {
        "opened": "",
        "shut": "the shares are exchanged: g goes to what the sublayer "
        "made, 1 - g to x",
        "kept": "x is kept whole: its share is 1 - g",
        "lost": "x gets lost: it keeps the share 1 - g",
    },
    "norm": {
        "before": "",
        "missing": "the sublayer gets x as it is: normalise it before",
        "after": "the mixture is normalised, and only what the sublayer "
        "reads should be",
    },
    "stream": {
        "whole": "",
        "kept": "the normalised x is mixed in, and should be x itself",
    },
}


class GatedResidual(Exercise):
    """Write a residual connection with a gate, for the model."""

    chapter, kind, minutes, level = 9, "part", 25, 3
    title = "A gate instead of a sum"
    teaches = "a residual connection whose shares are learned"
    axes = "x: B T C, sublayer -> B T C"
    dependence = "x 1 -> 1"
    assignable = True
    switches = GATE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """The connection alone, and in a model."""
        for _ in range(2):
            sizes = draw.sizes("B T C")
            c = sizes["C"]
            x = 3 * draw.numbers(*(sizes[a] for a in "BTC")) + 1
            make = {"d_model": c, "norm": nn.LayerNorm, "dropout": 0.0}
            state = draw.parameters(
                norm__weight=(c,),
                norm__bias=(c,),
                gate__weight=(c, c),
                gate__bias=(c,),
            )
            state["gate.weight"] /= c
            yield Case((x, mixing_stub), sizes, "", make, state)
        told = "the dropout is not where it belongs: around what the sublayer "
        told += "made, and around nothing else (here it drops everything)"
        make = make | {"dropout": 1.0}
        yield Case((x, mixing_stub), sizes, told, make, state, training=True)
        part = partial(AnyGate, flawless(self.switches))
        told = "it does not work in the model, which builds it with d_model, "
        told += "a norm and a dropout, and calls it with x and a sublayer"
        yield in_the_model(draw, "residual", part, told)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Let a connection with these switches do it."""
        return build_answer(partial(AnyGate, choice), case)(*case.args)

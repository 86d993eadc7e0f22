"""Exercises on a norm that moves, and a connection that forgets."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.stubs import Connection, NormStub

GAINS = {
    "factor": {
        "root": "",
        "none": "the gains are copied as they are: the two norms divide by "
        "different deviations, and the gains have to make up for it",
        "no root": "the factor is that of the variances: the deviation is "
        "its root",
        "turned": "the factor is upside down: the unbiased deviation is the "
        "larger one, so the LayerNorm needs smaller gains",
        "both": "the factor is that of the variances, and upside down: the "
        "unbiased deviation is the larger one, and a root",
    },
    "shifts": {
        "kept": "",
        "scaled": "the shifts are scaled, too: they are added after the "
        "division, and stay as they are",
        "zero": "the shifts are lost: copy them",
    },
    "order": {
        "gains": "",
        "shifts": "gains and shifts have changed places: the gains come first",
    },
}


class MovingHouse(Exercise):
    """Copy a norm's gains and shifts into one that divides otherwise."""

    chapter, kind, minutes, level = 9, "line", 10, 2
    title = "Moving house"
    teaches = "biased and unbiased: a factor that gains can hold"
    axes = "weight: C, bias: C -> 2 C"
    switches = GAINS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Gains and shifts that are no ones and zeros."""
        for _ in range(3):
            sizes = draw.sizes("C")
            weight, bias = (draw.numbers(sizes["C"]) + 1 for _ in "gs")
            yield Case((weight, bias), sizes)

    def answer(
        self, case: Case, factor: str, shifts: str, order: str
    ) -> tuple[Tensor, ...]:
        """Measure both deviations of some row, and set them in relation."""
        weight, bias = case.args
        row = torch.arange(len(weight), dtype=torch.double)
        biased, unbiased = (row.std(correction=i) for i in (0, 1))
        powers = {"root": 1, "none": 0, "no root": 2, "turned": -1, "both": -2}
        times = (biased / unbiased).item() ** powers[factor]
        gains = times * weight
        moved = bias * {"kept": 1.0, "scaled": times, "zero": 0.0}[shifts]
        return (gains, moved) if order == "gains" else (moved, gains)


FORGETS = {
    "sublayer": {
        "zeros": "",
        "itself": "the sublayer hands back what it gets: it should make "
        "zeros, whatever it gets",
        "ones": "the sublayer makes ones: it should make zeros",
    },
    "beside": {
        "x": "",
        "zeros": "that is how large the result is: compare it with x, which "
        "should come out unchanged",
    },
    "distance": {
        "largest": "",
        "mean": "that is the mean of the differences: take the largest",
        "signed": "the sign counts: take the largest of the absolute "
        "differences, or you miss what is below x",
        "norm": "that is the root of the sum of the squares: take the "
        "largest of the absolute differences",
    },
}


class ForgetfulLayer(Exercise):
    """Measure how far a connection is from keeping what was there."""

    chapter, kind, minutes, level = 9, "ablation", 8, 1
    title = "The forgetful layer"
    teaches = "a sublayer of zeros tests a residual connection"
    axes = "connect:, x: B T C ->"
    switches = FORGETS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """What keeps x, what keeps nothing, and what keeps a copy."""
        for i, keeps in enumerate(("x", "nothing", "normal", "nothing")):
            sizes = draw.sizes("B T C")
            c = sizes["C"]
            norm = NormStub(draw.numbers(c), draw.numbers(c))
            x = 2 * draw.numbers(*(sizes[a] for a in "BTC"))
            # The largest difference is below x in one case, above in another.
            x[0, 1, 1] = (-1) ** (i // 2) * (1 + x.abs().max())
            yield Case((Connection(norm, keeps), x), sizes)

    def answer(
        self, case: Case, sublayer: str, beside: str, distance: str
    ) -> float:
        """Connect x with a sublayer, and compare."""
        connect, x = case.args
        makes: dict[str, Callable[[Tensor], Tensor]] = {
            "zeros": torch.zeros_like,
            "ones": torch.ones_like,
            "itself": torch.clone,
        }
        y = connect(x, makes[sublayer])
        far = y - x if beside == "x" else y
        return {
            "largest": far.abs().max(),
            "mean": far.abs().mean(),
            "signed": far.max(),
            "norm": far.norm(),
        }[distance].item()

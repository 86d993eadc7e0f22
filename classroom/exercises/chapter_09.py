"""Exercises on the feed-forward layer, the residual connection, norms."""

from collections.abc import Iterable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from classroom.cases import Case, Draw
from classroom.exercise import Exercise, flawless
from classroom.exercises.models import in_the_model
from classroom.outcomes import build_answer
from tformer_lite.model.layers import FeedForward

CHANNELS, PLACES = "over the channels", "over the positions"


class FeedForwardCount(Exercise):
    """Count the parameters of a feed-forward layer."""

    chapter, kind, minutes, level = 9, "line", 5, 1
    title = "Count"
    teaches = "two matrices, and a bias for each"
    switches = {
        "biases": {
            "F and C": "",
            "none": "the biases are missing: one number for each channel "
            "that a matrix gives",
            "2 F": "both biases are counted as wide as the hidden layer: the "
            "second has a number for each channel that comes out",
            "2 C": "both biases are counted with d_model numbers: the first "
            "is as wide as the hidden layer",
            "F": "the bias of the second matrix is missing",
            "C": "the bias of the first matrix is missing",
        },
        "matrices": {
            "two": "",
            "one": "one matrix is counted, and there are two: one widens, "
            "one narrows",
            "square": "the matrices are counted as square: they lead from C "
            "channels to F and from F to C",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sizes alone."""
        for _ in range(3):
            sizes = draw.sizes("C F")
            yield Case((sizes["C"], sizes["F"]), sizes)

    def answer(self, case: Case, biases: str, matrices: str) -> int:
        """Count in a layer, or as the mistakes count."""
        c, f = case.args
        layer = FeedForward(c, f)
        weight = layer.hidden.weight.numel()
        slips = {"none": 0, "2 F": 2 * f, "2 C": 2 * c, "F": f, "C": c}
        squares = c * c + f * f
        n = {"two": 2 * weight, "one": weight, "square": squares}[matrices]
        return n + slips.get(biases, f + c)


ADD_AND_NORM = {
    "normed": {
        "sum": "",
        "x": "x is normalised and the sum is thrown away: what the layer "
        "found gets lost",
        "result": "the result alone is normalised: x, which should stay, "
        "gets lost",
        "apart": "x is added after the norm: here the sum is what is "
        "normalised",
    },
    "over": {
        "channels": "",
        "positions": f"mean and variance run {PLACES}, and should run "
        f"{CHANNELS}: words are mixed",
        "sentence": "mean and variance run over positions and channels "
        "together: each word has its own",
    },
    "variance": {
        "biased": "",
        "unbiased": "the variance is the unbiased one: divide by C, not "
        "by C - 1",
    },
    "eps": {
        "inside": "",
        "outside": "eps stands outside the root: add it to the variance",
        "missing": "eps is not used: add it to the variance",
    },
}


class AddAndNorm(Exercise):
    """Find what is wrong with a sum that is thrown away."""

    chapter, kind, minutes, level = 9, "bug", 8, 1
    title = "Add and norm"
    teaches = "post-norm: normalise the sum"
    axes = "x: B T C, result: B T C, eps -> B T C"
    dependence = "x 1 -> 1"
    switches = ADD_AND_NORM

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A small eps and a large one."""
        for eps in (1e-5, 0.1):
            sizes = draw.sizes("B T C")
            shape = [sizes[a] for a in "BTC"]
            x, result = draw.numbers(*shape) + 1, draw.numbers(*shape)
            yield Case((x, result, eps), sizes)

    def answer(
        self, case: Case, normed: str, over: str, variance: str, eps: str
    ) -> Tensor:
        """Add and normalise, or the reverse."""
        x, result, small = case.args
        y = {"sum": x + result, "x": x}.get(normed, result)
        axes = {"channels": (2,), "positions": (1,), "sentence": (1, 2)}[over]
        mean = y.mean(axes, keepdim=True)
        var = y.var(axes, correction=int(variance == "unbiased"), keepdim=True)
        inside = small if eps == "inside" else 0
        outside = small if eps == "outside" else 0
        normal = (y - mean) / ((var + inside).sqrt() + outside)
        return x + normal if normed == "apart" else normal


class AnyRootNorm(nn.Module):
    """Divide by a root mean square, or as `choice` has it."""

    def __init__(
        self, choice: Mapping[str, str], d_model: int, eps: float = 1e-5
    ):
        super().__init__()
        self.choice, self.eps = choice, eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise: (B, T, C) -> (B, T, C)."""
        axis = {"positions": 1, "channels": 2}[self.choice["over"]]
        if self.choice["mean"] == "taken":
            x = x - x.mean(axis, keepdim=True)
        square = x.square().sum(axis, keepdim=True)
        n = {"mean": x.shape[axis], "sum": 1}[self.choice["square"]]
        inside = {"inside": self.eps}.get(self.choice["eps"], 0)
        outside = {"outside": self.eps}.get(self.choice["eps"], 0)
        root = {"taken": 0.5, "missing": 1}[self.choice["root"]]
        normal = x / ((square / n + inside) ** root + outside)
        return normal * self.weight if self.choice["gain"] else normal


ROOT_NORM = {
    "mean": {
        "kept": "",
        "taken": "the mean is taken away: this norm only divides",
    },
    "over": {
        "channels": "",
        "positions": f"the mean square runs {PLACES}, and should run "
        f"{CHANNELS}: words are mixed",
    },
    "square": {
        "mean": "",
        "sum": "the squares are summed up: take their mean, or rows get "
        "smaller the more channels there are",
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
        "yes": "",
        "": "the gain is not used: multiply by self.weight",
    },
}


class RootNorm(Exercise):
    """Write a norm that takes no mean away, and put it into the model."""

    chapter, kind, minutes, level = 9, "part", 15, 2
    title = "A norm without a mean"
    teaches = "root mean square norm, as a part of the model"
    axes = "x: B T C -> B T C"
    dependence = "x 1 -> 1"
    switches = ROOT_NORM

    def cases(self, draw: Draw) -> Iterable[Case]:
        """The norm alone, a row of zeros, and the norm in a model."""
        for eps in (1e-5, 0.1):
            sizes = draw.sizes("B T C")
            x = draw.numbers(*(sizes[a] for a in "BTC")) + 1
            make = {"d_model": sizes["C"], "eps": eps}
            state = draw.parameters(weight=(sizes["C"],))
            yield Case((x,), sizes, "", make, state)
        empty = x.clone()
        empty[:, 1] = 0
        zeros = "a row of zeros should stay one, and 0 divided by 0 is NaN"
        yield Case((empty,), sizes, zeros, make, state)
        part = partial(AnyRootNorm, flawless(self.switches))
        told = "it does not work in the model, which builds it as "
        told += "RootNorm(d_model)"
        yield in_the_model(draw, "norm", part, told)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Let a norm with these switches do it."""
        return build_answer(partial(AnyRootNorm, choice), case)(*case.args)


class WithoutAMean(Exercise):
    """Say which properties a norm without a mean keeps."""

    chapter, kind, minutes, level = 9, "explain", 8, 2
    title = "What it keeps"
    teaches = "properties of LayerNorm that a root mean square norm lacks"
    rubric = (
        "the mean of a row, before gain and shift",
        "the standard deviation of a row, and what is 1 instead",
        "whether a word still stands for itself",
        "what happens if the same number is added to all channels",
    )

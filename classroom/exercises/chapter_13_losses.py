"""Exercises on training: the loss, and what it tells the logits."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from classroom.cases import Case, Draw
from classroom.exercise import Exercise


def guesses(
    draw: Draw, about: str = "", scale: float = 2.0, *more: float
) -> Case:
    """Draw logits, labels with padding among them, and the id of padding."""
    sizes = draw.sizes("B T V")
    b, t, v = (sizes[a] for a in "BTV")
    pad = 1 + draw.below(v - 1)
    labels = draw.ids(b, t, below=v)
    labels[draw.flags(b, t, share=0.3)] = pad
    labels[:, 1] = 0  # each sentence has a label that counts,
    labels[1:, 2] = pad  # and some have more than others
    labels[0, 2:4] = 0
    logits = draw.numbers(b, t, v, scale=scale)
    logits[..., pad] += scale
    logits += scale * one_hot(labels, v)  # [PAD] and the labels are likely
    return Case((logits, labels, pad, *more), sizes, about)


LOGIT_GRADIENT = {
    "share": {
        "real": "",
        "all": "the mean is over the labels that count, and not over "
        "every place",
        "none": "the loss is a mean: the gradient is shared out among "
        "the labels that count",
        "sentence": "the mean is over all labels that count, and not "
        "over those of each sentence",
    },
    "padding": {
        "silent": "",
        "kept": "places whose label is [PAD] have no part in the loss: "
        "their gradient is 0",
        "counted": "places whose label is [PAD] have no part in the "
        "loss, and are no labels that count",
    },
    "sign": {
        "given": "",
        "wanted": "the sign is turned: chance given minus chance wanted",
    },
    "wanted": {
        "taken off": "",
        "left": "1 is to be taken off at the label",
    },
    "softmax": {
        "words": "",
        "places": "the softmax runs over the places, and should run over "
        "the words",
        "none": "the logits were taken for chances: a softmax is missing",
    },
}


class LogitGradient(Exercise):
    """Find the gradient of the loss for the logits, without a backward."""

    chapter, kind, minutes, level = 13, "line", 15, 2
    title = "What each logit is told"
    teaches = "the gradient at the logits: chance given minus chance wanted"
    axes = "logits: B T V, labels: B T, pad: -> B T V"
    switches = LOGIT_GRADIENT

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Ordinary logits, and some so large that exp overflows."""
        yield guesses(draw)
        yield guesses(draw)
        yield guesses(
            draw,
            "large logits overflow: take torch.softmax, or subtract the "
            "row's maximum before exp",
            200.0,
        )

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Take what is wanted from what is given, and share it out."""
        logits, labels, pad = case.args
        axes = {"words": -1, "places": 1}
        given = logits
        if choice["softmax"] in axes:
            given = logits.softmax(axes[choice["softmax"]])
        wanted = one_hot(labels, logits.shape[-1])
        real = (labels != pad)[..., None]
        real = real | (choice["padding"] == "counted")
        slope = given - wanted if choice["wanted"] == "taken off" else given
        slope = slope * real if choice["padding"] == "silent" else slope
        shares = {"real": real.sum(), "all": labels.numel(), "none": 1}
        shares["sentence"] = real.sum(1, True) * len(labels)
        slope = slope / shares[choice["share"]]
        return slope if choice["sign"] == "given" else -slope


SMOOTHED_LOSS = {
    "spread": {
        "others": "",
        "all": "the share is spread over all V words, as PyTorch does "
        "it: neither the label nor [PAD] gets a part of it here",
        "with pad": "[PAD] gets a part of the share, and is wanted nowhere",
        "with label": "the label gets a part of the share as well",
        "not divided": "each of the other words is given the whole "
        "share: it is divided among them",
    },
    "label": {
        "less": "",
        "one": "the label keeps the chance 1: what the others are given "
        "is taken from it",
        "swapped": "the label is given the share, and should be given "
        "what is left of 1",
    },
    "mean": {
        "real": "",
        "all": "the sum is divided by the number of all places: only "
        "labels other than [PAD] count",
        "sum": "the loss is a mean over the labels that count, not a sum",
        "sentence": "the mean is over all labels that count, and not "
        "over the means of the sentences",
        "words": "the sum over the words is divided by V: only the "
        "places share in the mean",
    },
    "padding": {
        "out": "",
        "in": "places whose label is [PAD] are counted like the others",
    },
    "sign": {
        "minus": "",
        "plus": "the sign is turned: the loss is minus a sum",
    },
    "logarithm": {
        "chances": "",
        "logits": "the logits were taken for logarithms of chances: "
        "log_softmax is missing",
        "places": "the softmax runs over the places, and should run over "
        "the words",
    },
}


class SmoothedLoss(Exercise):
    """Smooth the labels, but never towards padding."""

    chapter, kind, minutes, level = 13, "line", 20, 2
    title = "A little less than certain"
    teaches = "label smoothing that spares the padding"
    axes = "logits: B T V, labels: B T, pad:, share: ->"
    assignable = True
    switches = SMOOTHED_LOSS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Ordinary logits, no smoothing at all, and very large logits."""
        yield guesses(draw, "", 2.0, 0.1)
        yield guesses(draw, "", 2.0, 0.3)
        yield guesses(
            draw, "a share of 0 is no longer cross-entropy", 2.0, 0.0
        )
        large = "large logits give the logarithm of 0: take log_softmax"
        yield guesses(draw, large, 200.0, 0.1)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Say what is wanted, weigh the logarithms by it, and average."""
        logits, labels, pad, share = case.args
        v = logits.shape[-1]
        real = {"in": labels == labels}.get(choice["padding"], labels != pad)
        few = {"others": v - 2, "all": v, "not divided": 1}
        each = share / few.get(choice["spread"], v - 1)
        own = {"less": 1 - share, "one": 1, "swapped": share}[choice["label"]]
        own += each * (choice["spread"] in ("all", "with label"))
        place = torch.arange(v).expand_as(logits)
        spared = {"all": place < 0, "with pad": place < 0}
        wanted = each * ~spared.get(choice["spread"], place == pad)
        wanted = torch.where(place == labels[..., None], own, wanted)
        axis = {"places": 1}.get(choice["logarithm"], -1)
        logs = {"logits": logits}.get(
            choice["logarithm"], logits.log_softmax(axis)
        )
        costs = (wanted * logs).sum(-1)
        counts = {"all": labels.numel(), "sum": 1}
        counts["words"] = real.sum() * v
        counts["sentence"] = real.sum(1, True) * len(labels)
        total = (costs * real / counts.get(choice["mean"], real.sum())).sum()
        return {"plus": total}.get(choice["sign"], -total)


Z_LOSS = {
    "sum": {
        "exponentials": "",
        "logits": "the logits are added: Z is the sum of their exponentials",
        "places": "Z adds up the places, and should add up the words",
        "mean": "Z is a sum of exponentials, not their mean",
    },
    "logarithm": {
        "e": "",
        "none": "the logarithm of Z is missing",
        "2": "the logarithm is to base 2, and should be natural",
    },
    "square": {
        "each": "",
        "none": "the square is missing: a logarithm below 0 would lower "
        "the loss",
        "mean": "the mean was squared: square first, then take the mean",
    },
    "mean": {
        "real": "",
        "all": "the sum is divided by the number of all places: only "
        "labels other than [PAD] count",
        "sum": "the loss is a mean over the places that count, not a sum",
        "sentence": "the mean is over all places that count, and not "
        "over the means of the sentences",
    },
    "padding": {
        "out": "",
        "in": "places whose label is [PAD] are counted like the others",
    },
    "weight": {
        "once": "",
        "none": "the weight is missing",
        "twice": "the weight stands inside the square, and should stand "
        "outside",
    },
}


class ZLoss(Exercise):
    """Keep the sum of the exponentials near 1."""

    chapter, kind, minutes, level = 13, "line", 15, 2
    title = "Keep the logits from drifting"
    teaches = "PaLM's auxiliary loss on the softmax's sum"
    axes = "logits: B T V, labels: B T, pad:, weight: ->"
    assignable = True
    switches = Z_LOSS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Ordinary logits, and some so large that exp overflows."""
        yield guesses(draw, "", 1.0, 0.2)
        yield guesses(draw, "", 2.0, 0.5)
        about = (
            "large logits overflow in exp, or are cut: take torch.logsumexp"
        )
        yield guesses(draw, about, 200.0, 0.2)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Sum, take the logarithm, square and average, as switched."""
        logits, labels, pad, weight = case.args
        v = logits.shape[-1]
        real = {"in": labels == labels}.get(choice["padding"], labels != pad)
        logs = {"logits": logits.sum(-1).log()}
        logs["places"] = logits.logsumexp(1, True).mean(-1).expand(real.shape)
        logs["mean"] = logits.logsumexp(-1) - torch.tensor(v).log()
        z = logs.get(choice["sum"], logits.logsumexp(-1))
        bases = {"none": z.exp(), "2": z / torch.tensor(2.0).log()}
        z = bases.get(choice["logarithm"], z)
        powers = {"none": z, "mean": z}
        z = powers.get(choice["square"], z.square())
        counts = {"all": labels.numel(), "sum": 1}
        counts["sentence"] = real.sum(1, True) * len(labels)
        total = (z * real / counts.get(choice["mean"], real.sum())).sum()
        total = {"mean": total.square()}.get(choice["square"], total)
        return total * weight ** {"none": 0, "twice": 2}.get(
            choice["weight"], 1
        )

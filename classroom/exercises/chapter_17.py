"""Exercises on the character model."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from classroom.cases import Case, Draw
from classroom.exercise import Exercise

# What people write in Nepal: "The mouth is not empty. That house was not
# big. Their pen was not black.", and two languages in one line.
LINES = (
    "मुख खाली थिएन ।",
    "त्यो घर ठूलो थिएन ।",
    "उनीहरूको कलम कालो थिएन ।",
)
MIXED = "mouth: मुख, house: घर, pen: कलम; "


class AllLogits(Exercise):
    """The shape of the logits for every window of a text."""

    chapter, kind, minutes, level = 17, "shape", 3, 1
    title = "A pass over all windows"
    teaches = "how many windows a text has"
    axes = "n: , T: , V: -> B T V"
    switches = {
        "windows": {
            "labelled": "",
            "all": "the last window has no label for its last place: a "
            "window and its labels take T + 1 characters",
            "short": "one window is missing: the last one begins T + 1 "
            "characters before the end",
            "apart": "the windows were laid end to end: the next one begins "
            "one character later",
        },
        "answers": {
            "words": "",
            "no vocabulary": "that is the shape of the labels: the logits "
            "have a number for every character of the vocabulary",
            "last place": "only the last place of a window was asked: every "
            "place has logits of its own",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Three texts."""
        for _ in range(3):
            t, v = draw.sizes("T V").values()
            n = 3 * t + 20 + draw.below(50)
            yield Case((n, t, v), {"T": t, "V": v})

    def answer(self, case: Case, windows: str, answers: str) -> tuple:
        """Count windows, places and characters."""
        n, t, v = case.args
        counts = {"labelled": n - t, "all": n - t + 1, "short": n - t - 1}
        count = counts.get(windows, n // t)
        shapes = {"no vocabulary": (count, t), "last place": (count, v)}
        return shapes.get(answers, (count, t, v))


LOSS_OF_NEXT = {
    "shift": {
        "none": "",
        "twice": "the labels are shifted a second time: each place "
        "learns to say the character after the next",
        "back": "each place is asked for the character that it has just "
        "read: the labels stand where they belong already",
    },
    "total": {
        "mean": "",
        "sum": "the sum over all places, and not their mean",
        "windows": "the sum over a window's places: the mean is over "
        "all of them",
    },
    "odds": {
        "logits": "",
        "softmax": "a softmax before cross_entropy, which makes one of "
        "its own: it takes logits",
        "bits": "the loss in bits: nats are asked for, so the logarithm "
        "to base e",
    },
}


class LossOfNext(Exercise):
    """The loss of labels that are shifted already."""

    chapter, kind, minutes, level = 17, "bug", 5, 1
    title = "Shifted twice"
    teaches = "labels are shifted once"
    axes = "logits: B T V, y: B T ->"
    switches = LOSS_OF_NEXT

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Logits and labels; then logits whose exponentials overflow."""
        large = "large logits overflow: cross_entropy subtracts the largest"
        for about, scale in ("", 1.0), ("", 3.0), (large, 200.0):
            sizes = draw.sizes("B T V")
            shape = [sizes[a] for a in "BTV"]
            logits = draw.numbers(*shape, scale=scale)
            y = draw.ids(*shape[:2], below=shape[2])
            yield Case((logits, y), sizes, about)

    def answer(self, case: Case, shift: str, total: str, odds: str) -> Tensor:
        """Shift or not, and sum or take a mean."""
        logits, y = case.args
        if shift != "none":
            ahead = shift == "twice"
            logits, y = (
                (logits[:, :-1], y[:, 1:])
                if ahead
                else (logits[:, 1:], y[:, :-1])
            )
        logits = logits.softmax(-1) if odds == "softmax" else logits
        paid = cross_entropy(logits.mT, y, reduction="none")
        paid = paid / math.log(2) if odds == "bits" else paid
        wholes = {"sum": paid.sum(), "windows": paid.sum(1).mean()}
        return wholes.get(total, paid.mean())


class AcrossTheCut(Exercise):
    """Count the windows that read over a cut made too late."""

    chapter, kind, minutes, level = 17, "ablation", 10, 2
    title = "Across the cut"
    teaches = "cut the text first, then make windows"
    axes = "n: , T: , m: ->"
    switches = {
        "shared": {
            "labels": "",
            "any": "windows were counted that only read a training label: "
            "one of their own labels has to be one",
            "all": "windows were counted whose labels have all been "
            "training labels: one is enough",
        },
        "count": {
            "windows": "",
            "labels": "labels were counted, not the windows that have them",
            "rest": "the windows were counted that share nothing",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Long texts; then one with few windows behind the cut."""
        for _ in range(2):
            t, m = draw.sizes("T V").values()
            yield Case((m + 4 * t + draw.below(9), t, m + t), {"T": t})
        few = "there may be fewer windows behind the cut than that"
        yield Case((34, 13, 18), about=few)

    def answer(self, case: Case, shared: str, count: str) -> int:
        """Lay the places of labels beside each other, window by window."""
        n, t, m = case.args
        places = torch.arange(n).unfold(0, t + 1, 1)
        known = places[:m, 1:].unique()
        met = torch.isin(places[m:, 0 if shared == "any" else 1 :], known)
        windows = met.all(1) if shared == "all" else met.any(1)
        counts = {"labels": met, "rest": ~windows}
        return int(counts.get(count, windows).sum())


STRIDED_LOSS = {
    "new": {
        "behind": "",
        "all": "every place of every window was counted, so characters "
        "where windows overlap count several times",
        "front": "of the later windows the first places were counted, "
        "which the window before has scored: the new ones are the last",
        "cut": "the first window counts with all its places: nobody has "
        "scored them before",
        "one more": "one place of each later window was counted that "
        "the window before has scored",
    },
    "whole": {
        "mean": "",
        "of means": "the mean of the windows' means: every character "
        "counts alike, so divide by the number of characters",
        "sum": "the sum of the losses, and not their mean",
        "all places": "the sum was divided by all places of all "
        "windows: divide by the characters that were counted",
        "exp": "that is the perplexity: asked for is the loss",
    },
}


class StridedLoss(Exercise):
    """The loss of a long text, from windows that overlap."""

    chapter, kind, minutes, level, assignable = 17, "line", 20, 3, True
    title = "A long text, scored once"
    teaches = "strided perplexity: every character counts once"
    axes = "losses: , stride: ->"
    switches = STRIDED_LOSS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Overlapping windows; then a short last one, and no overlap."""
        short = "the last window may be shorter than the others: its new "
        short += "places are those after the overlap, and only they count"
        apart = "with a stride as long as the window nothing overlaps"
        one = "a text that fits one window has no other to take from"
        for about in "", "", short, apart, one:
            sizes = draw.sizes("T H")
            t = sizes["T"] + 4
            stride = t if about == apart else 2 + draw.below(t // 2 - 2)
            count = 1 if about == one else 3 + sizes["H"]
            losses = [draw.numbers(t).exp() for _ in range(count)]
            if about == short:
                losses[-1] = losses[-1][: t - stride + 1]
            yield Case((losses, stride), {"T": t}, about)

    def answer(self, case: Case, new: str, whole: str) -> Tensor:
        """Mark what counts in each window, then weigh it."""
        losses, stride = case.args
        t = len(losses[0])
        lag = {"one more": t - stride - 1}.get(new, t - stride)
        marks = [torch.arange(len(x)) >= lag for x in losses]
        if new == "front":
            marks = [torch.arange(len(x)) < stride for x in losses]
        if new == "all":
            marks = [x > -1 for x in losses]
        if new != "cut":
            marks[0] = torch.arange(t) >= 0
        counted = [x[mark] for x, mark in zip(losses, marks)]
        total = torch.cat(counted)
        ways = {"of means": torch.stack([x.mean() for x in counted]).mean()}
        ways |= {"sum": total.sum(), "exp": total.mean().exp()}
        ways["all places"] = total.sum() / sum(map(len, losses))
        return ways.get(whole, total.mean())


BITS_PER_BYTE = {
    "units": {
        "bytes": "",
        "characters": "bits per character: Devanagari letters take "
        "three bytes each in UTF-8",
        "utf-16": "the text was counted in UTF-16, two bytes for each "
        "of these characters: UTF-8 is asked for",
        "letters": "spaces were left out of the bytes: they have "
        "losses and bytes like any other character",
    },
    "logarithm": {
        "bits": "",
        "nats": "nats per byte: a bit is ln 2 nats",
        "times": "multiplied by ln 2: a loss in bits is larger than the "
        "same loss in nats, so divide",
        "ten": "divided by ln 10: that makes decimal digits, not bits",
    },
    "total": {
        "sum": "",
        "mean": "the mean of the losses was divided by the number of "
        "bytes: the text costs their sum",
        "eight": "divided by 8 as well: the losses are spread over "
        "bytes, and need not be bytes themselves",
    },
}


class BitsPerByte(Exercise):
    """What a character model pays for a byte, in bits."""

    chapter, kind, minutes, level, assignable = 17, "line", 10, 2, True
    title = "Bits per byte"
    teaches = "nats a character, bits a byte"
    axes = "losses: T, text: ->"
    switches = BITS_PER_BYTE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Nepali; then two languages, and precise losses."""
        mixed = "letters take one byte in English and three in Nepali: "
        mixed += "encode the text and count"
        short = "a single character has bytes as well"
        edges = "spaces and line ends at either end of a text have bytes too"
        for about in "", "", mixed, short, edges:
            line = LINES[draw.below(len(LINES))]
            text = MIXED + line if about == mixed else line
            text = line[:1] if about == short else text
            text = f" {line}\n" if about == edges else text
            losses = draw.numbers(len(text)).exp()
            yield Case((losses, text), {"T": len(text)}, about)

    def answer(
        self, case: Case, units: str, logarithm: str, total: str
    ) -> Tensor:
        """Look up what is divided by what."""
        losses, text = case.args
        encoded = {"letters": text.replace(" ", "")}.get(units, text)
        counts = {"characters": len(text), "utf-16": 2 * len(text)}
        count = counts.get(units, len(encoded.encode()))
        scales = {"nats": 1, "times": math.log(2), "ten": 1 / math.log(10)}
        spread = {"mean": len(text), "eight": 8}
        scale = scales.get(logarithm, 1 / math.log(2))
        return losses.sum() * scale / spread.get(total, 1) / count

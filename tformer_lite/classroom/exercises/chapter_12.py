"""Exercises on the whole model."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from tformer_lite.classroom.cases import Case, Draw
from tformer_lite.classroom.exercise import Exercise
from tformer_lite.model.config import tiny_translator
from tformer_lite.model.models import EncoderDecoder

PARAMETER_COUNT = {
    "tables": {
        "two": "",
        "one": "the source and the target have an embedding each",
        "words": "an embedding has a row for each place, too",
    },
    "attention": {
        "two": "",
        "one": "a block of the decoder has two attentions, its own and "
        "the one to memory",
        "three": "an attention has four square matrices: the output's "
        "was left out",
    },
    "norms": {
        "gain and shift": "",
        "gain": "a norm holds a gain and a shift for each channel",
        "as encoder": "a block of the decoder has three norms",
    },
    "final": {
        "once": "",
        "none": "the norm at the end of each stack is missing",
        "each": "a stack has one norm at its end, not one a block",
    },
    "head": {
        "own": "",
        "none": "the head is missing",
    },
    "bias": {
        "none": "",
        "biased": "the feed-forward layers of this model have no biases",
    },
}


class ParameterCount(Exercise):
    """Count the parameters of a translator of any size."""

    chapter, kind, minutes, level = 12, "line", 15, 2
    title = "Twelve layers, and any other number"
    teaches = "what each part of the model holds"
    axes = "V:, S:, C:, F:, L: ->"
    switches = PARAMETER_COUNT

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sizes, and those of the chapter with one block and with six."""
        for _ in range(2):
            sizes = draw.sizes("L V S C F")
            yield Case(tuple(sizes[a] for a in "VSCFL"), sizes)
        yield Case((1024, 8, 12, 48, 6))

    def answer(self, case: Case, **choice: str) -> int:
        """Add up what the parts hold."""
        v, s, c, f, n = case.args
        norm = 2 * c if choice["norms"] != "gain" else c
        norms = 2 if choice["norms"] == "as encoder" else 3
        attentions = 1 if choice["attention"] == "one" else 2
        attention = (3 if choice["attention"] == "three" else 4) * c * c
        wide = 2 * c * f + (c + f if choice["bias"] == "biased" else 0)
        final = {"once": 2, "none": 0, "each": 2 * n}[choice["final"]] * norm
        places = 0 if choice["tables"] == "words" else s * c
        tables = (1 if choice["tables"] == "one" else 2) * (v * c + places)
        head = v * c if choice["head"] == "own" else 0
        encoder = attention + wide + 2 * norm
        decoder = attentions * attention + wide + norms * norm
        return tables + n * (encoder + decoder) + final + head


class Narrow(nn.Module):
    """A table of few channels, and a matrix that widens them."""

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        self.small = nn.Embedding(vocab_size, 4)
        self.widen = nn.Linear(4, d_model, bias=False)
        self.after: nn.Module = nn.Identity()
        self.scale = d_model**0.5

    def forward(self, ids: Tensor) -> Tensor:
        """Look up, widen and scale: (B, T) -> (B, T, C)."""
        return self.widen(self.after(self.small(ids))) * self.scale


FACTORISED_EMBEDDING = {
    "scale": {
        "C": "",
        "none": "what comes out is not scaled by √C, and the places "
        "drown the words",
        "narrow": "the scale is the root of the narrow table's width, "
        "and should be √C: the channels that come out count",
        "divided": "what comes out is divided by √C, and should be "
        "multiplied by it",
        "square": "the scale is C, and should be its root",
    },
    "between": {
        "nothing": "",
        "relu": "there is an activation between the table and the "
        "matrix, and it cuts off what is below 0",
    },
}


class FactorisedEmbedding(Exercise):
    """Embed with two small matrices, inside a translator."""

    chapter, kind, minutes, level = 12, "part", 15, 2
    title = "A narrow table, and a matrix that widens it"
    teaches = "a part of your own: ALBERT's embedding in two factors"
    axes = "src: B S, tgt: B T -> B T V"
    switches = FACTORISED_EMBEDDING

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Translators of several sizes, with all their parameters drawn."""
        for _ in range(2):
            sizes = draw.sizes("B H D C=H*D S T V")
            yield self.case(draw, sizes)
        yield self.case(
            draw, sizes | {"B": 1}, "a batch of one sentence fails"
        )

    def case(self, draw: Draw, sizes: dict[str, int], about: str = "") -> Case:
        """Draw ids and parameters for a translator of these sizes."""
        make = {"vocab_size": sizes["V"], "max_len": 19}
        make |= {"d_model": sizes["C"], "n_heads": sizes["H"]}
        theirs = self.model(make).state_dict()
        state = {
            n: draw.numbers(*x.shape, scale=0.5) for n, x in theirs.items()
        }
        ids = [draw.ids(sizes["B"], sizes[a], below=sizes["V"]) for a in "ST"]
        for each in ids:
            each[:, 0] = 2  # nobody has only padding to attend to
        return Case(tuple(ids), sizes, about, make, state, "embedding")

    def model(self, make: Any) -> EncoderDecoder:
        """Build the translator with our own form of the part."""
        config = replace(tiny_translator, **make, embedding=Narrow)
        return EncoderDecoder(config).eval()

    def answer(self, case: Case, scale: str, between: str) -> Tensor:
        """Run the translator, with both its embeddings changed."""
        model, c = self.model(case.make), (case.make or {})["d_model"]
        model.load_state_dict(dict(case.state or {}))
        scales = {"C": c**0.5, "none": 1, "narrow": 2, "divided": c**-0.5}
        for part in model.modules():
            if isinstance(part, Narrow):
                part.scale = (scales | {"square": c})[scale]
                part.after = nn.ReLU() if between == "relu" else part.after
        with torch.no_grad():
            return model(*case.args)


LEAST_LOSS = {
    "softmaxes": {
        "two": "",
        "one": "the softmax that was to stand before the loss is missing",
        "three": "there is one softmax too many before the loss",
    },
    "base": {"e": "", "2": "the logarithm is to base 2"},
    "sign": {
        "minus": "",
        "plus": "the sign is turned: the loss is minus the logarithm",
    },
    "known": {
        "label": "",
        "nothing": "that is what a model pays that knows nothing",
    },
}


class LeastLoss(Exercise):
    """Measure what a perfect model pays after two softmaxes."""

    chapter, kind, minutes, level = 12, "ablation", 10, 2
    title = "What a second softmax costs"
    teaches = "the loss brings its own softmax"
    axes = "vocab_size: ->"
    switches = LEAST_LOSS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Vocabularies of several sizes, the book's among them."""
        yield Case((draw.sizes("V")["V"],))
        yield Case((100 + draw.below(100),))
        yield Case((1024,))

    def answer(self, case: Case, **choice: str) -> float:
        """Build the logits of one position, and measure."""
        (v,) = case.args
        sure = 100.0 * one_hot(torch.tensor([0]), v)
        if choice["known"] == "nothing":
            sure = torch.zeros(1, v)
        before = {"one": 0, "two": 1, "three": 2}
        for _ in range(before[choice["softmaxes"]]):
            sure = sure.softmax(-1)
        loss = cross_entropy(sure, torch.tensor([0])).item()
        loss = loss / math.log(2) if choice["base"] == "2" else loss
        return loss if choice["sign"] == "minus" else -loss


class HarmlessOne(Exercise):
    """Say why a log_softmax before the loss changes nothing."""

    chapter, kind, minutes, level = 12, "explain", 10, 2
    title = "The harmless one"
    teaches = "what a softmax takes no notice of"
    rubric = (
        "what log_softmax does to the logits of a row: it subtracts one "
        "number from all of them",
        "why the loss's own softmax does not notice that",
        "what softmax does instead: how far apart its numbers can be at most",
    )

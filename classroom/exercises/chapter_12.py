"""Exercises on the whole model."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
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


TIED_HEADS = {
    "words": {
        "root": "",
        "plain": "the words are not scaled by √C when they are embedded",
        "divided": "the words are divided by √C, and not multiplied",
        "square": "the words are scaled by C, and not by its root",
    },
    "places": {
        "plain": "",
        "root": "the places are scaled by √C too: the words alone are",
        "none": "the places are not added",
        "last": "the place added to every word is the last one's",
    },
    "mix": {
        "as told": "",
        "turned": "each guess's matrix is used transposed, as nn.Linear "
        "would: the states stand left of it as it is",
        "first": "all guesses are made with the first matrix",
        "none": "the guesses' own matrices are not used",
    },
    "stay": {
        "added": "",
        "lost": "x is not added to what a guess's matrix makes of it",
    },
    "head": {
        "table": "",
        "root": "the table is scaled by √C on the way out too",
        "divided": "the logits are divided by √C",
        "softmax": "a softmax stands at the end: the model ends with logits",
    },
}


class TiedHeads(Exercise):
    """Let several heads share the table that embeds the words."""

    chapter, kind, minutes, level = 12, "part", 25, 3
    title = "One table for all"
    teaches = "a shared table: rows that embed, and a head that scores"
    axes = "ids: B T -> B N T V"
    assignable, tolerance = True, 1e-3
    switches = TIED_HEADS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Random ids and parameters; more places than words in a row."""
        for _ in range(2):
            sizes = draw.sizes("B N T C V")
            yield self.case(draw, sizes)
        yield self.case(
            draw, sizes | {"B": 1}, "a batch of one sentence fails"
        )

    def case(self, draw: Draw, sizes: dict[str, int], about: str = "") -> Case:
        """Draw what a model of these sizes needs."""
        b, n, t, c, v = (sizes[a] for a in "BNTCV")
        make = {"vocab_size": v, "d_model": c, "n_guesses": n, "max_len": 23}
        state = draw.parameters(table=(v, c), places=(23, c), mix=(n, c, c))
        state["mix"] /= c**0.5
        ids = draw.ids(b, t, below=v)
        return Case((ids,), sizes, about, make=make, state=state)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Embed, mix and score, each step as its switch says."""
        (ids,), state = case.args, case.state or {}
        table, rows, mix = (state[n] for n in ("table", "places", "mix"))
        c, t = table.shape[1], ids.shape[1]
        powers = {"root": 0.5, "plain": 0, "table": 0, "softmax": 0}
        powers |= {"divided": -0.5, "square": 1, "last": 0, "none": 0}
        power = {name: c ** powers.get(choice[name], 0) for name in choice}
        where = {"last": [t - 1] * t}.get(choice["places"], [*range(t)])
        placed = {"none": 0.0}.get(choice["places"], power["places"])
        x = table[ids] * power["words"] + rows[where] * placed
        turned = {"turned": mix.mT, "first": mix[:1].expand_as(mix)}
        turned["none"] = torch.eye(c).expand_as(mix)
        square = turned.get(choice["mix"], mix)
        stay = {"added": torch.eye(c)}.get(choice["stay"], torch.zeros(c, c))
        if choice["mix"] == "none":
            stay = torch.zeros(c, c)
        logits = torch.einsum("btc,ncd,vd->bntv", x, square + stay, table)
        ends = {"softmax": lambda x: x.softmax(-1)}
        return ends.get(choice["head"], nn.Identity())(logits * power["head"])

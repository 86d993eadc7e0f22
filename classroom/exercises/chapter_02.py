"""Exercises on the embedding."""

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor, nn

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from tformer_lite.example.running import (
    EncoderDecoder,
    running_model,
    seeded_model,
)
from tformer_lite.model.config import Config, tiny_translator

ONE_HOT = {
    "axes": {
        "last": "",
        "middle": "the vocabulary's axis stands between B and S, and should "
        "come last",
    },
    "place": {
        "id": "",
        "next": "the 1 stands one place too far to the right: id 0 has it in "
        "column 0",
        "order": "the 1 marks where in the sentence the word stands, and "
        "should mark its id",
    },
    "filled": {
        "one": "",
        "up to": "every column up to the id is 1, and only the id's own "
        "should be",
        "id": "the id itself stands in its column, and a 1 should",
    },
}


class OneHot(Exercise):
    """Write ids as vectors with a single 1."""

    chapter, kind, minutes, level = 2, "line", 4, 1
    title = "One-hot, by looking up"
    teaches = "a one-hot vector is a row of the identity matrix"
    axes = "ids: B S, vocab_size: -> B S V"
    switches = ONE_HOT

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Ids, among them the largest; the same id twice."""
        for _ in range(2):
            sizes = draw.sizes("B S V")
            v = sizes["V"]
            ids = draw.ids(sizes["B"], sizes["S"], below=v)
            ids[0, :3] = torch.tensor([v - 1, 2, 2])
            yield Case((ids, v), sizes)
        about = "the vocabulary may have words that the batch lacks: V "
        about += "comes from vocab_size, not from the largest id"
        yield Case((ids.clamp(max=2), v), sizes, about)

    def answer(self, case: Case, axes: str, place: str, filled: str) -> Tensor:
        """Compare each id with each column's number."""
        ids, v = case.args
        columns = torch.arange(v)
        if place == "order":
            ids = torch.arange(ids.shape[1]).expand_as(ids)
        ids = (ids + (place == "next"))[..., None]
        ones = columns <= ids if filled == "up to" else columns == ids
        hot = ones * ids.float() if filled == "id" else ones.float()
        return hot if axes == "last" else hot.mT


TIED_PARAMETERS = {
    "table": {
        "once": "",
        "twice": "the shared table is counted twice: either the tables are "
        "not tied yet, or they were counted by name (state_dict has both "
        "names, parameters() the table once)",
        "gone": "one table too many is gone: the source's table stays its "
        "own, and the shared one is still there, once",
    },
    "what": {
        "numbers": "",
        "tensors": "this counts the tensors, and should count the numbers in "
        "them: numel()",
    },
}


class TiedParameters(Exercise):
    """Count what is left to learn with one table at both ends."""

    chapter, kind, minutes, level = 2, "ablation", 6, 1
    title = "One table at both ends"
    teaches = "tying: one table, counted once"
    switches = TIED_PARAMETERS

    def answer(self, case: Case, table: str, what: str) -> int:
        """Tie the tables of the running model, and count."""
        model = running_model()
        tokens = model.tgt_embedding.tokens.weight
        if table != "twice":
            model.head.weight = tokens
        found = [*model.parameters()]
        if table == "gone":
            found = [p for p in found if p is not tokens]
        return sum(1 if what == "tensors" else p.numel() for p in found)


SILENT_EMBEDDING = {
    "factor": {
        "root": "",
        "none": "the factor √C is missing",
        "divided": "divided by √C: the factor goes with a table that starts "
        "at variance 1/C, so multiply",
        "square": "the factor is C, and should be its root",
        "words": "the factor is √V: count the channels, not the words",
    },
    "silent": {
        "pad": "",
        "nobody": "[PAD] still has its row of the table: it should get zeros",
        "unknown": "[UNK], id 0, was silenced instead of [PAD], id 1",
        "others": "all but [PAD] are silent: the other way round",
    },
}


class SilentEmbedding(Exercise):
    """An embedding that says nothing for [PAD], in a whole model."""

    chapter, kind, minutes, level = 2, "part", 10, 2
    title = "A silent [PAD]"
    teaches = "an embedding as a part of a model"
    axes = "src: B S, tgt: B T -> B T V"
    tolerance = 1e-3
    switches = SILENT_EMBEDDING

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sentences with [PAD] and [UNK] at their ends and within."""
        for i in range(3):
            sizes = draw.sizes("B T S H D C=H*D F V")
            make = {"d_model": sizes["C"], "n_heads": sizes["H"]}
            make |= {"d_ff": sizes["F"], "vocab_size": sizes["V"]}
            make["max_len"] = max(sizes["S"], sizes["T"])
            b = sizes["B"] = 1 if i == 2 else sizes["B"]
            ids = [draw.ids(b, sizes[n], below=sizes["V"]) for n in "ST"]
            for row in ids:
                row[:, :3] = torch.tensor([2, 0, 1])
                row[0, -1] = 1
            about = "a batch of one fails" if i == 2 else ""
            state = translator(make, "root", "pad").state_dict()
            shapes = {name: x.shape for name, x in state.items()}
            state = {k: draw.numbers(*n, scale=0.5) for k, n in shapes.items()}
            yield Case(tuple(ids), sizes, about, make, state, "embedding")

    def answer(self, case: Case, factor: str, silent: str) -> Tensor:
        """Run the translator with the embedding so set."""
        model = translator(dict(case.make or {}), factor, silent)
        model.load_state_dict(dict(case.state or {}))
        with torch.no_grad():
            return model(*case.args)


def translator(make: dict, factor: str, silent: str) -> nn.Module:
    """Build a translator with the embedding so set."""

    def embedding(vocab_size: int, d_model: int) -> Embedding:
        return Embedding(vocab_size, d_model, factor, silent)

    config: Config = replace(tiny_translator, **make)
    config = replace(config, embedding=embedding)
    return seeded_model(EncoderDecoder, config, 0).eval()


class Embedding(nn.Module):
    """A table, a factor, and rows that are silent."""

    def __init__(
        self, vocab_size: int, d_model: int, factor: str, silent: str
    ):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(vocab_size, d_model))
        self.silent = silent
        self.factor = {
            "root": d_model**0.5,
            "none": 1.0,
            "divided": d_model**-0.5,
            "square": float(d_model),
            "words": vocab_size**0.5,
        }[factor]

    def forward(self, ids: Tensor) -> Tensor:
        """Look up and scale, with zeros for some: (B, T) -> (B, T, C)."""
        kept = {
            "pad": ids != 1,
            "nobody": ids > -1,
            "unknown": ids != 0,
            "others": ids == 1,
        }[self.silent]
        return self.weight[ids] * self.factor * kept[..., None]


TIED_LOGITS = {
    "way_in": {
        "times": "",
        "plain": "the factor √C is missing on the way in",
        "divided": "the rows were divided by √C on the way in, and should be "
        "multiplied by it",
        "square": "the factor on the way in is C, and should be its root",
        "words": "the factor on the way in is √V: count the channels, not the "
        "words",
    },
    "way_out": {
        "plain": "",
        "times": "the factor √C stands on the way out as well: there the "
        "table is used as it is",
        "divided": "the logits were divided by √C: on the way out the table "
        "is used as it is",
    },
    "total": {
        "both": "",
        "change": "only the change goes out: the words that went in are part "
        "of the sum",
        "words": "the change was left out of the sum",
        "early": "the factor scales the change as well: only the rows that "
        "come in are multiplied by √C",
    },
    "end": {
        "logits": "",
        "softmax": "a softmax was applied: logits are the plain dot products",
    },
}


class TiedLogits(Exercise):
    """One table on the way in and on the way out."""

    chapter, kind, minutes, level = 2, "line", 8, 2
    title = "One table, two uses"
    teaches = "tied embeddings: times √C on the way in, plain on the way out"
    axes = "ids: B T, table: V C, change: B T C -> B T V"
    assignable = True
    switches = TIED_LOGITS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Ordinary numbers; a single sentence; double precision."""
        exact = "the numbers may be of type float64: take the table's type"
        about = "", "", "a batch of one loses an axis", exact
        for i, why in enumerate(about):
            few = draw.random.sample((2, 3, 5, 7, 11), 4)  # loops are slow
            sizes = dict(zip("BTCV", few))
            sizes["B"] = 1 if i == 2 else sizes["B"]
            ids = draw.ids(sizes["B"], sizes["T"], below=sizes["V"])
            table = draw.numbers(sizes["V"], sizes["C"])
            change = draw.numbers(sizes["B"], sizes["T"], sizes["C"])
            if i == 3:
                table, change = table.double(), change.double()
            yield Case((ids, table, change), sizes, why)

    def answer(
        self, case: Case, way_in: str, way_out: str, total: str, end: str
    ) -> Tensor:
        """Look each step up by its switch."""
        ids, table, change = case.args
        v, c = table.shape
        power = {"times": 0.5, "plain": 0, "divided": -0.5, "square": 1}
        factor = c ** power[way_in] if way_in in power else v**0.5
        words = nn.functional.embedding(ids, table)
        vectors = {
            "both": words * factor + change,
            "change": change,
            "words": words * factor,
            "early": (words + change) * factor,
        }[total]
        logits = nn.functional.linear(vectors, table) * c ** power[way_out]
        return logits.softmax(-1) if end == "softmax" else logits

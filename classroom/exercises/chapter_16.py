"""Exercises on the model at the paper's size."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor, nn

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from tformer_lite.model.config import tiny_translator
from tformer_lite.model.models import EncoderDecoder

THE_OTHER_MATRIX = {
    "rows": {
        "by kind": "",
        "by head": "the rows of keys and values still run head by head: "
        "all keys come first, and then all values",
        "turned twice": "the rows were dealt out as if all keys came "
        "first: they run head by head, the head's key and then its value",
        "every other": "every other row was taken for a key: a head's D "
        "rows of keys lie side by side",
    },
    "place": {
        "first": "",
        "last": "the queries come after keys and values, and should "
        "come first",
    },
    "pair": {
        "keys": "",
        "values": "the values come before the keys: of a head's 2·D "
        "rows, the first D are its keys",
    },
}


class TheOtherMatrix(Exercise):
    """Bring a fused matrix of keys and values into PyTorch's order."""

    chapter, kind, minutes, level = 16, "line", 10, 2
    title = "The other matrix"
    teaches = "the order of the rows in fused weights"
    axes = "query: C C, key_value: 2*C C, n_heads: -> 3*C C"
    switches = THE_OTHER_MATRIX

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Numbers that are all different, then a single head."""
        one_head = "with one head the rows are in order already"
        for about in "", "", one_head:
            sizes = draw.sizes("H D C=H*D")
            h, c = max(sizes["H"], sizes["D"]), sizes["C"]  # 3 or more
            h = 1 if about else h
            query, both = draw.tags(3 * c, c).split((c, 2 * c))
            yield Case((query, both, h), {"H": h, "C": c}, about)

    def answer(self, case: Case, rows: str, place: str, pair: str) -> Tensor:
        """Put the rows in order, and the three matrices."""
        query, both, h = case.args
        dealt = both.unflatten(0, (h, 2, -1)).transpose(0, 1).flatten(1, 2)
        key, value = {
            "by kind": dealt,
            "by head": both.unflatten(0, (2, -1)),
            "turned twice": both.unflatten(0, (2, h, -1))
            .transpose(0, 1)
            .reshape(2, -1, both.shape[1]),
            "every other": torch.stack((both[0::2], both[1::2])),
        }[rows]
        two = [key, value] if pair == "keys" else [value, key]
        three = [query, *two] if place == "first" else [*two, query]
        return torch.cat(three)


class SquaresAlone(Exercise):
    """Find where attention's two products cost as much as feed-forward."""

    chapter, kind, minutes, level = 16, "ablation", 10, 2
    title = "Squares alone"
    teaches = "what grows with the square of the length"
    axes = "C: , F: ->"
    switches = {
        "products": {
            "two": "",
            "one": "one product was counted: attention has two without "
            "parameters, the scores and the weighted sums",
            "all": "the four square matrices were counted as well: asked "
            "are the two products alone",
        },
        "matrices": {
            "two": "",
            "one": "one matrix was counted: a feed-forward layer has two, "
            "there and back",
            "paper": "F was taken for 4·C, as the paper has it: here F is "
            "given, and may be anything",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A width, and a wide layer that is not four times as wide."""
        for _ in range(3):
            c = 16 * (3 + draw.below(40))
            f = 5 * c + 8 * draw.below(20) + 8
            yield Case((c, f), {"C": c, "F": f})

    def answer(self, case: Case, products: str, matrices: str) -> float:
        """Solve for the length: work for each word, and for each pair."""
        c, f = case.args
        word = {"two": 2 * c * f, "one": c * f, "paper": 8 * c * c}[matrices]
        if products == "all":
            word -= 4 * c * c
        return word / (c if products == "one" else 2 * c)


TWO_IN_ONE = {
    "whom": {
        "others": "",
        "all": "pairs inside one sentence are marked as well: asked are "
        "the pairs of two sentences",
        "own": "the pairs inside one sentence are marked: asked are the "
        "pairs of two sentences",
    },
    "when": {
        "before": "",
        "any": "the look-ahead mask still holds: no place attends to a "
        "later one",
        "after": "places that come later are marked: the look-ahead mask "
        "hides just these, and lets those before be seen",
    },
    "order": {
        "in a row": "",
        "in turn": "the sentences lie one behind the other in the long row: "
        "they do not take turns word by word",
        "exchanged": "B and T are exchanged: a sentence has T words",
    },
    "polarity": {"mixed": "", "not": "True and False are exchanged"},
}


class TwoInOne(Exercise):
    """Draw who attends to another sentence after a careless reshape."""

    chapter, kind, minutes, level = 16, "mask", 10, 2
    title = "Two in one"
    teaches = "a reshape that makes one sentence of a batch"
    axes = "B:, T: -> B*T B*T"
    switches = TWO_IN_ONE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Several sentences; then a single one, and single words."""
        alone = "a batch of one sentence has no other to attend to"
        short = "sentences of one word each"
        for about in "", "", alone, short:
            sizes = draw.sizes("B T")
            sizes |= {alone: {"B": 1}, short: {"T": 1}}.get(about, {})
            yield Case((sizes["B"], sizes["T"]), sizes, about)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Number the sentences in the long row, and compare."""
        b, t = case.args
        places = torch.arange(b * t)
        numbers = {"in turn": places % b, "exchanged": places // b}
        number = numbers.get(choice["order"], places // t)
        other = number[:, None] != number
        later = places > places[:, None]
        mixed = {"all": other | True, "own": ~other}.get(choice["whom"], other)
        mixed &= {"any": later | True, "after": later}.get(
            choice["when"], ~later
        )
        return mixed if choice["polarity"] == "mixed" else ~mixed


TWENTY_MISSING = {
    "cross": {
        "counted": "",
        "forgotten": "a decoder block has two attentions, and three "
        "sublayers: count cross-attention as well",
    },
    "both": {
        "sides": "",
        "one": "encoder and decoder have `n_layers` blocks each",
    },
    "tables": {
        "two": "",
        "one": "both sides have an embedding, and each has its dropout",
        "none": "the dropout after the embeddings is missing, in the "
        "encoder and in the decoder",
    },
    "source": {
        "right": "",
        "weights": "the source was given dropout on the attention weights: "
        "it drops hidden channels, and what a sublayer gives",
    },
    "paper": {
        "right": "",
        "hidden": "the paper does not name the hidden channels of the "
        "feed-forward layer",
        "weights": "the paper does not name the attention weights",
        "sublayers": "the paper names the sums of embeddings and positions "
        "as well",
    },
    "order": {
        "as asked": "",
        "exchanged": "the last two numbers are exchanged: the source comes "
        "before the paper",
    },
}


@cache
def dropouts(n_layers: int) -> dict[str, tuple[int, int]]:
    """Count the dropouts of our model by where they stand: the encoder's,
    and the decoder's."""
    model = EncoderDecoder(replace(tiny_translator, n_layers=n_layers))
    paths = [n for n, x in model.named_modules() if type(x) is nn.Dropout]
    decoders = ["decoder" in path or "tgt" in path for path in paths]
    found = {}
    for part in "attention", "feed_forward", "sums", "embedding":
        sides = [d for path, d in zip(paths, decoders) if part in path]
        found[part] = (sides.count(False), sides.count(True))
    found["sums"] = 2 * n_layers, 3 * n_layers  # a block's own drops at each
    return found


class TwentyMissing(Exercise):
    """Count the dropouts: ours, the source's, and the paper's."""

    chapter, kind, minutes, level = 16, "ablation", 10, 2
    title = "Twenty missing"
    teaches = "where a translator drops numbers, and where the paper does"
    axes = "n_layers: ->"
    switches = TWENTY_MISSING

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A few depths; then a single block on each side."""
        for n in (2, 6, 3 + draw.below(2)):
            yield Case((n,))
        yield Case((1,), about="a single block on each side goes wrong")

    def answer(self, case: Case, **choice: str) -> tuple[int, ...]:
        """Count, and leave out what has none."""
        (n,) = case.args
        found = {part: sum(both) for part, both in dropouts(n).items()}
        if choice["cross"] == "forgotten":
            found["attention"] -= n
            found["sums"] -= n
        if choice["both"] == "one":
            found |= {part: dropouts(n)[part][0] for part in [*found][:3]}
        found["embedding"] -= {"one": 1, "none": 2}.get(choice["tables"], 0)
        weights, hidden, around, tables = found.values()
        source = {"weights": weights + around}
        paper = {
            "hidden": around + tables + hidden,
            "weights": around + tables + weights,
            "sublayers": around,
        }
        two = (
            source.get(choice["source"], hidden + around),
            paper.get(choice["paper"], around + tables),
        )
        two = two if choice["order"] == "as asked" else two[::-1]
        return weights + hidden + around + tables, *two

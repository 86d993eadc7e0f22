"""An exercise on the whole model that has no solution in the book."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from tformer_lite.classroom.cases import Case, Draw
from tformer_lite.classroom.exercise import Exercise

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


def tied_case(draw: Draw, sizes: dict[str, int], about: str = "") -> Case:
    """Draw what a model of these sizes needs."""
    b, n, t, c, v = (sizes[a] for a in "BNTCV")
    make = {"vocab_size": v, "d_model": c, "n_guesses": n, "max_len": 23}
    state = draw.parameters(table=(v, c), places=(23, c), mix=(n, c, c))
    state["mix"] /= c**0.5
    ids = draw.ids(b, t, below=v)
    return Case((ids,), sizes, about, make=make, state=state)


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
            yield tied_case(draw, sizes)
        yield tied_case(
            draw, sizes | {"B": 1}, "a batch of one sentence fails"
        )
        yield tied_case(draw, sizes | {"T": 1}, "a sentence of one word fails")

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

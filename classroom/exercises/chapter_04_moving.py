"""Exercises on queries, keys and values: what moves when a word changes."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.stubs import (
    MixingBlock,
    Projection,
    attention_stub,
    mixing_stub,
)

EACH_WORD = {
    "changed": {
        "one": "",
        "every sentence": "the word at this position was changed in every "
        "sentence: change it in sentence b only",
        "x itself": "nothing moves: `other = x` gives the tensor a second "
        "name, and a change of one changes both; start from x.clone()",
    },
    "seen": {
        "measured": "",
        "assumed": "the changed word's own place is marked, whatever the "
        "layer does: call the layer with x and with the changed x, and "
        "compare",
    },
    "marked": {
        "places": "",
        "sentences": "where one place of a sentence moves, all of it is "
        "marked: change the word at position t alone, and look at each "
        "position by itself",
        "still": "True and False are exchanged: True means that the result "
        "moves",
    },
}


class EachWordForItself(Exercise):
    """Measure which results move when one word changes."""

    chapter, kind, minutes, level = 4, "ablation", 8, 1
    title = "Each word for itself"
    teaches = "a projection carries nothing from word to word"
    axes = "layer:, x: B T C, b:, t: -> B T"
    switches = EACH_WORD

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A projection, layers that mix words; then some that ignore a part
        of what changes, or move in a part of what they give."""
        edges = {"centred": ALIKE, "reads": A_PART, "moves": ANY}
        for kind in ("projection", "past", "turned", "mean", *edges):
            sizes = draw.sizes("B T C F")
            b, t, c, f = sizes.values()
            layer = {
                "projection": Projection(draw.numbers(f, c)),
                "past": attention_stub,
                "turned": mixing_stub,
                "mean": MixingBlock(draw.numbers(c, c)),
                "centred": Projection(centred(f, c)),
                "reads": Projection(one_read(f, c)),
                "moves": Projection(one_moved(f, c)),
            }[kind]
            x, place = draw.numbers(b, t, c), 1 + draw.below(t // 2 - 1)
            if kind == "centred":
                x = draw.ids(b, t, c, below=100).float()
            args = layer, x, 1 + draw.below(b - 1), place
            yield Case(args, sizes, edges.get(kind, ""))

    def answer(
        self, case: Case, changed: str, seen: str, marked: str
    ) -> Tensor:
        """Change, call twice, and compare."""
        layer, x, b, t = case.args
        place = {
            "one": slice(b, b + 1),
            "every sentence": slice(None),
            "x itself": slice(0),
        }[changed]
        other = x.clone()
        other[place, t] = x[place, t].flip(-1) + 1
        run = layer if seen == "measured" else torch.clone
        moved = (run(other) != run(x)).any(-1)
        if marked == "sentences":
            return moved.any(1, keepdim=True).expand_as(moved)
        return ~moved if marked == "still" else moved


ALIKE = (
    "a layer that takes the channels' mean away does not depend on a change "
    "that is the same in all of them: add something else to each channel"
)
A_PART = (
    "a layer that reads some channels does not depend on a change of others: "
    "change all channels of the word"
)
ANY = (
    "a place has moved as soon as one of its channels has: join the channels "
    "with any"
)


def centred(f: int, c: int) -> Tensor:
    """Weigh channels so that what is added to all of them is lost: whole
    numbers, so that nothing is left of it by rounding."""
    rows = 1 + torch.arange(f * c).view(f, c) % 7
    rows[:, -1] = -rows[:, :-1].sum(1)
    return rows.float()


def one_read(f: int, c: int) -> Tensor:
    """Weigh the channel in the middle alone."""
    return (torch.arange(c) == c // 2).float().expand(f, c).clone()


def one_moved(f: int, c: int) -> Tensor:
    """Weigh all channels, for one result in the middle alone."""
    return one_read(c, f).mT.clone()


WRONG_SIDE = {
    "changed": {
        "source": "",
        "x": "a Nepali word was changed: it is the English one that should "
        "change, a row of source",
        "source itself": "nothing moves: `other = source` gives the tensor a "
        "second name, and a change of one changes both; start from "
        "source.clone()",
    },
    "first": {
        "column": "",
        "row": "with the right roles an English word only answers: its "
        "column of the scores moves, and not a row",
        "cross": "with the right roles one column moves, and no row with it",
    },
    "second": {
        "row": "",
        "column": "with exchanged roles an English word asks: its row of the "
        "scores moves, and not a column",
        "turned": "the second matrix is turned round: with exchanged roles "
        "each row is an English word, and each column a Nepali one",
    },
    "order": {
        "right first": "",
        "wrong first": "the two have changed places: the right roles come "
        "first",
    },
    "marked": {
        "moved": "",
        "still": "True and False are exchanged: True means that the score "
        "moves",
    },
}


class WrongSide(Exercise):
    """Measure which scores move when a word of the source changes."""

    chapter, kind, minutes, level = 4, "ablation", 10, 2
    title = "The wrong side"
    teaches = "an exchange of roles that equal lengths hide"
    axes = "x: T C, source: S C, w_q: C C, w_k: C C, place: -> 2 T S"
    switches = WRONG_SIDE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Two sequences of different lengths; then of the same."""
        for i in range(3):
            sizes = draw.sizes("T S C")
            t, s, c = sizes.values()
            s = t if i == 2 else s
            w_q, w_k = (draw.numbers(c, c, scale=c**-0.5) for _ in "qk")
            x, source = draw.numbers(t, c), draw.numbers(s, c)
            args = x, source, w_q, w_k, draw.below(min(t, s))
            about = "it fails where both are equally long" if i == 2 else ""
            yield Case(args, sizes | {"S": s}, about)

    def answer(
        self, case: Case, changed: str, first: str, second: str, **how: str
    ) -> tuple[Tensor, ...]:
        """Compute all scores twice, and compare."""
        x, source, w_q, w_k, place = case.args
        pair = {"x": x, "source": source}
        other = {name: tensor.clone() for name, tensor in pair.items()}
        if changed in other:
            other[changed][place] += 1
        right, swapped = (
            (pair[a] @ w_q.mT @ (pair[b] @ w_k.mT).mT)
            != (other[a] @ w_q.mT @ (other[b] @ w_k.mT).mT)
            for a, b in (("x", "source"), ("source", "x"))
        )
        row, column = (torch.zeros_like(m) for m in (right, swapped))
        row[place], column[:, place] = True, True
        right = {"row": row, "cross": row | right}.get(first, right)
        shown = {"column": column, "turned": swapped.mT}
        found = right, shown.get(second, swapped)
        if how["order"] == "wrong first":
            found = found[1], found[0]
        return tuple(~m if how["marked"] == "still" else m for m in found)

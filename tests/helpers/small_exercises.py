"""Three small exercises, and a right answer to each."""

import math

from classroom.cases import Case
from classroom.exercise import Exercise, exercise

SPLIT = exercise("dealt_out")


def right_split(x, n):
    return x.unflatten(-1, (n, -1)).transpose(1, 2)


SWITCHES = {
    "scale": {"root": "", "none": "no 1/√D", "width": "by D, not its root"},
    "side": {"rows": "", "columns": "the queries stand in the columns"},
}


class Scores(Exercise):
    """Scores: every query with every key."""

    chapter, title, kind, minutes, level = 6, "Scores", "line", 5, 1
    teaches = "scores"
    axes = "q: B T D, k: B S D -> B T S"
    switches = SWITCHES

    def cases(self, draw):
        for scale in (1, 1, 100):
            sizes = draw.sizes("B T S D")
            q = scale * draw.numbers(*(sizes[a] for a in "BTD"))
            k = draw.numbers(*(sizes[a] for a in "BSD"))
            about = "large scores overflow" if scale > 1 else ""
            yield Case((q, k), sizes, about)

    def answer(self, case, scale, side):
        q, k = case.args
        d = q.shape[-1]
        by = {"root": math.sqrt(d), "none": 1, "width": d}[scale]
        scores = q @ k.mT / by
        return scores if side == "rows" else scores.mT


SCORES = Scores()


def right_scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


class Past(Exercise):
    """The sum of what came so far."""

    chapter, title, kind, minutes, level = 7, "Past", "line", 5, 1
    teaches = "causal sums"
    axes = "v: B T D -> B T D"
    dependence = "v 1 -> 1"

    def cases(self, draw):
        for _ in range(2):
            sizes = draw.sizes("B T D")
            yield Case((draw.numbers(*sizes.values()),), sizes)

    def answer(self, case):
        return right_mask(*case.args)


MASK = Past()


def right_mask(v):
    return v.cumsum(1)


class Odd:
    """An object with which nothing can be done."""

    def __eq__(self, other):
        raise RuntimeError

    def __hash__(self):
        raise RuntimeError

    def __getattr__(self, name):
        raise RuntimeError

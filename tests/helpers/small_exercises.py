"""Three small exercises, and a right answer to each."""

import math

from classroom.exercise import Exercise, exercise

SPLIT = exercise("dealt_out")
SPLIT_CODE = """\
def dealt_out(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)
"""


def right_split(x, n):
    return x.unflatten(-1, (n, -1)).transpose(1, 2)


SCORES = Exercise(
    name="scores",
    chapter=6,
    title="Scores",
    kind="line",
    minutes=5,
    level=1,
    teaches="every query with every key",
    axes="q: B T D, k: B S D -> B T S",
    edges=(("scores so large that exp overflows", "q = 100 * q"),),
    right="def scores(q, k):\n    return q @ k.mT / math.sqrt(q.shape[-1])",
    edits=(
        (" / math.sqrt(q.shape[-1])", "", "no 1/√D"),
        ("math.sqrt(q.shape[-1])", "q.shape[-1]", "by D, not its root"),
        ("return q @ k.mT", "return (q @ k.mT).mT", "queries in the columns"),
    ),
)


def right_scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


MASK = Exercise(
    name="past",
    chapter=7,
    title="Past",
    kind="line",
    minutes=5,
    level=1,
    teaches="the sum of what came so far",
    axes="v: B T D -> B T D",
    right="def past(v):\n    return v.cumsum(1)",
)


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

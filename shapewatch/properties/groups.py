"""Groups of heads: those that share keys share values, and no attention is
computed twice."""

from collections.abc import Iterator
from itertools import combinations

from torch import Tensor

from shapewatch.properties.finding import BROKEN, UNUSUAL
from shapewatch.properties.mixing import mixings
from shapewatch.properties.subject import Subject, once
from shapewatch.properties.variants import reweighted

Fault = tuple[str, str, str]


def crossed(path: str, keys: Tensor, values: Tensor) -> Fault | None:
    """Say that heads (H, ...) which share keys have other values, and heads
    that share values other keys."""
    if len(keys) != len(values) or not (keys.any() and values.any()):
        return None
    unlike: dict[bool, tuple[int, int]] = {}
    for a, b in combinations(range(len(keys)), 2):
        same = keys[a].equal(keys[b]), values[a].equal(values[b])
        if same[0] != same[1]:
            unlike[same[0]] = a, b
    if len(unlike) < 2:
        return None
    (a, b), (c, d) = unlike[True], unlike[False]
    says = (
        f"heads {a} and {b} share their keys, and heads {c} and {d} their "
        "values. Repeat both in the same way: repeat_interleave, or repeat."
    )
    return path, says, BROKEN


def twice(subject: Subject) -> Iterator[Fault]:
    """Find attentions that are computed twice, whatever the weights are."""
    found = repeated(subject)
    if found and repeated(reweighted(subject, 0)) == found:
        says = "two attentions have the same queries, keys and values. Is one "
        yield found[0], f"{says}module in a list twice?", UNUSUAL


@once
def repeated(subject: Subject) -> list[str]:
    """Name the modules of attentions that are computed twice."""
    pairs = combinations(mixings(subject), 2)
    return [
        one.path
        for one, other in pairs
        if one.path == other.path
        and all(
            x.matrix.equal(y.matrix)
            for x, y in zip((one.q, one.k, one.v), (other.q, other.k, other.v))
        )
    ]

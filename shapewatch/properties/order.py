"""Order: whether two words that change places are heard to do so in the
first attention. Later ones of a causal model hear it by their mask alone."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import compress, pairwise
from typing import Any

from torch import Tensor

from shapewatch.properties.copies import another_batch
from shapewatch.properties.few import few_outputs
from shapewatch.properties.finding import BROKEN, UNUSUAL
from shapewatch.properties.mixing import (
    Mixing,
    Operand,
    described,
    differ,
    followed,
)
from shapewatch.properties.reach import FAINT, Watch
from shapewatch.properties.rotations import still
from shapewatch.properties.subject import FailedError, Subject
from shapewatch.properties.variants import reweighted, same_word
from shapewatch.tracing import Trace, trace
from shapewatch.tracing.questions.attention import Data
from shapewatch.tracing.record.shared import following
from shapewatch.tracing.record.tensors import tensors

MOST = 32  # how many pairs are tried
NAMED = re.compile("pos|rotary|rope|alibi|freq|wpe|place", re.IGNORECASE)
Pairs = list[tuple[int, int]]


def unheard(subject: Subject, which: int) -> tuple[str, str] | None:
    """Say which neighbours of an input could change places, for all that its
    first attention hears; and of which level that is."""
    tried, deaf = swapped(subject, which)
    again = swapped(reweighted(subject, 0), which)[1] if deaf else []
    both = [pair for pair in deaf if pair in again]  # weights may be small
    if not both:
        return None
    if len(both) == len(tried):
        return (
            None if placed_later(subject, which) else nowhere(subject, which)
        )
    (p, q), side = both[0], subject.sides[which]
    says = (
        f"When {side} positions {p} and {q} change places, the first "
        "attention hears no difference, though of others it does. Do they "
        "share one position, by a division or a limit?"
    )
    return says, BROKEN


def nowhere(subject: Subject, which: int) -> tuple[str, str]:
    """Say that no position is added anywhere."""
    model: Any = subject.model
    says = (
        f"The {subject.sides[which]} has no positions: with words that change "
        "places, the first attention hears the same, and only the causal "
        "mask tells later ones of their order. "
    )
    parts = (*getattr(model, "named_modules", dict)(),)
    names = [name for name, _ in parts] + [*model.state_dict()]
    if any(map(NAMED.search, names)):
        return says + "Look at the positions: are they added?", BROKEN
    return says + "Some models are meant so.", UNUSUAL


def hollow(model: Any) -> str:
    """Say of which table of positions, which does not learn, many channels
    are 0 everywhere, or ""."""
    for name, x in getattr(model, "named_buffers", dict)():
        if x.is_floating_point() and x.ndim > 1 and min(x.shape[-2:]) > 7:
            empty = ~x.flatten(0, -2).any(0)
            if not empty.all() and empty.float().mean() >= 0.25:
                return (
                    f"{int(empty.sum())} of the {len(empty)} channels of "
                    f"{name} are 0 at all positions. Is one half written over "
                    "the other?"
                )
    return ""


def unlike_words(subject: Subject, which: int) -> Pairs:
    """List pairs of positions that have other words: neighbours, and the
    first and another one."""
    ids, real = subject.inputs[which][0], subject.real[which][0]
    places = real.nonzero()[:, 0].tolist()
    pairs = [*pairwise(places), *((places[0], q) for q in places[2:])]
    return [(p, q) for p, q in pairs if not ids[p].equal(ids[q])][:MOST]


def swapped(subject: Subject, which: int) -> tuple[Pairs, Pairs]:
    """Find pairs of unlike words that are both heard by somebody else in the
    first attention; and of these, those whose change of places is heard by
    nobody."""
    ids, unlike = subject.inputs[which][0], unlike_words(subject, which)
    batch = ids.repeat(len(unlike) + 1, *[1] * ids.ndim)
    for row, (p, q) in zip(batch, unlike):
        row[[p, q]] = row[[q, p]]
    other = another_batch(few_outputs(subject), which, batch)
    paths = {one.path for one in followed(subject)}
    one = first_attention(other, len(ids), paths)
    if one is None:
        return [], []
    mixed, weights = (
        x.reshape(len(batch), -1, *x.shape[-2:])
        for x in (one.mixed, one.weights)
    )
    tried, deaf = [], []
    least = FAINT * mixed.abs().max()
    for row, (p, q) in zip(mixed, unlike):
        hear = (weights[-1][..., [p, q]] > 0).all(-1).any(0)
        hear[[p, q]] = False
        if hear.any():
            tried.append((p, q))
            moved = (row - mixed[-1]).abs().amax((0, 2))[hear]
            deaf += [] if moved.max() > least else [(p, q)]
    return tried, deaf


def first_attention(
    subject: Subject, t: int, paths: set[str]
) -> Mixing | None:
    """Find the first attention of t positions whose rows of a batch are not
    all alike, of attentions in some modules: no more is run than that."""
    rows = len(subject.inputs[0])
    for find in (partial(begun, subject, paths), partial(followed, subject)):
        for one in find():
            x = one.weights
            whole = x.shape[-2:] == (t, t) and not x[..., 0].numel() % rows
            if whole and unlike(one.v.matrix.reshape(rows, -1)):
                return one
    return None


class EnoughError(Exception):
    """A run has gone far enough."""


def begun(subject: Subject, paths: set[str]) -> list[Mixing]:
    """Find the attentions of a run that ends after the first of some modules
    that gives unlike rows."""
    rows = len(subject.inputs[0])

    def stop(path: str, _: Any, *given: Any) -> None:
        made = [x for x in tensors(given[-1]) if x.ndim and len(x) == rows]
        if path in paths and any(map(unlike, made)):
            raise EnoughError

    call = partial(trace, subject.model, keep=True)
    with following(Watch(subject.model, stop)):
        try:
            seen: Trace | None = subject.call(call, subject.given)
        except FailedError as error:
            seen = getattr(error.__cause__, "trace", None)
    return described(Data(seen)) if seen else []


def unlike(x: Tensor) -> bool:
    """Whether some rows are not as the first is."""
    return bool((x != x[:1]).any())


def placed_later(subject: Subject, which: int) -> bool:
    """Whether positions of an input come in anywhere: with the same word
    everywhere, some attention reads other vectors of it, or more is added to
    its scores."""
    alike = same_word(few_outputs(subject), 0)
    every = zip(followed(alike), owned(subject, which))
    return any(
        (one.biases and all(own[:2]) and not even(one.weights))
        or not all(still(x.matrix) for x in compress(vectors(one), own))
        for one, own in every
    )


def even(weights: Tensor) -> bool:
    """Whether each position hears all whom it hears alike: (..., T, S)."""
    most = weights.amax(-1, keepdim=True)
    return bool(((weights > 0.999 * most) | (weights == 0)).all())


def owned(subject: Subject, which: int) -> Iterator[list[bool]]:
    """Say of each attention whether queries, keys and values are of an input:
    they hear it, or none; and none that comes after it, and may hear it, too.
    """
    runs = [followed(subject, i) for i in range(subject.last + 1)]
    for one, *others in zip(followed(subject), *runs):
        moves = [*zip(*(differ(one, x) for x in others))]
        yield [
            not any(x[which + 1 :]) and (x[which] or not any(x)) for x in moves
        ]


def vectors(one: Mixing) -> tuple[Operand, Operand, Operand]:
    """Give the queries, keys and values of an attention."""
    return one.q, one.k, one.v

"""Slices: of the matrices of an attention, what belongs to a whole head, and
what gradient it gets."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from shapewatch.properties.finding import BROKEN, UNUSUAL
from shapewatch.properties.heads import are_one, drawn, heads
from shapewatch.properties.mixing import followed
from shapewatch.properties.order import NAMED
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    once,
)
from shapewatch.properties.variants import reweighted

Slices = list[tuple[str, Tensor]]


def unlearnt(subject: Subject) -> tuple[str, str] | None:
    """Say which head's part of a matrix gets no gradient though others do, or
    whose parts get all the same; and of which level that is. So it must be
    with random weights, too: some are 0 at the start."""
    for judge, level in ((silent, BROKEN), (summed, UNUSUAL)):
        found = judge(subject)
        for seed in range(2 if found else 0):
            other = judge(reweighted(subject, seed))
            found = {x: n for x, n in found.items() if other.get(x) == n}
        for says in found.values():
            if lonely(subject):
                says += " In some heads, each position hears one alone."
                level = UNUSUAL
            return says, level
    return None


def lonely(subject: Subject) -> bool:
    """Whether there is a head in which each position hears one alone, as it
    may where steps are longer than the inputs: no score of it counts."""
    every = [heads(subject, one) for one in followed(subject)]
    return any(
        bool(((x > 0).sum(-1) < 2).flatten(1).all(1).any()) for x in every
    )


def silent(subject: Subject) -> dict[str, str]:
    """Find matrices of which some heads' parts have no gradient at all, and
    all numbers of the others have one."""
    found = {}
    for name, g in sliced(subject):
        alive = (g != 0).flatten(1)
        dead = (~alive.any(1)).nonzero()[:, 0].tolist()
        others = alive.any(1)
        if dead and others.any() and alive[others].all():
            found[name] = (
                f"Of {name}, {len(dead)} of {len(g)} parts of the size of a "
                f"head get no gradient, such as part {dead[0]}. Look for "
                "heads that are left out, and for one that stands for all."
            )
    return found


def summed(subject: Subject) -> dict[str, str]:
    """Find matrices whose heads' parts have one gradient: only their sum is
    heard."""
    found = {}
    for name, g in sliced(subject):
        if are_one(g):
            found[name] = (
                f"Of {name}, all {len(g)} heads get the same gradient: only "
                "their sum is heard. Look for an axis that is summed over."
            )
    return found


@once
def sliced(subject: Subject) -> Slices:
    """Draw the gradients of the matrices of attentions, and cut each to parts
    of the size of a head: (N, ...)."""
    try:
        kinds = {
            (one.path, x.matrix.shape[-1], len(heads(subject, one, x.matrix)))
            for one in followed(subject)
            for x in (one.q, one.k, one.v)
            if min(one.weights.shape[-2:]) > 1
        }
        pulls = matrices(subject)
    except (NotJudgedError, FailedError):
        return []
    return [
        (name, part)
        for name, g in pulls.items()
        for kind in sorted(kinds)
        for part in cut(name, g, *kind)
    ]


def matrices(subject: Subject) -> dict[str, Tensor]:
    """Give the gradients of all matrices in attentions but tables."""
    model: Any = subject.model
    tables = {
        id(part.weight)
        for part in model.modules()
        if isinstance(part, (nn.Embedding, nn.EmbeddingBag))
    }
    made = drawn(subject).inside
    return {
        name: made[p]
        for name, p in model.named_parameters()
        if p in made and id(p) not in tables and not NAMED.search(name)
    }


def cut(
    name: str, g: Tensor, path: str, size: int, several: int
) -> Iterator[Tensor]:
    """Cut the gradient of a matrix in an attention's module along axes that
    hold several heads of a size: of (N D, C), (C, N D), and (C, N, D)."""
    inside = path == "the model" or name.startswith(f"{path}.")
    if g.ndim == 2 and inside:
        for axis in range(2):
            count, rest = divmod(g.shape[axis], size)
            if not rest and count > 1 and g.shape[1 - axis] >= 2 * size:
                parts = g.unflatten(axis, (count, size))
                yield parts.movedim(axis, 0)
    if g.ndim == 3 and several > 1 and (inside or path == "the model"):
        for axis in range(2):
            if g.shape[axis : axis + 2] == (several, size):
                yield g.movedim(axis, 0)

"""Mixing: every attention of a run, found by following the data."""

from typing import NamedTuple

from torch import Tensor

from tformer_lite.properties.paths import Operand, Paths, mix, product
from tformer_lite.properties.reach import traced
from tformer_lite.properties.subject import NotJudgedError, Subject
from tformer_lite.tracing.questions.attention import before_softmax
from tformer_lite.tracing.questions.scores import named, opened


class Mixing(NamedTuple):
    """One attention: in a module, `weights` times values.

    `scale` is what it multiplies a query times a key with. `mixed` is its
    result, and `joined` what the first step after it reads, moved from
    there.
    """

    path: str
    weights: Tensor
    q: Operand
    k: Operand
    v: Operand
    scale: float
    mixed: Tensor
    joined: Tensor


def mixings(subject: Subject, *pushed: int) -> list[Mixing]:
    """Find every attention of a run, in order, with all positions of the
    inputs `pushed` nudged; NotJudgedError when there is none."""
    found = subject.once(
        ("mixings", pushed), lambda: found_in(Paths(traced(subject, *pushed)))
    )
    if not found:
        raise NotJudgedError("No attention was found: a softmax of products.")
    return found


def found_in(paths: Paths) -> list[Mixing]:
    """Describe every attention of a traced run, in order."""
    found = []
    for i, step in enumerate(paths.steps):
        if step.name == "scaled_dot_product_attention":
            found.append(in_one_call(paths, i))
        scored, growth = product(paths, before_softmax(paths.flow, i))
        after = None if scored is None else mix(paths, i)
        if after is not None:
            found.append(written_out(paths, scored, growth, after))
    return found


def in_one_call(paths: Paths, i: int) -> Mixing:
    """Describe an attention that is one call."""
    given = named(*paths.given[i])
    q, k, v = (paths.operand((i, read)) for read in range(3))
    scale = given.get("scale") or q.matrix.shape[-1] ** -0.5
    scale *= q.factor * k.factor
    return described(paths, i, opened(given)[-1], q, k, v, scale)


def written_out(
    paths: Paths, scored: int, growth: float, after: int
) -> Mixing:
    """Describe an attention of two products with a softmax between."""
    at = int(paths.steps[scored].name == "baddbmm")  # the mask comes first
    q, k = paths.operand((scored, at)), paths.operand((scored, at + 1))
    k = k._replace(matrix=k.matrix.mT)
    weights, v = paths.read((after, 0)), paths.operand((after, 1))
    scale = q.factor * k.factor * growth
    return described(paths, after, weights, q, k, v, scale)


def described(paths: Paths, i: int, weights: Tensor, *found) -> Mixing:
    """Add where a step is, and what becomes of what it made."""
    path = paths.steps[i].visit.path or "the model"
    return Mixing(path, weights, *found, paths.kept[i][0], paths.landing(i))

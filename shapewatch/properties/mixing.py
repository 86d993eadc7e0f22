"""Mixing: every attention of a run, as matrices with a vector in each row."""

import re
from collections import defaultdict
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from shapewatch.properties.agreement import close
from shapewatch.properties.few import few_outputs
from shapewatch.properties.reach import nudged
from shapewatch.properties.scaling import (
    added,
    bias_at,
    growth,
    is_bias,
    ratio,
)
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    once,
    whole,
)
from shapewatch.tracing import Trace, trace
from shapewatch.tracing.questions.attention import (
    JOINS,
    MOVES,
    SCALES,
    AttentionSteps,
    Data,
    call_again,
    fused_parts,
)
from shapewatch.tracing.record.recorder import Step

# Whose an axis is: the left factor's, the right one's, the result's.
BATCH, SUMMED, OWN = "LRM", "LR", ("LM", "RM")


class Operand(NamedTuple):
    """A matrix that a product takes, and the tensor that it was moved from.

    `matrix` has a vector in each row; its numbers are some of those of
    `origin` times `factor`, in another order.
    """

    matrix: Tensor
    origin: Tensor
    factor: float


class Mixing(NamedTuple):
    """One attention: in a module, `weights` (..., T, S) times values.

    `scale` is what it multiplies a query times a key with. `mixed` is its
    result, and `joined` that, moved, as the first step after it reads it.
    `biases` are what is added to the scores, but for masks, `sink` says
    whether some weights went to no position, and `talking` whether the
    product only mixes heads, the scores of another one. `late` is the part
    of the scale that biases of positions have, too.
    """

    path: str
    weights: Tensor
    q: Operand
    k: Operand
    v: Operand
    scale: float
    mixed: Tensor
    joined: Tensor
    biases: tuple[Tensor, ...] = ()
    sink: bool = False
    talking: bool = False
    late: float = 1.0


def mixings(subject: Subject, *pushed: int) -> list[Mixing]:
    """Give every attention of a run, in order, with all positions of the
    inputs `pushed` nudged; NotJudgedError when there is none."""
    every = followed(subject, *pushed)
    if not every:
        raise NotJudgedError("No attention was found: a softmax of products.")
    found = [one for one in every if not is_learnt(subject, one.v.origin)]
    if not found:
        raise NotJudgedError("Heads are mixed between softmax and values.")
    return found


def traced(subject: Subject, given: tuple, keep: bool = False) -> Trace:
    """Trace a run; NotJudgedError where that fails, and the model runs."""
    try:
        return subject.call(partial(trace, subject.model, keep=keep), given)
    except FailedError as error:
        subject.call(subject.made, given)
        raise NotJudgedError(f"It cannot be traced: {error}") from error


def crossing(subject: Subject) -> list[Mixing]:
    """Find the attentions in which the target asks, and the source answers
    with both keys and values."""
    plain, by_source, by_target = (
        mixings(subject, *which) for which in ((), (0,), (1,))
    )
    return [
        one
        for one, source, target in zip(plain, by_source, by_target)
        if differ(one, target) == [True, False, False]
        and differ(one, source)[1:] == [True, True]
    ]


@once
def followed(subject: Subject, *pushed: int) -> list[Mixing]:
    """Find every attention of a run in what was traced of it."""
    few = few_outputs(subject)
    with nudged(subject.inputs, slice(None), *pushed) as nudge:
        given = whole(subject, tuple(nudge.inputs))
        seen = traced(few, given, keep=True)
    subject.found["steps", *pushed] = seen.steps
    return described(Data(seen))


@once
def steps(subject: Subject) -> list[Step]:
    """List the calls of a run."""
    return traced(subject, subject.given).steps


def described(data: Data) -> list[Mixing]:
    """Find every attention in what was traced and kept."""
    found = data.attentions()
    ways = [in_one_call if one.fused else written_out for one in found]
    return [describe(data, one) for describe, one in zip(ways, found)]


def differ(one: Mixing, other: Mixing) -> list[bool]:
    """Whether queries, keys and values are others in another run."""
    pairs = (one.q, other.q), (one.k, other.k), (one.v, other.v)
    return [not close(x.matrix, y.matrix) for x, y in pairs]


def is_learnt(subject: Subject, x: Tensor) -> bool:
    """Whether a tensor is a parameter: such values only mix heads."""
    own: Any = getattr(subject.model, "parameters", list)
    return x.data_ptr() in {p.data_ptr() for p in own()}


class Product:
    """A product as einsum writes it: its axes have letters.

    `axes` are those of the left factor, the right one, and the result; each
    is known by its number. `kinds` has their axes by whose they are, sorted
    as where scores stand, or their weights: in the one of number `scores`.
    """

    def __init__(self, data: Data, i: int, scores: int):
        first = data.given[i][0][0]
        equation = first if isinstance(first, str) else "...mk,...kn->...mn"
        self.axes = re.split(",|->", equation)
        self.data, self.step = data, i
        self.kinds: defaultdict[str, str] = defaultdict(str)
        every = "".join((self.axes[scores], *self.axes))
        for axis in dict.fromkeys(re.findall(r"\.\.\.|\w", every)):
            whose = (w for w, axes in zip("LRM", self.axes) if axis in axes)
            self.kinds["".join(whose)] += axis

    def matrix(self, x: Tensor, n: int, *kinds: str) -> Tensor:
        """Sort the axes of a factor, or of the result, by their kinds."""
        ordered = "".join(self.kinds[kind] for kind in kinds)
        return torch.einsum(f"{self.axes[n]}->{ordered}", x)

    def factor(self, n: int, *kinds: str) -> Operand:
        """Give a factor, with its axes sorted, and where it was moved from."""
        found = operand(self.data, self.step, n)
        return found._replace(matrix=self.matrix(found.matrix, n, *kinds))


def operand(data: Data, i: int, n: int) -> Operand:
    """Follow what a step reads back to where it was last computed. (Before
    its factors, baddbmm reads a mask.)"""
    n += data.names[i] == "baddbmm"
    matrix, factor = as_read(data, i, n), 1.0
    origin, maker = matrix, data.sources[i][n]
    while maker is not None and data.names[maker] in MOVES | SCALES:
        sized = [mark.shape != () for mark in data.steps[maker].reads]
        if sum(sized) > 1:
            break
        origin = data.read(maker, sized.index(True))
        if data.names[maker] in SCALES:
            factor *= ratio(data.kept[maker][0], origin)
        maker = data.sources[maker][sized.index(True)]
    return Operand(matrix, origin, factor)


def in_one_call(data: Data, one: AttentionSteps) -> Mixing:
    """Describe an attention that is one call."""
    args, kwargs = data.given[one.mixed]
    q, k, v = (operand(data, one.mixed, n) for n in range(3))
    scale = kwargs.get("scale") or q.matrix.shape[-1] ** -0.5
    scale *= q.factor * k.factor
    _, _, weights, *_ = fused_parts(args, kwargs)
    masks = kwargs.get("attn_mask"), *args[3:4]
    found = tuple(x for x in masks if x is not None and is_bias(x))
    mixed, joined = data.kept[one.mixed][0], landing(data, one.mixed)
    path = one.path or "the model"
    return Mixing(path, weights, q, k, v, scale, mixed, joined, found)


def written_out(data: Data, one: AttentionSteps) -> Mixing:
    """Describe an attention of two products with a softmax between."""
    w = one.way[-1][1] - (data.names[one.mixed] == "baddbmm")
    v, after = 1 - w, Product(data, one.mixed, w)
    values = after.factor(v, BATCH, SUMMED, OWN[v])
    mixed = after.matrix(data.kept[one.mixed][0], 2, BATCH, OWN[w], OWN[v])
    scored = Product(data, one.product, 2)
    q, k = (scored.factor(n, BATCH, OWN[n], SUMMED) for n in range(2))
    rows = w, BATCH, OWN[w], SUMMED
    weights = after.matrix(as_read(data, *one.way[-1]), *rows)
    right = after.matrix(by_right_factor(data, one), *rows)
    keys, queries = (right.amax(i) - right.amin(i) for i in (-1, -2))
    if queries.sum() > keys.sum():  # it differs by query
        q, k = k, q
    scale = q.factor * k.factor * growth(data, one)
    path, joined = one.path or "the model", landing(data, one.mixed)
    more = (
        (*filter(is_bias, added(data, one)),),
        data.kept[one.weights][0].numel() > weights.numel(),
        talks(data, one.product),
        growth(data, one, bias_at(data, one)),
    )
    return Mixing(path, weights, q, k, values, scale, mixed, joined, *more)


def talks(data: Data, i: int) -> bool:
    """Whether a product is of scores, and of what no step has made: they are
    the product of what steps have made."""
    made = [j for j in data.sources[i] if j is not None]
    found = data.found.get(made[0]) if len(made) == 1 else None
    return found is not None and None not in data.sources[found.product]


def as_read(data: Data, i: int, n: int) -> Tensor:
    """Give what a product read: as it was made; or as it is by now, if that
    explains the result: something was written into it, as by w[0] *= 2."""
    made, now = data.read(i, n), data.received(i, n)
    if made.equal(now):
        return made
    reads = [data.received(i, m) for m in range(len(data.sources[i]))]
    again, *_ = call_again(data, i, reads)
    return now if close(again, data.kept[i][0]) else made


def by_right_factor(data: Data, one: AttentionSteps) -> Tensor:
    """What would stand at the weights, were the left factor all ones, and
    nothing but moves came after: it differs by the right factor's rows."""
    i, count = one.product, len(data.sources[one.product])
    *others, right = (data.read(i, n) for n in range(count))
    made = call_again(data, i, [*map(torch.ones_like, others), right])
    return data.again(*one.way[-1], {i: made}, MOVES | JOINS)


def landing(data: Data, i: int) -> Tensor:
    """Follow a result through its moves to what the next step reads."""
    for j in range(i + 1, len(data.steps)):
        if data.sources[j][:1] == [i]:
            if data.names[j] not in MOVES:
                break
            i = j
    return data.kept[i][0]

"""The attention layers of a run: of each the queries, keys and values as
matrices with a vector in each row, its weights, its scale, its biases."""

from collections.abc import Iterable, Sized
from functools import partial
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from shapewatch.properties.closeness import are_close
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.perturbation import with_noise_added
from shapewatch.properties.subject import (
    NotJudgedError,
    Subject,
    once,
    with_sequences,
)
from shapewatch.tracing import Trace, trace
from shapewatch.tracing.questions.attention import fused_parts
from shapewatch.tracing.questions.flow import (
    JOINS,
    MOVES,
    SCALES,
    SUMS,
    AttentionSteps,
    Data,
    Flow,
    call_again,
)
from shapewatch.tracing.questions.operands import (
    BATCH,
    OWN,
    SUM_AXES,
    EinsumProduct,
)
from shapewatch.tracing.record.visits import Visit


class Operand(NamedTuple):
    """A matrix that a product takes, and the tensor that it was moved from.

    `matrix` has a vector in each row; its numbers are some of those of
    `origin` times `factor`, in another order.
    """

    matrix: Tensor
    origin: Tensor
    factor: float


class AttentionParts(NamedTuple):
    """One attention: in a module, `weights` (..., T, S) times values.

    `scale` is what it multiplies a query times a key with. `mixed` is its
    result, and `joined` that, moved, as the first step after it reads it.
    `biases` are what is added to the scores, but for masks, and `sink` says
    whether some weights went to no position.
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


def attentions(subject: Subject, *pushed: int) -> list[AttentionParts]:
    """List the attentions of a run that can be judged, with all positions of
    the inputs `pushed` moved; NotJudgedError when there is none. A product
    with a parameter mixes heads, and no positions."""
    every = all_attentions(subject, *pushed)
    if not every:
        raise NotJudgedError("No attention was found: a softmax of products.")
    parameters: list = getattr(subject.model, "parameters", list)()
    learnt = {p.data_ptr() for p in parameters}
    judged = []
    for x in every:
        if not learnt & {y.origin.data_ptr() for y in (x.q, x.k, x.v)}:
            judged.append(x)
    if not judged:
        says = "Heads are mixed: scores or weights, by a matrix."
        raise NotJudgedError(says)
    return judged


@once
def all_attentions(subject: Subject, *pushed: int) -> list[AttentionParts]:
    """List every attention of a run, in order."""
    with with_noise_added(subject.inputs, slice(None), *pushed) as nudge:
        given = with_sequences(subject, nudge.inputs)
        calls = trace_run(subject, given, keep=True)._calls
    if not pushed:
        recorded = Flow(calls.steps), calls.run.visits
        subject.remembered["recorded_run",] = recorded
    return describe_attentions(Data(calls))


@once
def recorded_run(subject: Subject) -> tuple[Flow, list[Visit]]:
    """Give the steps of a run, joined; and what modules ran."""
    calls = trace_run(subject, subject.given)._calls
    return Flow(calls.steps), calls.run.visits


def trace_run(subject: Subject, given: tuple, keep: bool = False) -> Trace:
    """Trace a run; NotJudgedError where that fails, and the model runs."""
    try:
        inputs, named = subject.handed_on(given)
        ask = partial(trace, subject.model, *inputs, keep=keep, **named)
        return subject.call(ask, ())
    except FailedError as error:
        subject.call(subject.outputs_of, given)
        raise NotJudgedError(f"It cannot be traced: {error}") from error


Roles = list[tuple[bool, bool]]  # of queries, keys and values


@once
def joined_inputs(subject: Subject) -> list[int]:
    """Number the inputs of which each position is one with that of the last,
    as those that are added before the first attention; and the last."""
    first, x = subject.inputs[0], subject.inputs[-1]
    if subject.last != 1 or first.shape[:2] != x.shape[:2]:
        return [subject.last]
    t, joined = x.shape[1], []
    for parts, sides in attention_roles(subject):
        rows, keys = parts.weights.shape[-2:]  # twice T, if they stand in line
        joined.append(t <= rows == keys < 2 * t and all(map(all, sides)))
    return [0, 1] if joined and all(joined) else [1]


def attention_roles(subject: Subject) -> list[tuple[AttentionParts, Roles]]:
    """Tell which sides each attention's queries, keys, values depend on."""
    runs = (all_attentions(subject, *which) for which in ((), (0,), (1,)))
    return [
        (parts, [*zip(differ(parts, source), differ(parts, target))])
        for parts, source, target in zip(*runs)
    ]


def differ(parts: AttentionParts, other: AttentionParts) -> list[bool]:
    """Whether queries, keys and values are others in another run."""
    pairs = (parts.q, other.q), (parts.k, other.k), (parts.v, other.v)
    return [not are_close(x.matrix, y.matrix) for x, y in pairs]


def first_matrix(weights: Tensor) -> Tensor:
    """Take those of the first sentence and head: (..., T, S) -> (T, S)."""
    return weights.reshape(-1, *weights.shape[-2:])[0]


def how_many(every: Sized) -> str:
    """Count attentions in words."""
    return f"{len(every)} attention{'s' * (len(every) > 1)}"


def describe_attentions(data: Data) -> list[AttentionParts]:
    """Describe every attention in what was traced and kept."""
    every = data.attentions()
    ways = [in_one_call if steps.fused else written_out for steps in every]
    return [describe(data, steps) for describe, steps in zip(ways, every)]


def in_one_call(data: Data, steps: AttentionSteps) -> AttentionParts:
    """Describe an attention that is one call."""
    args, kwargs = data.given[steps.mixed]
    q, k, v = (operand(data, steps.mixed, n) for n in range(3))
    scale = kwargs.get("scale") or q.matrix.shape[-1] ** -0.5
    _, _, weights, *_ = fused_parts(args, kwargs)
    masks = kwargs.get("attn_mask"), *args[3:4]
    return AttentionParts(
        path=steps.path or "the model",
        weights=weights,
        q=q,
        k=k,
        v=v,
        scale=scale * q.factor * k.factor,
        mixed=data.kept[steps.mixed][0],
        joined=after_moves(data, steps.mixed),
        biases=biases_among(masks),
    )


def written_out(data: Data, steps: AttentionSteps) -> AttentionParts:
    """Describe an attention of two products with a softmax between."""
    w = steps.way[-1][1] - (data.names[steps.mixed] == "baddbmm")
    v, after = 1 - w, EinsumProduct(data, steps.mixed, w)
    scored = EinsumProduct(data, steps.product, 2)
    q, k = (factor(scored, n, BATCH, OWN[n], SUM_AXES) for n in range(2))
    rows = w, BATCH, OWN[w], SUM_AXES
    weights = after.matrix(as_read(data, *steps.way[-1]), *rows)
    right = after.matrix(by_right_factor(data, steps), *rows)
    keys, queries = (right.amax(i) - right.amin(i) for i in (-1, -2))
    if queries.sum() > keys.sum():  # it differs by query
        q, k = k, q
    mixed = data.kept[steps.mixed][0]
    return AttentionParts(
        path=steps.path or "the model",
        weights=weights,
        q=q,
        k=k,
        v=factor(after, v, BATCH, SUM_AXES, OWN[v]),
        scale=q.factor * k.factor * score_growth(data, steps),
        mixed=after.matrix(mixed, 2, BATCH, OWN[w], OWN[v]),
        joined=after_moves(data, steps.mixed),
        biases=biases_among(added_to_scores(data, steps)),
        sink=data.kept[steps.weights][0].numel() > weights.numel(),
    )


def score_growth(data: Data, steps: AttentionSteps) -> float:
    """How many times larger the scores are than the product."""
    return data.given[steps.product][1].get("alpha", 1) * prod(
        median_ratio(data.kept[i][0], data.read(i, n))
        for i, n in steps.way
        if steps.product < i <= steps.masked
        if data.names[i] in SCALES and not data.masks(i)
    )


def median_ratio(large: Tensor, small: Tensor) -> float:
    """How many times larger the numbers of a tensor are, as a rule."""
    times = (large.double() / small.double()).abs()
    return times[times.isfinite() & (times > 0)].median().item()


def added_to_scores(data: Data, steps: AttentionSteps) -> list[Tensor]:
    """List what is added to the scores."""
    return [
        data.read(i, m)
        for i, n in steps.way
        if data.names[i] in SUMS and i <= steps.masked
        for m in range(len(data.sources[i]))
        if m != n
    ]


def biases_among(masks: Iterable[Any]) -> tuple[Tensor, ...]:
    """Keep the tensors with other numbers than 0 and very small ones."""
    return tuple(
        x
        for x in masks
        if isinstance(x, Tensor) and x.dtype != torch.bool
        if ((x != 0) & (x > -1e3)).any()
    )


def factor(product: EinsumProduct, n: int, *kinds: str) -> Operand:
    """Give a factor, with its axes sorted, and where it was moved from."""
    moved = operand(product.data, product.step, n)
    return moved._replace(matrix=product.matrix(moved.matrix, n, *kinds))


def operand(data: Data, i: int, n: int) -> Operand:
    """Follow what a step reads back to where it was last computed."""
    n += data.names[i] == "baddbmm"
    matrix, factor = as_read(data, i, n), 1.0
    origin, maker = matrix, data.sources[i][n]
    while maker is not None and data.names[maker] in MOVES | SCALES:
        sized = [mark.shape != () for mark in data.steps[maker].reads]
        if sum(sized) > 1:
            break
        origin = data.read(maker, sized.index(True))
        if data.names[maker] in SCALES:
            factor *= median_ratio(data.kept[maker][0], origin)
        maker = data.sources[maker][sized.index(True)]
    return Operand(matrix, origin, factor)


def as_read(data: Data, i: int, n: int) -> Tensor:
    """Give what a product read: as it was made; or as it is by now, if that
    explains the result: something was written into it, as by w[0] *= 2."""
    before, now = data.read(i, n), data.received(i, n)
    if before.equal(now):
        return before
    reads = [data.received(i, m) for m in range(len(data.sources[i]))]
    again, *_ = call_again(data, i, reads)
    return now if are_close(again, data.kept[i][0]) else before


def by_right_factor(data: Data, steps: AttentionSteps) -> Tensor:
    """What would stand at the weights, were the left factor all ones, and
    nothing but moves came after: it differs by the right factor's rows."""
    i, count = steps.product, len(data.sources[steps.product])
    *others, right = (data.read(i, n) for n in range(count))
    products = call_again(data, i, [*map(torch.ones_like, others), right])
    return data.again(*steps.way[-1], {i: products}, MOVES | JOINS)


def after_moves(data: Data, i: int) -> Tensor:
    """Follow a result through its moves to what the next step reads."""
    for j in range(i + 1, len(data.steps)):
        if data.sources[j][:1] == [i]:
            if data.names[j] not in MOVES:
                break
            i = j
    return data.kept[i][0]

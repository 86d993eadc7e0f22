"""What is wrong with a cache, as the attentions of one of its steps show."""

from collections.abc import Callable
from copy import copy
from functools import partial, wraps
from itertools import compress, count
from typing import Any

import torch
from torch import Tensor

from shapewatch.properties.attention_parts import (
    AttentionParts,
    describe_attentions,
)
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.tracing import Trace, trace
from shapewatch.tracing.questions.flow import Data

NO_USE = "new words find {keys} of {end} keys: the cache is not used."
TOO_FEW = (
    "new words find {keys} of {end} keys: part of the cache is not passed on "
    "to the next step."
)
ORDER = (
    "{names} are joined in the wrong order: those of the cache come first, "
    "then the new ones."
)
FROM_ZERO = (
    "positions start at 0 again: number the new words from where the cache "
    "ends."
)
STALE = (
    "{names} in the cache are not those that were computed: something is not "
    "kept, or is overwritten."
)
TOO_NARROW = (
    "the mask covers the new words only and hides part of the cache from "
    "them. They should see all of it: the mask's last row has no zero."
)
TOO_WIDE = "the mask shows new words what it hides from them in a whole run."
BIAS = "what is added to scores for positions starts at 0 again."


def cache_fault(
    subject: Subject, way: Callable, given: tuple, ends: list[int], wrong: int
) -> str:
    """Say why the output `wrong` is another one in pieces that have those
    `ends`, as far as the attentions of the step that gives it tell; or ""."""
    n = next(i for i, end in enumerate(ends) if wrong < end)
    if not n:
        return ""
    start, end = ends[n - 1], ends[n]
    *rest, words = given
    piece = *rest, words[:, start:end]
    by_way = partial(way, ends=ends)
    once = Subject.outputs_of
    asked = (once, given, 0), (by_way, given, n), (once, piece, 0)
    try:
        at_once, now, alone = (call_attentions(subject, *run) for run in asked)
    except (FailedError, NotJudgedError):
        return ""
    for triple in zip(at_once, now, alone):
        if says := attention_fault(*triple, start, end):
            return says
    return ""


def call_attentions(
    subject: Subject, ask: Callable, given: tuple, nth: int
) -> list[AttentionParts]:
    """Find the attentions of the nth call of the model, as it is asked."""
    traces, model, calls = list[Trace](), subject.model, count()

    @wraps(getattr(model, "forward", model))  # it has its parameters
    def asked(*inputs: Any, **known: Any) -> Any:
        if next(calls) != nth:
            return model(*inputs, **known)
        traces.append(trace(model, *inputs, keep=True, **known))
        return traces[0].result

    other: Any = copy(subject)
    other.model = asked
    subject.call(partial(ask, other), given)
    return describe_attentions(Data(traces[0]._calls)) if traces else []


def attention_fault(
    at_once: AttentionParts,
    now: AttentionParts,
    alone: AttentionParts,
    start: int,
    end: int,
) -> str:
    """Say what is wrong with the attention of words `start` to `end`, which
    follow a cache: beside a whole run, and one of these words alone."""
    keys, values = now.k.matrix, now.v.matrix
    right = [x[..., :end, :] for x in (at_once.k.matrix, at_once.v.matrix)]
    asks = at_once.q.matrix[..., start:end, :]
    if (n := keys.shape[-2]) < end:
        says = NO_USE if n == end - start else TOO_FEW
        return says.format(keys=n, end=end)
    pairs = [*zip((keys[..., :end, :], values[..., :end, :]), right)]
    if any(x.shape != y.shape for x, y in pairs):
        return ""
    if names := named_where([is_reordered(x, y) for x, y in pairs]):
        return ORDER.format(names=names)
    if not near(now.q.matrix, asks):
        return FROM_ZERO if near(now.q.matrix, alone.q.matrix) else ""
    new, right_keys = keys[..., start:end, :], right[0][..., start:, :]
    if near(new, alone.k.matrix) and not near(new, right_keys):
        return FROM_ZERO
    if names := named_where([not near(x, y) for x, y in pairs]):
        return STALE.format(names=names)
    return mask_fault(at_once.weights[..., start:end, :end], now.weights, end)


def mask_fault(right: Tensor, weights: Tensor, end: int) -> str:
    """Say what a mask hides or shows in a step, (..., T, S), beside what it
    does in a whole run, where queries, keys and values are the same."""
    seen = weights[..., :end]
    if seen.shape != right.shape or near(seen, right):
        return ""
    hidden = seen == 0
    if (hidden & (right != 0)).any():
        return TOO_NARROW
    shown = (~hidden & (right == 0)).any() or weights[..., end:].any()
    return TOO_WIDE if shown else BIAS


def named_where(wrong: list[bool]) -> str:
    """Name keys or values, or both, of which something is so; or ""."""
    return " and ".join(compress(("keys", "values"), wrong))


def near(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors are the same, but for rounding."""
    far = (x - y).abs().max() if x.shape == y.shape else torch.inf
    return bool(far <= 1e-3 * y.abs().mean())


def is_reordered(x: Tensor, y: Tensor) -> bool:
    """Whether x has the vectors of y in another order, perhaps rotated."""
    lengths, others = x.norm(dim=-1), y.norm(dim=-1)
    same = near(lengths.sort().values, others.sort().values)
    return same and not near(lengths, others)

"""Heads: each has weights of its own, and an effect."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import combinations, permutations
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from shapewatch.properties.attention import (
    AttentionParts,
    all_attentions,
    attentions,
    how_many,
)
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.gradients import largest_size, output_gradients
from shapewatch.properties.perturbation import are_close
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    once,
    with_random_weights,
)
from shapewatch.tracing.record.shared import QUESTIONS, counted

HeadFault = tuple[str, str, str]


def kv_sharing_mismatch(
    path: str, keys: Tensor, values: Tensor
) -> HeadFault | None:
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


def duplicate_attentions(subject: Subject) -> Iterator[HeadFault]:
    """Find attentions that are computed twice, whatever the weights are."""
    found = duplicate_paths(subject)
    if found and duplicate_paths(with_random_weights(subject, 0)) == found:
        says = "two attentions have the same queries, keys and values. Is one "
        yield found[0], f"{says}module in a list twice?", UNUSUAL


@once
def duplicate_paths(subject: Subject) -> list[str]:
    """Name the modules of attentions that are computed twice."""
    pairs = combinations(attentions(subject), 2)
    return [
        one.path
        for one, other in pairs
        if one.path == other.path
        and all(
            x.matrix.equal(y.matrix)
            for x, y in zip((one.q, one.k, one.v), (other.q, other.k, other.v))
        )
    ]


JOIN = "Look at how heads are joined: all of them, side by side."
DRAW_HINT = "Look at how they are made: is one head expanded, or copied?"


@check
def distinct_heads(subject: Subject) -> Verdict:
    """See whether each head of an attention has weights of its own, and
    moves the outputs in a way of its own.

    Vaswani et al. (2017), section 3.2.2. Heads that share keys and values,
    as in grouped-query attention, have queries of their own.
    """
    found = [
        one for one in attentions(subject) if len(by_head(subject, one)) > 1
    ]
    if not found:
        for path, says, level in duplicate_attentions(subject):
            return False, f"In {path}, {says}", torch.zeros(1, 1), level
        raise NotJudgedError("No attention has several heads.")
    sizes = [
        g.abs().amax((1, 2, 3)) for g in mixed_gradients(subject).values()
    ]
    seen = torch.nn.utils.rnn.pad_sequence(sizes or [torch.zeros(1)], True)
    for judge in (
        heads_without_effect,
        equal_heads,
        mismatched_kv_heads,
        interchangeable_heads,
        one_vector,
        duplicate_attentions,
    ):
        for path, says, level in judge(subject):
            return False, f"In {path}, {says}", seen, level
    says = "Each head has weights of its own and an effect"
    return True, f"{says}, in {how_many(found)}.", seen


def by_head(
    subject: Subject, one: AttentionParts, x: Tensor | None = None
) -> Tensor:
    """Put heads first: (..., T, D) -> (H, N, T, D); of the weights, or what
    else an attention has."""
    x = one.weights if x is None else x
    rows = len(subject.inputs[-1])
    if x.ndim == 3 and len(x) % rows == 0:
        x = x.unflatten(0, (rows, -1))
    return x[(None,) * (4 - x.ndim)].flatten(1, -3).transpose(0, 1)


def heads_without_effect(subject: Subject) -> Iterator[HeadFault]:
    """Find attentions of which some heads move no output, and some do."""
    for i in heads_without_gradient(subject):
        if all(
            i in heads_without_gradient(with_random_weights(subject, seed))
            for seed in range(2)
        ):
            one = attentions(subject)[i]
            dead = heads_without_gradient(subject)[i]
            count = len(mixed_gradients(subject)[i])
            says = f"head {dead[0]} of {count} moves no output. {JOIN}"
            yield one.path, says, BROKEN


@once
def heads_without_gradient(subject: Subject) -> dict[int, list[int]]:
    """Find the attentions that some heads without an effect, and which
    heads."""
    found = {}
    for i, g in mixed_gradients(subject).items():
        dead = ~g.flatten(1).any(1)
        if dead.any() and not dead.all():
            found[i] = dead.nonzero()[:, 0].tolist()
    return found


def equal_heads(subject: Subject) -> Iterator[HeadFault]:
    """Find attentions that have one head twice."""
    for i, pair in twins(subject).items():
        path = attentions(subject)[i].path
        says = f"heads {pair[0]} and {pair[1]} have the same queries, keys "
        others = (with_random_weights(subject, seed) for seed in range(2))
        if all(twins(other).get(i) == pair for other in others):
            yield path, f"{says}and weights. {DRAW_HINT}", BROKEN
        elif not empty(subject, attentions(subject)[i], pair):
            says += "and weights: they began as copies, or one was copied."
            yield path, says, UNUSUAL


@once
def twins(subject: Subject) -> dict[int, tuple[int, int]]:
    """Find the attentions that have two heads with the same queries, keys
    and weights, and which they are."""
    found = {}
    for i, one in enumerate(attentions(subject)):
        parts = [by_head(subject, one, x) for x in (one.weights, one.q.matrix)]
        keys = by_head(subject, one, one.k.matrix)
        whole = len({len(x) for x in parts}) == 1
        for a, b in combinations(range(len(parts[0])) if whole else (), 2):
            groups = [n * len(keys) // len(parts[0]) for n in (a, b)]
            if keys[groups[0]].equal(keys[groups[1]]) and all(
                x[a].equal(x[b]) for x in parts
            ):
                found[i] = a, b
                break
    return found


def mismatched_kv_heads(subject: Subject) -> Iterator[HeadFault]:
    """Find attentions whose heads share keys and values in other ways."""
    for one in attentions(subject):
        both = (by_head(subject, one, x.matrix) for x in (one.k, one.v))
        yield from filter(None, [kv_sharing_mismatch(one.path, *both)])


def empty(
    subject: Subject, one: AttentionParts, pair: tuple[int, int]
) -> bool:
    """Whether two heads are alike because there is nothing in them."""
    q, k = (by_head(subject, one, x.matrix) for x in (one.q, one.k))
    return not (q[pair[0]].any() and k.any())


def interchangeable_heads(subject: Subject) -> Iterator[HeadFault]:
    """Find attentions whose heads move the outputs in one way: as they do
    where their mean or their sum is taken."""
    for i, g in mixed_gradients(subject).items():
        if len(g) > 1 and are_one(g):
            says = "all heads move the outputs in one way: is their mean or "
            says += f"sum taken? {JOIN}"
            yield attentions(subject)[i].path, says, UNUSUAL


def are_one(pulls: Tensor) -> bool:
    """Whether all heads (H, ...) have one gradient, and have any."""
    apart = (pulls - pulls[:1]).abs().max()
    return bool(pulls.any() and apart <= 1e-5 * pulls.abs().max())


def one_vector(subject: Subject) -> Iterator[HeadFault]:
    """Find attentions whose queries, keys and values are the same vectors,
    whatever the weights are."""
    found = same_vectors(subject)
    if found and same_vectors(with_random_weights(subject, 0)) == found:
        says = "queries, keys and values are the same vectors. Is one matrix "
        says += "taken for all three?"
        yield found[0], says, UNUSUAL


def same_vectors(subject: Subject) -> list[str]:
    """Name the attentions whose queries, keys and values are the same."""
    return [
        one.path
        for one in attentions(subject)
        if one.q.matrix.any()
        and one.k.matrix.equal(one.q.matrix)
        and one.v.matrix.equal(one.q.matrix)
    ]


class RunGradients(NamedTuple):
    """Gradients of one run: for what each attention mixed, by its number;
    the largest for each leaf; those for what stands in attentions; and of
    each matrix, which rows have one."""

    mixed: dict[int, Tensor]
    sizes: dict[Tensor, float]
    inside: dict[Tensor, Tensor]
    rows: dict[Tensor, Tensor]


def mixed_gradients(subject: Subject) -> dict[int, Tensor]:
    """Draw gradients for what each attention mixed: (H, N, T, D)."""
    found, made = attentions(subject), run_gradients(subject).mixed
    return {i: by_head(subject, found[i], g) for i, g in made.items()}


@once
def run_gradients(subject: Subject) -> RunGradients:
    """Draw gradients for all that outputs depend on: also for 0 that is added
    to what attentions mixed, if the model bears that."""
    try:
        found = attentions(subject)
    except NotJudgedError:
        found = []
    with suppress(FailedError):
        return of_run(subject, found)
    return of_run(subject, [])


def of_run(subject: Subject, found: list[AttentionParts]) -> RunGradients:
    """Run with 0 added to what attentions mixed, and draw gradients."""
    zeros, model = Zeros(found), subject.model

    def run(*given: Any) -> Any:
        with QUESTIONS, counted("recorders"), zeros:
            return model(*given)

    inner = in_attentions(subject)

    def take(x: Tensor, g: Tensor) -> tuple[float, Any, Any]:
        rows = g.any(1) if g.ndim == 2 else None
        whole = g if x in inner | {*zeros.added.values()} else None
        return largest_size(x, g), rows, whole

    ask = partial(output_gradients, run, take=take)
    made = subject.call(ask, subject.given)
    mixed = {i: made.pop(x)[2] for i, x in zeros.added.items() if x in made}
    sizes = {x: size for x, (size, _, _) in made.items()}
    inside = {x: g for x, (_, _, g) in made.items() if g is not None}
    rows = {x: r for x, (_, r, _) in made.items() if r is not None}
    return RunGradients(mixed, sizes, inside, rows)


def in_attentions(subject: Subject) -> set[Tensor]:
    """Find the parameters of attentions; and those that hold a matrix for
    each head, wherever they stand."""
    try:
        paths = tuple(f"{one.path}." for one in all_attentions(subject))
    except NotJudgedError:
        return set()
    every: Any = getattr(subject.model, "named_parameters", list)()
    return {p for name, p in every if name.startswith(paths) or p.ndim == 3}


class Zeros(TorchFunctionMode):
    """Add 0 to what attentions mix, as soon as it is there; `added` are the
    zeros, in the order of axes that a Mixing has."""

    def __init__(self, found: list[AttentionParts]):
        super().__init__()
        self.found, self.added = found, dict[int, Tensor]()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for i, one in enumerate(self.found):
            if i not in self.added and (order := order_of(result, one.mixed)):
                zeros = torch.zeros_like(one.mixed).requires_grad_()
                self.added[i] = zeros
                return (result.permute(order) + zeros).permute(
                    *torch.tensor(order).argsort().tolist()
                )
        return result


def order_of(x: Any, mixed: Tensor) -> tuple[int, ...] | None:
    """In which order the axes of a tensor are those of what was mixed; None
    where it is something else."""
    if not isinstance(x, Tensor) or sorted(x.shape) != sorted(mixed.shape):
        return None
    last = (-1,) * x.ndim  # most others part there already
    for order in permutations(range(x.ndim)):
        moved = x.detach().permute(order)
        fits = moved.shape == mixed.shape and are_close(
            moved[last], mixed[last]
        )
        if fits and are_close(moved, mixed):
            return order
    return None

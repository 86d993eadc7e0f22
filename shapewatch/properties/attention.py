"""Attention: each of a run, as matrices with a vector in each row; its
weights, its scale, and where its elements go."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sized
from functools import partial
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.perturbation import are_close, with_noise_added
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    once,
    with_sequences,
)
from shapewatch.properties.versions import with_random_weights
from shapewatch.tracing import Trace, trace
from shapewatch.tracing.questions.attention import (
    JOINS,
    MOVES,
    SCALES,
    SUMS,
    AttentionSteps,
    Data,
    Flow,
    call_again,
    fused_parts,
)
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.record.tensors import tensors
from shapewatch.tracing.record.visits import Visit


def bias_at(data: Data, steps: AttentionSteps) -> int:
    """Find the step that adds what no product made; or the softmax."""
    for i, n in steps.way:
        if data.names[i] in SUMS and i <= steps.masked:
            others = [m for m in range(len(data.sources[i])) if m != n]
            biases = [m for m in others if is_bias(data.read(i, m))]
            if any(is_fixed(data, data.sources[i][m]) for m in biases):
                return i
    return steps.weights


def is_fixed(data: Data, j: int | None) -> bool:
    """Whether nothing that learns had a part in what a step made."""
    if j is None:
        return False
    given = zip(data.sources[j], tensors(data.given.get(j, ())))
    return all(
        not x.requires_grad if i is None else is_fixed(data, i)
        for i, x in given
    )


def score_growth(
    data: Data, steps: AttentionSteps, start: int | None = None
) -> float:
    """How many times larger scores are than the product, or than later."""
    begin = steps.product if start is None else start
    alpha = 1 if start else data.given[steps.product][1].get("alpha", 1)
    return alpha * prod(
        median_ratio(data.kept[i][0], data.read(i, n))
        for i, n in steps.way
        if begin < i <= steps.masked
        if data.names[i] in SCALES and not data.masks(i)
    )


def added_to_scores(data: Data, steps: AttentionSteps) -> Iterator[Tensor]:
    """Find what is added to the scores."""
    for i, n in steps.way:
        if data.names[i] in SUMS and i <= steps.masked:
            reads = range(len(data.sources[i]))
            yield from (data.read(i, m) for m in reads if m != n)


def is_bias(x: Tensor) -> bool:
    """Whether anything but 0 and what hides is in a tensor of decimals."""
    return bool(((x != 0) & (x > -1e3)).any()) and x.dtype != torch.bool


def median_ratio(large: Tensor, small: Tensor) -> float:
    """How many times larger the numbers of a tensor are, as a rule."""
    times = (large.double() / small.double()).abs()
    return times[times.isfinite() & (times > 0)].median().item()


# Whose an axis is: the left factor's, the right one's, the result's.
BATCH, SUM_CALLS, OWN = "LRM", "LR", ("LM", "RM")


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

    @property
    def size(self) -> int:
        """The channels of a query: D."""
        return self.q.matrix.shape[-1]


def attentions(subject: Subject, *pushed: int) -> list[AttentionParts]:
    """Give every attention of a run, in order, with all positions of the
    inputs `pushed` moved; NotJudgedError when there is none."""
    every = all_attentions(subject, *pushed)
    if not every:
        raise NotJudgedError("No attention was found: a softmax of products.")
    mixing = [
        parts for parts in every if not is_learnt(subject, parts.v.origin)
    ]
    if not mixing:
        raise NotJudgedError("Heads are mixed between softmax and values.")
    return mixing


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


def attention_roles(subject: Subject) -> list[tuple[AttentionParts, Roles]]:
    """Tell for each attention whether its queries, keys and values depend on
    the source, and on the target."""
    runs = (all_attentions(subject, *which) for which in ((), (0,), (1,)))
    return [
        (parts, [*zip(differ(parts, source), differ(parts, target))])
        for parts, source, target in zip(*runs)
    ]


@once
def all_attentions(subject: Subject, *pushed: int) -> list[AttentionParts]:
    """Find every attention of a run in what was traced of it."""
    with with_noise_added(subject.inputs, slice(None), *pushed) as nudge:
        given = with_sequences(subject, nudge.inputs)
        calls = trace_run(subject, given, keep=True)._calls
    if not pushed:
        subject.remembered["recorded_run",] = calls.steps, calls.run.visits
    return describe_attentions(Data(calls))


@once
def recorded_run(subject: Subject) -> tuple[list[Step], list[Visit]]:
    """List the calls of a run, and what modules ran."""
    calls = trace_run(subject, subject.given)._calls
    return calls.steps, calls.run.visits


@once
def flow_of(subject: Subject) -> Flow:
    """Join the steps of a run by what they read."""
    return Flow(recorded_run(subject)[0])


def visits_of(subject: Subject) -> list[Visit]:
    """List what modules ran, in the run whose flow that is."""
    return recorded_run(subject)[1]


def describe_attentions(data: Data) -> list[AttentionParts]:
    """Find every attention in what was traced and kept."""
    every = data.attentions()
    ways = [in_one_call if steps.fused else written_out for steps in every]
    return [describe(data, steps) for describe, steps in zip(ways, every)]


def differ(parts: AttentionParts, other: AttentionParts) -> list[bool]:
    """Whether queries, keys and values are others in another run."""
    pairs = (parts.q, other.q), (parts.k, other.k), (parts.v, other.v)
    return [not are_close(x.matrix, y.matrix) for x, y in pairs]


def is_learnt(subject: Subject, x: Tensor) -> bool:
    """Whether a tensor is a parameter: such values only mix heads."""
    weights: list = getattr(subject.model, "parameters", list)()
    return x.data_ptr() in {p.data_ptr() for p in weights}


class EinsumProduct:
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
        moved = operand(self.data, self.step, n)
        return moved._replace(matrix=self.matrix(moved.matrix, n, *kinds))


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


def in_one_call(data: Data, steps: AttentionSteps) -> AttentionParts:
    """Describe an attention that is one call."""
    args, kwargs = data.given[steps.mixed]
    q, k, v = (operand(data, steps.mixed, n) for n in range(3))
    flex = any(map(callable, args[3:4]))
    scale = args[5] if flex else kwargs.get("scale")
    scale = (scale or q.matrix.shape[-1] ** -0.5) * q.factor * k.factor
    _, _, weights, *_ = fused_parts(args, kwargs)
    masks = kwargs.get("attn_mask"), *args[3:4]
    biases = tuple(x for x in masks if isinstance(x, Tensor) and is_bias(x))
    mixed, joined = data.kept[steps.mixed][0], after_moves(data, steps.mixed)
    path = steps.path or "the model"
    return AttentionParts(path, weights, q, k, v, scale, mixed, joined, biases)


def written_out(data: Data, steps: AttentionSteps) -> AttentionParts:
    """Describe an attention of two products with a softmax between."""
    w = steps.way[-1][1] - (data.names[steps.mixed] == "baddbmm")
    v, after = 1 - w, EinsumProduct(data, steps.mixed, w)
    values = after.factor(v, BATCH, SUM_CALLS, OWN[v])
    mixed = after.matrix(data.kept[steps.mixed][0], 2, BATCH, OWN[w], OWN[v])
    scored = EinsumProduct(data, steps.product, 2)
    q, k = (scored.factor(n, BATCH, OWN[n], SUM_CALLS) for n in range(2))
    rows = w, BATCH, OWN[w], SUM_CALLS
    weights = after.matrix(as_read(data, *steps.way[-1]), *rows)
    right = after.matrix(by_right_factor(data, steps), *rows)
    keys, queries = (right.amax(i) - right.amin(i) for i in (-1, -2))
    if queries.sum() > keys.sum():  # it differs by query
        q, k = k, q
    scale = q.factor * k.factor * score_growth(data, steps)
    path, joined = steps.path or "the model", after_moves(data, steps.mixed)
    more = (
        (*filter(is_bias, added_to_scores(data, steps)),),
        data.kept[steps.weights][0].numel() > weights.numel(),
        talks(data, steps.product),
        score_growth(data, steps, bias_at(data, steps)),
    )
    return AttentionParts(
        path, weights, q, k, values, scale, mixed, joined, *more
    )


def talks(data: Data, i: int) -> bool:
    """Whether a product is of scores, and of what no step has made: they are
    the product of what steps have made."""
    makers = [j for j in data.sources[i] if j is not None]
    scores = data.found.get(makers[0]) if len(makers) == 1 else None
    return scores is not None and None not in data.sources[scores.product]


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


ONE_HAS_ALL = (
    "In nearly every row of each attention, one position has more than 99% of "
    "the weight. Are the weights of queries and keys too large?"
)


BRIEF = torch.bfloat16  # the format with the fewest digits


@check
def weight_rows(subject: Subject) -> Verdict:
    """See whether the weights that mix the values sum to 1 in each row.

    Vaswani et al. (2017), equation 1.
    """
    every = attentions(subject)
    for parts in every:
        sums = parts.weights.double().sum(-1)
        near = max(1e-3, 2 * torch.finfo(parts.weights.dtype).eps)
        wrong = ~((sums - 1).abs() < near) & ~nobody(subject, sums)
        if wrong.any():
            row, share = wrong.nonzero()[0].tolist(), sums[wrong][0].item()
            says = f"In {parts.path}, row {row} of the weights sums to "
            matrix = first_matrix(parts.weights)
            if parts.sink and sums[wrong].max() < 1:
                says += f"{share:.2f}: a sink, which is no position, has the "
                return False, f"{says}rest.", matrix, UNUSUAL
            if (sums[wrong] - 1).abs().max() < 2 * torch.finfo(BRIEF).eps:
                says += f"{share:.4f}, as numbers of 16 bits do: take the "
                return False, f"{says}softmax in float32.", matrix, UNUSUAL
            says += f"{share:.2f}. Look at the axis of the softmax, at what "
            says += "is done after it, and whether that row has anything to "
            return False, f"{says}attend to.", matrix
    says = f"Each row of weights sums to 1, in {how_many(every)}."
    return True, says, first_matrix(every[0].weights)


@check
def score_scale(subject: Subject) -> Verdict:
    """See whether queries and keys of variance 1 would give scores of
    variance 1: a product of D of them has variance D.

    Vaswani et al. (2017), section 3.2.1, footnote 4.
    """
    every = [x for x in attentions(subject) if not x.talking]
    if not every:
        raise NotJudgedError("Heads are mixed between scores and softmax.")
    scaled = [x for x in every if not of_one_length(x)]
    if not scaled:
        says = "Queries and keys have one length: their scale is learned."
        raise NotJudgedError(says)
    variances = [parts.scale**2 * parts.size for parts in scaled]
    wrong = [x for x, v in zip(scaled, variances) if not 0.8 < v < 1.25]
    if not wrong:
        return of_right_scale(subject, scaled, torch.tensor([variances]))
    reasons = [otherwise_scaled(parts) for parts in wrong]
    most = sum(map(bool, reasons)) * 2 > len(wrong)
    i = [bool(x) for x in reasons].index(most)
    parts, reason = wrong[i], reasons[i]
    size = parts.size
    says = (
        f"In {parts.path}, queries and keys of variance 1 would give scores "
        f"of variance {parts.scale**2 * size:.2f}: scores are the product "
        f"times {parts.scale:.2f}, where 1/√{size} is {size**-0.5:.2f}."
    )
    if most:
        return False, says + reason, torch.tensor([variances]), UNUSUAL
    return False, says, torch.tensor([variances])


def of_right_scale(
    subject: Subject, scaled: list[AttentionParts], variances: Tensor
) -> Verdict:
    """Judge attentions whose scores are scaled: weights should be spread."""
    if all(map(one_is_all, attentions(subject))):
        return False, ONE_HAS_ALL, variances, UNUSUAL
    says = "Queries and keys of variance 1 would give scores of variance 1"
    return True, f"{says}, in {how_many(scaled)}.", variances


def one_is_all(parts: AttentionParts) -> bool:
    """Whether one position has all weight, where there are several."""
    several = (parts.weights > 0).sum(-1) > 2
    most = parts.weights.amax(-1)[several]
    return len(most) > 9 and (most > 0.99).float().mean().item() > 0.9


def otherwise_scaled(parts: AttentionParts) -> str:
    """Say what makes up for a scale, if something does; or ""."""
    size, v = parts.size, parts.scale**2
    q, k = (x.matrix.square().mean().item() for x in (parts.q, parts.k))
    apart = max(q, k) / max(min(q, k), 1e-30)
    if 0.9 < v < 1.1 and size > 3 and size / 2 < apart < 2 * size:
        return " Here queries or keys are smaller by just that."
    if v * size > 1 and v * size * q * k < 0.1:
        return f" Here their variance is only {v * size * q * k:.1g}, though."
    if parts.biases and any(abs(n * v * size - 1) < 0.02 for n in (2, 3)):
        return " Here the scores are a sum, of which that is a part."
    return ""


def of_one_length(parts: AttentionParts) -> bool:
    """Whether queries have one length, and keys: cosine attention."""
    sizes = [x.matrix.norm(dim=-1).flatten() for x in (parts.q, parts.k)]
    alike = all(len(x) > 1 and x.std() < 1e-3 * x.mean() for x in sizes)
    usual = parts.size**0.5
    return alike and all(abs(x.mean() / usual - 1) > 0.1 for x in sizes)


@check
def provenance(subject: Subject) -> Verdict:
    """See whether splitting and joining heads keeps every element at its
    position: by its value, each is followed to where it came from.

    A head's query is the same channels of one position, and a joined row is
    all heads of one position.
    """
    origins, flow = [], flow_of(subject)
    if says := transposed_weight(flow):
        return False, says, torch.zeros(1, 1)
    every = attentions(subject, *range(subject.last + 1))  # no rows alike
    if says := summed_heads(flow) or one_matrix(subject, every):
        return False, says, torch.zeros(1, 1), UNUSUAL
    for parts in every:
        splits = zip(
            ("queries", "keys", "values"), (parts.q, parts.k, parts.v)
        )
        moves = {f"split {name}": split_in_order(x) for name, x in splits}
        moves["joined heads"] = joined_in_order(parts)
        for what, move in moves.items():
            origins += [move.positions.nan_to_num(-1).long()] if move else []
            if move and not move.in_order:
                says = (
                    f"In {parts.path}, the {what} mix positions or channels. "
                    "A view or reshape moves no element: transpose the axes "
                    "first, and then merge them."
                )
                return False, says, origins[-1]
    if not origins:
        raise NotJudgedError("No heads are split or joined that can be seen.")
    says = f"{len(origins)} splits and joins keep each element in its place."
    return True, says, origins[-1]


def transposed_weight(flow: Flow) -> str:
    """Say which matrix of weights a view takes for its transpose, or ""."""
    for i, step in enumerate(flow.steps):
        if flow.names[i] in ("view", "reshape") and flow.sources[i] == [None]:
            x, y = step.reads[0].shape, step.makes[0].shape
            if len(x) == 2 and x == y[::-1] and min(x) > 1 and x != y:
                place = step.visit.path or "the model"
                return (
                    f"In {place}, a matrix {(*x,)} is viewed as {(*y,)}. A "
                    "view moves no element: transpose it."
                )
    return ""


def summed_heads(flow: Flow) -> str:
    """Say in which module mixed heads are summed up; or ""."""
    for at in (parts.mixed for parts in flow.attentions()):
        for j in range(at + 1, len(flow.steps)):
            if flow.sources[j][:1] != [at]:
                continue
            step, at = flow.steps[j], j
            axes = [len(x.shape) for x in (*step.reads[:1], *step.makes[:1])]
            if flow.names[j] in ("sum", "mean") and axes[0] > axes[1]:
                return (
                    f"In {step.visit.path or 'the model'}, heads are added "
                    "up: is their mean or sum taken? Look at how heads are "
                    "joined: all of them, side by side."
                )
            if flow.names[j] not in MOVES:
                break
    return ""


def one_matrix(subject: Subject, every: list[AttentionParts]) -> str:
    """Say where queries, keys and values are the same vectors, whatever the
    weights are: those of copies begin alike. Or ""."""
    same = same_vectors(every)
    if not same:
        return ""
    other = with_random_weights(subject, 0)
    if same_vectors(attentions(other, *range(subject.last + 1))) != same:
        return ""
    return (
        f"In {same[0]}, queries, keys and values are the same vectors. Is one "
        "matrix taken for all three?"
    )


def same_vectors(every: list[AttentionParts]) -> list[str]:
    """Name the attentions whose queries, keys and values are the same."""
    return [
        parts.path
        for parts in every
        if parts.q.matrix.any()
        and parts.q.matrix.equal(parts.k.matrix)
        and parts.q.matrix.equal(parts.v.matrix)
    ]


def nobody(subject: Subject, sums: Tensor) -> Tensor:
    """Which rows (..., T) may be empty: padding that attends to nothing."""
    padding = torch.zeros_like(sums, dtype=torch.bool)
    for real in subject.real:
        heads, rest = divmod(sums.numel(), real.numel())
        if real.shape[1] == sums.shape[-1] and not rest:
            shared = ~real.repeat_interleave(heads, 0)
            padding |= shared.view(sums.shape)
    return padding & ~(sums > 0)


def first_matrix(weights: Tensor) -> Tensor:
    """Take those of the first sentence and head: (..., T, S) -> (T, S)."""
    return weights.reshape(-1, *weights.shape[-2:])[0]


def how_many(every: Sized) -> str:
    """Count attentions in words."""
    return f"{len(every)} attention{'s' * (len(every) > 1)}"


class Move(NamedTuple):
    """Whether elements stayed in order, and the position that each of the
    first sentence came from: (T, D) of a head, or (T, C)."""

    in_order: bool
    positions: Tensor


def element_origins(
    elements: Tensor, source: Tensor, factor: float
) -> Tensor | None:
    """Find where in the flat source each element found elsewhere stood: NaN
    for values that occur twice there. None when values are missing."""
    wanted = elements.double().contiguous() / factor
    numbers, places = source.double().flatten().sort()
    right = torch.searchsorted(numbers, wanted).clamp(1, len(numbers) - 1)
    nearer = wanted - numbers[right - 1] < numbers[right] - wanted
    nearest = right - nearer.long()
    if not torch.allclose(numbers[nearest], wanted, rtol=1e-4, atol=1e-6):
        return None
    twins = numbers.diff() < 1e-9
    twice = pad(twins, (1, 0)) | pad(twins, (0, 1))
    return places.double().masked_fill(twice, torch.nan)[nearest]


def split_in_order(operand: Operand) -> Move | None:
    """Whether vectors of a head (..., T, D) are the same channels of row
    after row of the projection (B, T, C); None where it cannot be told."""
    ways = [
        is_in_order(operand.matrix, x, operand.factor)
        for x in both_ways(operand.origin)
    ]
    return next((way for way in ways if way and way.in_order), ways[0])


def both_ways(source: Tensor) -> list[Tensor]:
    """Take a projection as (B, T, C), and as (B, C, T)."""
    return [source, source.mT] if source.ndim == 3 else [source]


def is_in_order(matrix: Tensor, source: Tensor, factor: float) -> Move | None:
    """The same, of a projection (B, T, C)."""
    split = source.ndim == 3 <= matrix.ndim
    origins = element_origins(matrix, source, factor) if split else None
    if origins is None:
        return None
    rows, channels = origins // source.shape[-1], origins % source.shape[-1]
    later = ~(rows.diff(dim=-2) <= 0)
    right = (
        equal_along(rows, -1) and equal_along(channels, -2) and mostly(later)
    )
    return Move(right, first_matrix(rows % source.shape[1]))


def joined_in_order(parts: AttentionParts) -> Move | None:
    """Whether each joined row (..., C) is all heads (..., T, D) at one
    position, in the same order at each; None where it cannot be told."""
    if parts.joined.shape == parts.mixed.shape:
        return None
    ways = [rows_in_order(x, parts.mixed) for x in both_ways(parts.joined)]
    return next((way for way in ways if way and way.in_order), ways[0])


def rows_in_order(joined: Tensor, mixed: Tensor) -> Move | None:
    """The same, of joined rows (..., C)."""
    *_, t, d = mixed.shape
    origins = element_origins(joined.flatten(0, -2), mixed, 1.0)
    if origins is None:
        return None
    heads, positions = origins // (t * d), origins // d % t
    channels = (heads * d + origins % d) % joined.shape[-1]
    right = equal_along(positions, -1) and equal_along(channels, 0)
    return Move(right, positions[:t])


def equal_along(places: Tensor, axis: int) -> bool:
    """Whether places are the same along an axis; NaN is any place."""
    usual = places.nanmedian(axis, keepdim=True).values
    return mostly(~((places - usual).abs() > 0))


def mostly(right: Tensor) -> bool:
    """Whether something is right, but for a few values alike by chance."""
    return right.numel() == 0 or right.double().mean().item() > 0.98

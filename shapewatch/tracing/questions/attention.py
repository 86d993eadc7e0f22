"""Attention, found by following the data: scores, mask, softmax, values.

Any layout will do, as long as queries, keys and values are multiplied as
matrices (or by einsum, or all in one call), and not by a sum of x * y.
"""

from collections import ChainMap
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from shapewatch.tracing.axes.names import Axis, shape_text
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.record.recorder import Step, sources_of
from shapewatch.tracing.record.tensors import tensors

FUSED_CALL = "scaled_dot_product_attention"
# Calls by name, without the underscores of operators and of what writes in
# place: __mul__, mul_.
PRODUCTS = {"matmul", "mm", "bmm", "baddbmm", "einsum"}
SCALES = {"mul", "rmul", "imul", "multiply"}
SCALES |= {"div", "truediv", "itruediv", "divide"}
SUMS = {"add", "radd", "iadd", "sub", "isub", "subtract"}
MASKS = {"masked_fill", "where"} | SUMS | SCALES
MOVES = {"view", "view_as", "reshape", "flatten", "unflatten", "contiguous"}
MOVES |= {"transpose", "permute", "T", "mT", "t", "swapaxes", "swapdims"}
MOVES |= {"movedim", "moveaxis", "squeeze", "unsqueeze", "clone", "detach"}
MOVES |= {"chunk", "split", "tensor_split", "unbind", "narrow", "select"}
MOVES |= {"getitem", "index_select", "flip", "roll", "ravel"}
STACKS = {"stack", "cat", "concat"}
JOINS = STACKS | {"expand", "expand_as", "repeat", "pad", "broadcast_to"}
JOINS |= {"repeat_interleave", "tile"}
# All that they read counts: of other calls, such as x.to(scores), the first.
COMBINES = MASKS | STACKS | PRODUCTS
# Elements stay: their type or size may change, and others may join them.
KEEPS = MASKS | MOVES | JOINS | {"to", "type_as", "float", "half", "bfloat16"}
KEEPS |= {"double", "type", "cpu", "cuda", "data", "dropout", "nan_to_num"}
KEEPS |= {"tanh", "clamp", "clip", "clamp_min", "maximum", "minimum"}
KEEPS |= {"reciprocal", "rdiv"}
TOTALS = dict.fromkeys(("sum", "max", "amax", "norm"), "total")
TOTALS |= {"logsumexp": "log total"}
# What a call makes of elements at a stage, alone or with a total of them.
SOFTMAX = {"softmax": "weights", "log_softmax": "logs", "exp": "powers"}
STAGES: dict[tuple[str, ...], dict[str, str]] = {
    ("scores",): SOFTMAX,
    ("shifted",): SOFTMAX,
    ("logs",): {"exp": "weights"},
    ("powers",): {"normalize": "weights"},
    ("total",): {"log": "log total"},
    ("scores", "total"): dict.fromkeys(SUMS, "shifted"),
    ("scores", "log total"): dict.fromkeys(SUMS, "logs"),
    ("powers", "total"): dict.fromkeys(SCALES, "weights"),
}


class AttentionSteps(NamedTuple):
    """One attention: the module that it is in, and the steps of its parts.

    `product` multiplies queries and keys. `scores` is the last step that
    knows nothing of the mask, `masked` the last before the softmax, and
    `weights` the end of the softmax, be it one call or written out, and of
    what makes zeros of rows that have nobody to attend to. `mixed`
    multiplies the weights and the values. Where one call does it all, each
    of them is that call.

    It begins as a product alone, and is followed step by step; `way` then
    leads from the product to `mixed`: who reads what the one before made,
    each as a step and which of the tensors that it reads. `stage` says what
    its elements are so far: scores, with the largest of a row
    subtracted (shifted) or not; powers of e, or logarithms of weights;
    weights; or a total of scores or powers.
    """

    path: str
    product: int
    scores: int
    masked: int
    weights: int
    mixed: int
    way: tuple[tuple[int, int], ...] = ()
    stage: str = "scores"

    @property
    def fused(self) -> bool:
        """Whether one call does it all."""
        return self.product == self.mixed


class Flow:
    """The steps of a run, joined by the `sources` of what they read.

    `found` says how far a product's elements have come at a step, of those
    steps that make such elements.
    """

    def __init__(self, steps: list[Step]):
        self.steps, self.sources = steps, sources_of(steps)
        self.names = list(map(plain_name, steps))
        self.found: dict[int | None, AttentionSteps] = {}
        for i in range(len(steps)):
            if followed := follow_step(self, i):
                self.found[i] = followed

    def arriving(self, i: int) -> dict[int, AttentionSteps]:
        """Which of the tensors that a step reads have a product's elements,
        and how far these have come."""
        count = len(self.sources[i]) if self.names[i] in COMBINES else 1
        sources = enumerate(self.sources[i][:count])
        return {n: self.found[j] for n, j in sources if j in self.found}

    def masks(self, i: int) -> bool:
        """Whether a step puts a mask on scores: it reads something else, of
        more than one number for each head."""
        others = set(range(len(self.sources[i]))) - self.arriving(i).keys()
        sizes = [self.steps[i].reads[n].shape[-2:].numel() for n in others]
        return self.names[i] in MASKS and max(sizes, default=1) > 1

    def empties(self, i: int) -> bool:
        """Whether a step changes rows that a boolean each tells: to zeros,
        where they have nobody to attend to."""
        marks = self.steps[i].reads if self.names[i] in MASKS else []
        rows = [mark for mark in marks if mark.shape[-1:] == (1,)]
        return any(mark.dtype == torch.bool for mark in rows)

    def attentions(self) -> list[AttentionSteps]:
        """Find every attention of a run, in order: a product that reads
        weights that a softmax made of another product."""
        attentions: dict[int, AttentionSteps] = {}  # by their weights
        for i, step in enumerate(self.steps):
            path = step.visit.path
            if step.name == FUSED_CALL:
                attentions[i] = AttentionSteps(path, i, i, i, i, i)
            factors = self.arriving(i) if self.names[i] in PRODUCTS else {}
            for n, factor in factors.items():
                end = factor.weights
                if factor.stage == "weights" and end not in attentions:
                    way = way_to(self, i, n)
                    attentions[end] = factor._replace(
                        path=path, mixed=i, way=way
                    )
        return [attentions[i] for i in sorted(attentions)]


def plain_name(step: Step) -> str:
    """Name a call; the larger of two tensors is none of their totals."""
    name = step.name.strip("_")
    return f"{name}imum" if name == "max" and len(step.reads) > 1 else name


def way_to(flow: Flow, i: int, n: int) -> tuple[tuple[int, int], ...]:
    """Go back from a tensor that a step reads to the product."""
    way, j = [(i, n)], flow.sources[i][n]
    while j is not None and j != flow.found[j].product:
        n = next(iter(flow.arriving(j)))
        way.append((j, n))
        j = flow.sources[j][n]
    return tuple(reversed(way))


def follow_step(flow: Flow, i: int) -> AttentionSteps | None:
    """Follow a product's elements through a step."""
    if flow.names[i] in PRODUCTS:
        return AttentionSteps(flow.steps[i].visit.path, i, i, i, i, i)
    arriving = flow.arriving(i)
    stages = [steps.stage for steps in arriving.values()]
    stage = next_stage(flow.names[i], *stages) if stages else None
    if not stage:
        return None
    steps = next(iter(arriving.values()))._replace(stage=stage)
    if stage == "weights" and (stages[0] != stage or flow.empties(i)):
        return steps._replace(weights=i)
    hidden = flow.masks(i)
    if stage != "scores" and not (stage == "shifted" and hidden):
        return steps
    adds = flow.names[steps.product] == "baddbmm"  # a product and a mask
    clean = steps.scores == steps.masked and not (hidden or adds)
    return steps._replace(masked=i, scores=i if clean else steps.scores)


def next_stage(name: str, now: str, *others: str) -> str | None:
    """Say what a call makes of elements at a stage; None for new ones."""
    joined = [*((now, other) for other in others), (now,)]
    stages = ChainMap(*(STAGES.get(one, {}) for one in joined), TOTALS)
    return stages.get(name, now if name in KEEPS else None)


StepTensors = dict[int, list[Tensor]]  # what some steps made


class Data(Flow):
    """A flow with the values that were kept of it."""

    def __init__(self, calls: Calls):
        super().__init__(calls.steps)
        self.calls, values = calls, calls.run.values
        self.kept, self.given = values.kept, values.given

    def read(self, i: int, n: int) -> Tensor:
        """Give the nth tensor that a step read."""
        j, mark = self.sources[i][n], self.steps[i].reads[n]
        if j is None:
            return self.received(i, n)
        return self.kept[j][self.steps[j].makes.index(mark)]

    def received(self, i: int, n: int) -> Tensor:
        """Give the nth tensor that a step read, as it is by now."""
        return tensors(self.given[i])[n].detach()

    def again(
        self, i: int, n: int, start: StepTensors, names: set[str]
    ) -> Tensor:
        """Give the nth tensor that a step would read, had some steps made
        what `start` has for them.

        What follows them is called again, if its name is in `names`. Other
        calls are left out, and every mask.
        """
        j, mark = self.sources[i][n], self.steps[i].reads[n]
        steps = self.found.get(j)
        if j is None or steps is None or "total" in steps.stage:
            return self.read(i, n)
        output = self.steps[j].makes.index(mark)
        if j in start:
            return start[j][output].clone()
        if j == steps.product:
            return self.read(i, n).clone()
        if self.masks(j) or self.names[j] not in names:
            first = next(iter(self.arriving(j)))
            return self.again(j, first, start, names).expand(mark.shape)
        reads = range(len(self.sources[j]))
        fresh = [self.again(j, m, start, names) for m in reads]
        return call_again(self, j, fresh)[output]


def call_again(data: Data, i: int, reads: list[Tensor]) -> list[Tensor]:
    """Call a step again, with other tensors in its arguments."""
    others = iter(reads)
    args, kwargs = tree_map_only(Tensor, lambda _: next(others), data.given[i])
    results = tensors(data.steps[i].function(*args, **kwargs))
    return [x.detach() for x in results]


RTOL, ATOL = 1e-3, 1e-4


# Matrices (..., n, k) and (..., k, m), and what comes of them: (..., n, m).
Product = tuple[Tensor, ...]


def attention_operands(
    data: Data, steps: AttentionSteps, scores: Tensor, weights: Tensor
) -> tuple[Tensor | None, ...]:
    """Give queries (..., T, D), keys and values (..., S, D), and what the
    weights mix of the values; each None where it cannot be told. S is the
    axis of the weights that is mixed away, their last or the one before;
    where that is not seen, the one along which they sum to 1."""
    if weights.ndim < 2:
        return None, None, None, None
    ways = (scores, weights), (scores.mT, weights.mT)
    for way, shares in ways:
        values, mixed = values_and_mixture(data, steps, shares)
        if values is not None:
            return (*queries_and_keys(data, steps, way), values, mixed)
    turned = not rows_sum_to_1(weights) and rows_sum_to_1(weights.mT)
    return (*queries_and_keys(data, steps, ways[turned][0]), None, None)


def rows_sum_to_1(weights: Tensor) -> bool:
    """Whether each row sums to 1, or to 0 where it has no key."""
    sums = weights.float().sum(-1)
    return bool((((sums - 1).abs() < 1e-3) | (sums == 0)).all())


def queries_and_keys(
    data: Data, steps: AttentionSteps, scores: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Find the queries and keys whose products the scores are: times a
    number, the same for all; or what the model makes of a product."""
    if product := operands_of(data, steps.product):
        left, right, result = product
        sides = left, right.mT
        for rows, columns in (sides, sides[::-1]):
            q = lay_out(rows, scores, -2)
            k = lay_out(columns, scores, -1)
            if q is not None and k is not None:
                same = result.shape == scores.shape
                straight = rows is sides[0] and same
                if straight or scale_between(q, k, scores):
                    return q, k
    return None, None


def scale_between(queries: Tensor, keys: Tensor, scores: Tensor) -> float:
    """Give the number by which products of queries and keys are multiplied
    to be the scores; 0 if there is none."""
    products = queries.double() @ keys.double().mT
    wanted = scores.double()
    square = (products * products).sum()
    share = float((products * wanted).sum() / square) if square else 0.0
    size = float(wanted.abs().max()) if wanted.numel() else 0.0
    same = torch.allclose(share * products, wanted, RTOL, ATOL * size)
    return share if same else 0.0


def values_and_mixture(
    data: Data, steps: AttentionSteps, weights: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Find the values that the weights mix, and what comes of it: what they
    explain, the right way round."""
    if product := operands_of(data, steps.mixed):
        left, right, result = product
        for side in (right, left.mT):
            v = lay_out(side, weights, -1)
            if v is not None:
                heads = weights @ v.to(weights)
                if any(agree(heads, x) for x in (result, result.mT)):
                    return v, heads
    return None, None


def agree(mine: Tensor, theirs: Tensor) -> bool:
    """Whether two tensors hold the same numbers, in the same order."""
    mine, theirs = mine.reshape(-1), theirs.reshape(-1).to(mine)
    same = len(mine) == len(theirs)
    return same and torch.allclose(mine, theirs, RTOL, ATOL)


def lay_out(x: Tensor, like: Tensor, axis: int) -> Tensor | None:
    """Give a matrix the axes in front that another has, and as many rows as
    that has along an axis; None if it does not fit."""
    front, n = like.shape[:-2], like.shape[axis]
    if x.shape[-2] != n:
        return None
    if x.shape[:-2].numel() == front.numel():
        return x.reshape(*front, n, x.shape[-1])
    ahead = reversed(x.shape[:-2]), reversed(front)
    fits = x.ndim <= like.ndim and all(m in (1, n) for m, n in zip(*ahead))
    return x.expand(*front, n, x.shape[-1]) if fits else None


def operands_of(data: Data, i: int) -> Product | None:
    """Give what a step multiplies; None if that is no two matrices."""
    if len(data.sources[i]) < 2:
        return None
    a, b = (data.read(i, n).detach() for n in (-2, -1))
    result = data.kept[i][0]
    if data.names[i] == "einsum":
        return by_letters(data.given[i][0][0], a, b, result)
    return (a, b, result) if min(a.ndim, b.ndim) > 1 else None


def by_letters(
    equation: object, a: Tensor, b: Tensor, result: Tensor
) -> Product | None:
    """Lay the tensors of an einsum out as matrices; None where it is no
    product of matrices."""
    if not isinstance(equation, str):
        return None
    dots = "..." if "..." in equation else ""
    plain = equation.replace(" ", "").replace("...", "")
    inputs, _, out = plain.partition("->")
    first, _, second = inputs.partition(",")
    shared = {*first} & {*second}
    groups = {*first} - shared, shared - {*out}, {*second} - shared
    if any(len(group) != 1 for group in groups):
        return None
    front = "".join(x for x in out if x in shared)
    n, k, m = map("".join, groups)
    ways = (first, n + k, a), (second, k + m, b), (out, n + m, result)
    return tuple(
        torch.einsum(f"{dots}{old}->{dots}{front}{new}", x)
        for old, new, x in ways
    )


class Attention(NamedTuple):
    """One attention of a run.

    `scores` are raw, before any mask; `masked` is what went into the
    softmax, and `weights` what came out. All three have the shape that
    `axes` names, such as (B, H, T, S), and that is the model's own: if it
    transposes its scores, weights sum to 1 along another axis than the last.

    `queries` and `mixed` are (..., T, D), `keys` and `values` (..., S, D),
    with the axes in front that the weights have: matrices whose products the
    scores and the mixture are. Each is None where it cannot be told.
    """

    path: str
    axes: tuple[Axis, ...]
    scores: Tensor
    masked: Tensor
    weights: Tensor
    queries: Tensor | None = None
    keys: Tensor | None = None
    values: Tensor | None = None
    mixed: Tensor | None = None

    def __repr__(self) -> str:
        """Write where it is, and its named shape."""
        where = self.path or "the model"
        return f"attention in {where}: {shape_text(self.axes)}"


def find_attention(calls: Calls) -> list[Attention]:
    """Measure every attention that the data shows, in order.

    Raises ValueError when their values were not kept.
    """
    data = Data(calls)
    return [attention_tensors(one, data) for one in data.attentions()]


def attention_tensors(steps: AttentionSteps, data: Data) -> Attention:
    """Look the three up; or compute them again, where one call did it all,
    or where more was done to the scores after a mask."""
    if not data.given:
        raise ValueError(
            f"the scores in {steps.path or 'the model'} were not kept: "
            "trace with keep=True."
        )
    if steps.fused:
        return fused_attention(steps, data)
    read = next(
        (i, n) for i, n in steps.way if data.sources[i][n] == steps.masked
    )
    plain = data.kept[steps.scores]
    if data.names[steps.scores] == "baddbmm":  # it adds the mask as well
        _, options = data.given[steps.scores]
        q, k = (data.read(steps.scores, n).detach() for n in (-2, -1))
        plain = [q @ k * options.get("alpha", 1)]
    scores = data.again(*read, {steps.scores: plain}, KEEPS - {"dropout"})
    _, (shape, *_) = data.calls.axes[steps.weights]
    weights = data.kept[steps.weights][0]
    masked = softmax_input(data, *read, weights)
    parts = attention_operands(data, steps, scores, weights)
    return Attention(steps.path, shape, scores, masked, weights, *parts)


def softmax_input(data: Data, i: int, n: int, weights: Tensor) -> Tensor:
    """Give what a softmax read: as it was made; or as it is by now, if that
    explains the weights, since a mask was written into it: x[mask] = -inf."""
    scores, now = data.read(i, n), data.received(i, n)
    written = not explains(scores, weights) and explains(now, weights)
    return now if written else scores


def explains(masked: Tensor, weights: Tensor) -> bool:
    """Whether weights are the softmax of masked scores, along some axis."""
    return masked.shape == weights.shape and any(
        torch.allclose(masked.softmax(axis).to(weights), weights, atol=1e-5)
        for axis in range(weights.ndim)
    )


def fused_attention(steps: AttentionSteps, data: Data) -> Attention:
    """Compute the three again that one call did not show. Raises ValueError
    unless the weights explain what it gave."""
    (_, keys, *_), (output, *_) = data.calls.axes[steps.mixed]
    parts = fused_parts(*data.given[steps.mixed])
    if not torch.allclose(parts[-1], data.kept[steps.mixed][0], 1e-3, 1e-4):
        raise ValueError(
            f"the attention in {steps.path or 'the model'} gave something "
            "else than its weights times its values: it dropped some weights, "
            "or its inputs were changed since. Trace in evaluation."
        )
    return Attention(steps.path, (*output[:-1], keys[-2]), *parts)


def fused_parts(args: tuple, kwargs: dict) -> tuple[Tensor, ...]:
    """Do in the open what scaled_dot_product_attention does in one call: its
    scores, masked scores, weights, queries, keys, values, and values mixed
    by the weights."""
    names = "query", "key", "value", "attn_mask", "dropout_p", "is_causal"
    named = dict(zip(names, args)) | kwargs
    q, k, v = (named[name].detach() for name in names[:3])
    if named.get("enable_gqa"):
        heads = q.shape[-3]
        k, v = (x.repeat_interleave(heads // x.shape[-3], -3) for x in (k, v))
    scores = q @ k.mT * (named.get("scale") or q.shape[-1] ** -0.5)
    mask = named.get("attn_mask")
    if mask is None:
        all_keys = torch.ones_like(scores, dtype=torch.bool)
        mask = all_keys.tril() if named.get("is_causal") else all_keys
    if mask.dtype == torch.bool:
        masked = scores.masked_fill(~mask, -torch.inf)
    else:
        masked = scores + mask
    weights = masked.softmax(-1).nan_to_num(0)
    return scores, masked, weights, q, k, v, weights @ v

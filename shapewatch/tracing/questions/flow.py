"""Flow: the calls of a run, followed from a product of queries and keys to the
weights that a softmax makes of it, and on to the values that they mix.

Any layout will do, as long as queries, keys and values are multiplied as
matrices (or by einsum, or all in one call), and not by a sum of x * y.
"""

from collections import ChainMap
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

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
            if attention := follow_step(self, i):
                self.found[i] = attention

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
    stages = [*((now, other) for other in others), (now,)]
    next_stages = ChainMap(*(STAGES.get(x, {}) for x in stages), TOTALS)
    return next_stages.get(name, now if name in KEEPS else None)


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
        tensors_read = [self.again(j, m, start, names) for m in reads]
        return call_again(self, j, tensors_read)[output]


def call_again(data: Data, i: int, reads: list[Tensor]) -> list[Tensor]:
    """Call a step again, with other tensors in its arguments."""
    tensors_read = iter(reads)
    args, kwargs = tree_map_only(
        Tensor, lambda _: next(tensors_read), data.given[i]
    )
    results = tensors(data.steps[i].function(*args, **kwargs))
    return [x.detach() for x in results]

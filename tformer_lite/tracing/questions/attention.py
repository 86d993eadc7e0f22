"""Attention, found by following the data: scores, mask, softmax, values.

Any layout will do, as long as queries, keys and values are multiplied as
matrices (or by einsum, or all in one call), and not by a sum of x * y.
"""

from typing import NamedTuple

from tformer_lite.tracing.record.recorder import Step, sources_of

Reads = tuple[tuple[int, int], ...]
FUSED = "scaled_dot_product_attention"
# Calls by name, without the underscores of operators and of what writes in
# place: __mul__, mul_.
PRODUCTS = {"matmul", "mm", "bmm", "baddbmm", "einsum"}
SCALES = {"mul", "rmul", "imul", "multiply"}
SCALES |= {"div", "truediv", "itruediv", "divide"}
SUMS = {"add", "radd", "iadd", "sub", "isub", "subtract"}
MASKS = {"masked_fill", "where"} | SUMS | SCALES
MOVES = {"view", "view_as", "reshape", "flatten", "unflatten", "contiguous"}
MOVES |= {"transpose", "permute", "T", "mT", "t", "swapaxes", "swapdims"}
MOVES |= {"movedim", "squeeze", "unsqueeze", "clone", "detach"}
MOVES |= {"chunk", "split", "tensor_split", "unbind", "narrow", "select"}
MOVES |= {"getitem"}
STACKS = {"stack", "cat", "concat"}
JOINS = STACKS | {"expand", "expand_as", "repeat", "pad"}
# All that they read counts: of other calls, such as x.to(scores), the first.
COMBINES = MASKS | STACKS | PRODUCTS
# Elements stay: their type or size may change, and others may join them.
KEEPS = MASKS | MOVES | JOINS | {"to", "type_as", "float", "half", "bfloat16"}
KEEPS |= {"double", "data", "dropout", "nan_to_num", "tanh", "clamp"}
KEEPS |= {"reciprocal", "rdiv"}
TOTALS = dict.fromkeys(("sum", "max", "amax", "norm"), "total")
TOTALS |= {"logsumexp": "log total"}
# What a call makes of elements at a stage, alone or with a total of them.
SOFTMAX = {"softmax": "weights", "log_softmax": "logs", "exp": "powers"}
STAGES = {
    "scores": SOFTMAX,
    "shifted": SOFTMAX,
    "logs": {"exp": "weights"},
    "powers": {"normalize": "weights"},
    "total": {"log": "log total"},
}
WITH_TOTAL = {
    ("scores", "total"): dict.fromkeys(SUMS, "shifted"),
    ("scores", "log total"): dict.fromkeys(SUMS, "logs"),
    ("powers", "total"): dict.fromkeys(SCALES, "weights"),
}


class Found(NamedTuple):
    """One attention: the module that it is in, and the steps of its parts.

    `product` multiplies queries and keys. `scores` is the last step that
    knows nothing of the mask, `masked` the last before the softmax, and
    `weights` the end of the softmax, be it one call or written out. `mixed`
    multiplies the weights and the values. Where one call does it all, each
    of them is that call.

    `way` leads from the product to `mixed`: who reads what the one before
    made, each as a step and which of the tensors that it reads.
    """

    path: str
    product: int
    scores: int
    masked: int
    weights: int
    mixed: int
    way: Reads = ()

    @property
    def fused(self) -> bool:
        """Whether one call does it all."""
        return self.product == self.mixed


class Way(NamedTuple):
    """How far the elements of a product have come at some step.

    `stage` says what they are there: scores, with the largest of a row
    subtracted (shifted) or not; powers of e, or logarithms of weights;
    weights; or a total of scores or powers.
    """

    product: int
    scores: int
    masked: int
    weights: int = -1
    stage: str = "scores"


class Flow:
    """The steps of a run, joined by the `sources` of what they read.

    `ways` say how far a product's elements have come at a step: None where
    it makes no such elements.
    """

    def __init__(self, steps: list[Step]):
        self.steps, self.sources = steps, sources_of(steps)
        self.names = [step.name.strip("_") for step in steps]
        self.ways: list[Way | None] = []
        for i in range(len(steps)):
            self.ways.append(way_at(self, i))

    def arriving(self, i: int) -> dict[int, Way]:
        """Which of the tensors that a step reads have a product's elements,
        and how far these have come."""
        count = len(self.sources[i]) if self.names[i] in COMBINES else 1
        made = enumerate(self.sources[i][:count])
        ways = {n: self.ways[j] for n, j in made if j is not None}
        return {n: way for n, way in ways.items() if way}

    def masks(self, i: int) -> bool:
        """Whether a step puts a mask on scores: it reads something else, of
        more than one number for each head."""
        others = set(range(len(self.sources[i]))) - self.arriving(i).keys()
        sizes = [self.steps[i].reads[n].shape[-2:].numel() for n in others]
        return self.names[i] in MASKS and max(sizes, default=1) > 1


def way_at(flow: Flow, i: int) -> Way | None:
    """Follow a product's elements through a step."""
    if flow.names[i] in PRODUCTS:
        return Way(i, i, i)
    ways = list(flow.arriving(i).values())
    stage = ways and next_stage(flow.names[i], *(way.stage for way in ways))
    if not stage:
        return None
    way = ways[0]._replace(stage=stage)
    if stage == "weights" != ways[0].stage:
        return way._replace(weights=i)
    hidden = flow.masks(i)
    if stage != "scores" and not (stage == "shifted" and hidden):
        return way
    adds = flow.names[way.product] == "baddbmm"  # a product and a mask
    clean = way.scores == way.masked and not (hidden or adds)
    return way._replace(masked=i, scores=i if clean else way.scores)


def next_stage(name: str, now: str, *others: str) -> str | None:
    """Say what a call makes of elements at a stage; None for new ones."""
    known = [WITH_TOTAL.get((now, other), {}) for other in others]
    known += [STAGES.get(now, {}), TOTALS]
    stages = [stages[name] for stages in known if name in stages]
    return stages[0] if stages else now if name in KEEPS else None


def attentions(flow: Flow) -> list[Found]:
    """Find every attention of a run, in order: a product that reads weights
    that a softmax made of another product."""
    found: dict[int, Found] = {}
    for i, step in enumerate(flow.steps):
        path = step.visit.path
        if step.name == FUSED:
            found[i] = Found(path, i, i, i, i, i)
        for n, way in flow.arriving(i).items():
            if flow.names[i] in PRODUCTS and way.stage == "weights":
                back = way_back(flow, i, n, way.product)
                found.setdefault(way.weights, Found(path, *way[:4], i, back))
    return [found[i] for i in sorted(found)]


def way_back(flow: Flow, i: int, n: int, product: int) -> Reads:
    """Go back from the nth tensor that a step reads to a product."""
    source = flow.sources[i][n]
    if source is None or source == product:
        return ((i, n),)
    first = next(iter(flow.arriving(source)))
    return *way_back(flow, source, first, product), (i, n)

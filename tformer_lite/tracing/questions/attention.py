"""Attention, found by following the data: scores, mask, softmax, values."""

from collections import defaultdict
from typing import NamedTuple

from tformer_lite.tracing.record.recorder import Step

PRODUCTS = {"matmul", "bmm", "__matmul__", "einsum", "baddbmm"}
SCALES = {"mul", "div", "__mul__", "__truediv__", "mul_", "div_", "multiply"}
MASKS = {"masked_fill", "masked_fill_", "where", "add", "add_", "__add__"}
MASKS |= {"__iadd__", "sub", "__sub__"}
SAME = {"view", "reshape", "contiguous", "to", "float", "type_as", "detach"}
SAME |= {"dropout", "unsqueeze", "squeeze", "expand", "clone", "nan_to_num"}


class Found(NamedTuple):
    """One attention: steps that made its scores, masked scores, weights.

    `scores` never contain the mask. `opaque` is the step that did it all in
    one, if one did.
    """

    path: str
    scores: int | None
    masked: int | None
    weights: int | None
    opaque: int | None = None


class Flow:
    """Who made each tensor, and who read it, step by step."""

    def __init__(self, steps: list[Step]):
        self.steps = steps
        self.makers: defaultdict[int, list[int]] = defaultdict(list)
        for i, step in enumerate(steps):
            for mark in step.makes:
                self.makers[mark.number].append(i)

    def maker(self, number: int, before: int) -> int | None:
        """The last step before another that made a tensor, or changed it."""
        earlier = [i for i in self.makers[number] if i < before]
        return earlier[-1] if earlier else None

    def came(self, step: int, read: int = 0) -> int | None:
        """The step that made what a step reads."""
        reads = self.steps[step].reads
        if read >= len(reads):
            return None
        return self.maker(reads[read].number, step)

    def descends(self, step: int | None, source: int, depth: int = 8) -> bool:
        """Whether a step's output comes from another step's, within a few
        steps."""
        if step is None or step < source or depth == 0:
            return False
        if step == source:
            return True
        count = range(len(self.steps[step].reads))
        return any(
            self.descends(self.came(step, i), source, depth - 1) for i in count
        )


def attentions(steps: list[Step]) -> list[Found]:
    """Find every attention of a run, in order."""
    flow, found = Flow(steps), []
    for i, step in enumerate(steps):
        if step.name == "scaled_dot_product_attention":
            found.append(Found(step.visit.path, None, None, None, i))
        masked = before_softmax(flow, i)
        scores = None if masked is None else unmasked(flow, masked)
        if scores is not None and used(flow, i):
            found.append(Found(step.visit.path, scores, masked, i))
    return found


def before_softmax(flow: Flow, i: int) -> int | None:
    """If step i ends a softmax, the step that made what went in."""
    step = flow.steps[i]
    if step.name == "softmax":
        return flow.came(i)
    if step.name not in ("div", "__truediv__") or len(step.reads) != 2:
        return None
    exp = flow.came(i, 0)
    if exp is None or flow.steps[exp].name != "exp":
        return None
    if not flow.descends(flow.came(i, 1), exp):
        return None
    shifted = flow.came(exp)
    if shifted is not None and flow.steps[shifted].name in ("sub", "__sub__"):
        source = flow.came(shifted)
        if source is not None and flow.descends(flow.came(shifted, 1), source):
            return source
    return shifted


def unmasked(flow: Flow, masked: int) -> int | None:
    """Go back from masked scores to the product of queries and keys: the
    last step on the way that knows nothing of the mask."""
    scores, i = masked, masked
    while i is not None:
        step = flow.steps[i]
        if step.name in PRODUCTS:
            return scores
        tensors = sum(mark.shape != () for mark in step.reads)
        if step.name in MASKS and tensors > 1:
            i = scores = through(flow, i)
        elif step.name in SCALES | SAME | MASKS:
            i = flow.came(i)
        else:
            return None
    return None


def through(flow: Flow, i: int) -> int | None:
    """The step whose output a mask was put on: of those that step i reads,
    the one that comes from a product."""
    for read in range(len(flow.steps[i].reads)):
        source = flow.came(i, read)
        if source is not None and unmasked(flow, source) is not None:
            return source
    return None


def used(flow: Flow, weights: int) -> bool:
    """Whether a product reads the weights, maybe after dropout."""
    ready = {mark.number for mark in flow.steps[weights].makes}
    for step in flow.steps[weights + 1 :]:
        if step.reads and step.reads[0].number in ready:
            if step.name in PRODUCTS:
                return True
            if step.name in SAME:
                ready |= {mark.number for mark in step.makes}
    return False

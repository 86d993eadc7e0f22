"""Paths: every attention of a traced run, from its projections to what
reads its result, found by following the data."""

from typing import NamedTuple

from torch import Tensor

from tformer_lite.properties.reach import traced
from tformer_lite.properties.subject import NotJudgedError, Subject
from tformer_lite.tracing.attention import (
    MASKS,
    PRODUCTS,
    SAME,
    SCALES,
    Flow,
    before_softmax,
    through,
)
from tformer_lite.tracing.questions import Trace
from tformer_lite.tracing.scores import named, opened

MOVES = {"view", "reshape", "flatten", "unflatten", "transpose", "permute"}
MOVES |= {"chunk", "split", "tensor_split", "unbind", "__getitem__", "mT"}
MOVES |= {"contiguous", "clone", "T", "swapaxes", "movedim", "squeeze"}
MOVES |= {"unsqueeze", "detach", "view_as", "swapdims", "narrow", "select"}
Read = tuple[int, int]  # a step, and which of the tensors it reads


class Operand(NamedTuple):
    """A matrix that a product takes, and the tensor that it was moved from.

    `matrix` has a vector in each row; its numbers are some of those of
    `origin` times `factor`, in another order.
    """

    matrix: Tensor
    origin: Tensor | None
    factor: float


class Mixing(NamedTuple):
    """One attention: `weights` times values, in a module.

    `scale` is what it multiplies a query times a key with. `joined` is what
    the first step after it reads, moved from `mixed`, its result.
    """

    path: str
    weights: Tensor
    q: Operand
    k: Operand
    v: Operand
    scale: float
    mixed: Tensor
    joined: Tensor | None


class Paths:
    """The steps of a traced run, and what each has made."""

    def __init__(self, seen: Trace):
        self.flow, self.steps = Flow(seen.steps), seen.steps
        self.kept = seen.runs[0].values.kept
        self.given = seen.runs[0].values.given

    def mixings(self) -> list[Mixing]:
        """Find every attention, in order."""
        found = []
        for i, step in enumerate(self.steps):
            if step.name == "scaled_dot_product_attention":
                found.append(self.fused(i))
            product, growth = self.product(before_softmax(self.flow, i))
            after = None if product is None else self.mix(i)
            if after is not None:
                found.append(self.open(product, growth, after))
        return found

    def fused(self, i: int) -> Mixing:
        """Describe an attention that is one call."""
        given = named(*self.given[i])
        q, k, v = (self.operand((i, read)) for read in range(3))
        scale = given.get("scale") or q.matrix.shape[-1] ** -0.5
        ends = self.kept[i][0], self.landing(i)
        weights = opened(given)[-1]
        return Mixing(
            self.path(i), weights, q, k, v, scale * q.factor * k.factor, *ends
        )

    def open(self, product: int, growth: float, after: int) -> Mixing:
        """Describe an attention that is written out."""
        at = int(self.steps[product].name == "baddbmm")  # the mask is first
        q, k = self.operand((product, at)), self.operand((product, at + 1))
        k = k._replace(matrix=k.matrix.mT)
        scale = q.factor * k.factor * growth
        weights, v = self.read((after, 0)), self.operand((after, 1))
        ends = self.kept[after][0], self.landing(after)
        return Mixing(self.path(after), weights, q, k, v, scale, *ends)

    def path(self, i: int) -> str:
        """Say in which module a step is."""
        return self.steps[i].visit.path or "the model"

    def read(self, read: Read) -> Tensor | None:
        """Give the value of a tensor that a step reads."""
        step, n = read
        mark, maker = self.steps[step].reads[n], self.flow.came(step, n)
        if maker is None:
            return None  # an input, or a parameter
        numbers = [made.number for made in self.steps[maker].makes]
        return self.kept[maker][numbers.index(mark.number)]

    def product(self, i: int | None) -> tuple[int | None, float]:
        """Go back from what a softmax reads to the product of queries and
        keys, and tell by how much the scores are larger."""
        growth = 1.0
        while i is not None and self.steps[i].name not in PRODUCTS:
            step = self.steps[i]
            several = sum(mark.shape != () for mark in step.reads) > 1
            if step.name in MASKS and several:
                i = through(self.flow, i)
                continue
            if step.name not in SCALES | SAME | MASKS | MOVES:
                return None, growth
            if step.name in SCALES:
                growth *= ratio(self.kept[i][0], self.read((i, 0)))
            i = self.flow.came(i)
        return i, growth

    def mix(self, i: int) -> int | None:
        """Go on from the end of a softmax to the product with the values."""
        ready = {mark.number for mark in self.steps[i].makes}
        for j, step in enumerate(self.steps[i + 1 :], i + 1):
            reads = [mark.number for mark in step.reads]
            if not ready.intersection(reads):
                continue
            if step.name in PRODUCTS:
                return j if reads[0] in ready else None
            if step.name in SAME | MASKS | SCALES | MOVES:
                ready |= {mark.number for mark in step.makes}
        return None

    def operand(self, read: Read) -> Operand:
        """Follow what a product reads back to where it was last computed."""
        matrix, factor = self.read(read), 1.0
        origin, maker = matrix, self.flow.came(*read)
        while maker is not None and self.steps[maker].name in MOVES | SCALES:
            sized = [m.shape != () for m in self.steps[maker].reads]
            before = self.read((maker, sized.index(True)))
            if before is None or sum(sized) > 1:
                break
            if self.steps[maker].name in SCALES:
                factor *= ratio(self.kept[maker][0], before)
            maker = self.flow.came(maker, sized.index(True))
            origin = before
        return Operand(matrix, origin, factor)

    def landing(self, i: int) -> Tensor | None:
        """Follow a result through its moves to what the next step reads."""
        number, value = self.steps[i].makes[0].number, self.kept[i][0]
        for j, step in enumerate(self.steps[i + 1 :], i + 1):
            if not step.reads or step.reads[0].number != number:
                continue
            if step.name not in MOVES:
                return value
            number, value = step.makes[0].number, self.kept[j][0]
        return value


def mixings(subject: Subject, *pushed: int) -> list[Mixing]:
    """Find every attention of a run, with the inputs `pushed` nudged;
    NotJudgedError when there is none."""
    found = subject.once(
        ("mixings", pushed),
        lambda: Paths(traced(subject, *pushed)).mixings(),
    )
    if not found:
        raise NotJudgedError("No attention was found: a softmax of products.")
    return found


def ratio(large: Tensor, small: Tensor) -> float:
    """How many times larger the numbers of a tensor are."""
    sizes = [x[x.isfinite()].norm() for x in (large, small)]
    return (sizes[0] / sizes[1]).item()

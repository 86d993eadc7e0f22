"""Paths: follow tensors through the steps of a traced run."""

from typing import NamedTuple

from torch import Tensor

from tformer_lite.tracing.questions.attention import (
    MASKS,
    PRODUCTS,
    SAME,
    SCALES,
    Flow,
    through,
)
from tformer_lite.tracing.traced import Trace

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


class Paths:
    """The steps of a traced run, and what each has made."""

    def __init__(self, seen: Trace):
        self.flow, self.steps = Flow(seen.steps), seen.steps
        self.kept = seen.runs[0].values.kept
        self.given = seen.runs[0].values.given

    def read(self, read: Read) -> Tensor | None:
        """Give the value of a tensor that a step reads; None for an input
        and for a parameter."""
        step, n = read
        mark, maker = self.steps[step].reads[n], self.flow.came(step, n)
        if maker is None:
            return None
        numbers = [made.number for made in self.steps[maker].makes]
        return self.kept[maker][numbers.index(mark.number)]

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

    def landing(self, i: int) -> Tensor:
        """Follow a result through its moves to what the next step reads."""
        number, value = self.steps[i].makes[0].number, self.kept[i][0]
        for j, step in enumerate(self.steps[i + 1 :], i + 1):
            if not step.reads or step.reads[0].number != number:
                continue
            if step.name not in MOVES:
                break
            number, value = step.makes[0].number, self.kept[j][0]
        return value


def product(paths: Paths, i: int | None) -> tuple[int | None, float]:
    """Go back from what a softmax reads to the product of queries and keys,
    and tell by how much the scores are larger."""
    growth = 1.0
    while i is not None and paths.steps[i].name not in PRODUCTS:
        step = paths.steps[i]
        several = sum(mark.shape != () for mark in step.reads) > 1
        if step.name in MASKS and several:
            i = through(paths.flow, i)
            continue
        if step.name not in SCALES | SAME | MASKS | MOVES:
            return None, growth
        if step.name in SCALES:
            growth *= ratio(paths.kept[i][0], paths.read((i, 0)))
        i = paths.flow.came(i)
    return i, growth


def mix(paths: Paths, i: int) -> int | None:
    """Go on from the end of a softmax to the product with the values."""
    ready = {mark.number for mark in paths.steps[i].makes}
    for j, step in enumerate(paths.steps[i + 1 :], i + 1):
        reads = [mark.number for mark in step.reads]
        if not ready.intersection(reads):
            continue
        if step.name in PRODUCTS:
            return j if reads[0] in ready else None
        if step.name in SAME | MASKS | SCALES | MOVES:
            ready |= {mark.number for mark in step.makes}
    return None


def ratio(large: Tensor, small: Tensor) -> float:
    """How many times larger the numbers of a tensor are."""
    sizes = [x[x.isfinite()].norm() for x in (large, small)]
    return (sizes[0] / sizes[1]).item()

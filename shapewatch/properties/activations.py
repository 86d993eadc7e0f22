"""Activations: what stands between two matrices."""

from collections.abc import Iterator
from typing import NamedTuple

import torch

from shapewatch.properties.attention_parts import recorded_run
from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.tracing.questions.flow import (
    MOVES,
    PRODUCTS,
    SCALES,
    SUMS,
    Flow,
)

LINEAR = PRODUCTS | {"linear", "addmm"}
PASSES = MOVES | SCALES | SUMS | {"to", "float", "type_as", "dropout"}


class Matrix(NamedTuple):
    """A matrix that a step multiplies by: which it is, its module, the
    channels before and after, and which tensor of its is multiplied."""

    at: int
    path: str
    before: int
    after: int
    data: int


@check
def activations(subject: Subject) -> Verdict:
    """Check that an activation stands between two matrices, where there are
    more channels than before and after.

    Without one, both are as good as a single matrix: Vaswani et al. (2017),
    equation 2. Where there are fewer, as in LoRA, that is meant.

    - Changes: nothing.
    - Looks at: which steps lead from one matrix to the next.
    - Says: which modules hold two matrices in a row. Unusual: two linear maps
      are multiplied, and neither has an activation.
    """
    flow, _ = recorded_run(subject)
    matrices = {i: x for i in range(len(flow.steps)) if (x := matrix(flow, i))}
    if not matrices:
        raise NotJudgedError("Nothing is multiplied by a matrix.")
    sizes = torch.tensor([[x.before, x.after] for x in matrices.values()])
    for first, second in in_a_row(flow, matrices):
        if first.after > max(first.before, second.after):
            paths = dict.fromkeys((first.path, second.path))
            says = (
                f"In {' and '.join(paths)}, two matrices follow each other: "
                f"{first.before} channels become {first.after}, and then "
                f"{second.after}, with nothing nonlinear between them. They "
                "act as one matrix: is an activation missing?"
            )
            return False, says, sizes
    if path := collapsed_linears(flow, matrices):
        says = (
            f"In {path}, two linear maps are multiplied, and neither has an "
            "activation: a gate has one, as silu(gate) * up; without, it is "
            "the bilinear layer of Shazeer (2020)."
        )
        return False, says, sizes, UNUSUAL
    says = "Where layers widen, an activation follows, or a product."
    return True, says, sizes


def matrix(flow: Flow, i: int) -> Matrix | None:
    """Find the matrix of a step; None where no weights are multiplied."""
    step, every = flow.steps[i], flow.steps[i].reads
    if flow.names[i] not in LINEAR or not step.makes:
        return None
    large = {n: x.shape for n, x in enumerate(every) if len(x.shape) > 1}
    flat = [n for n, x in large.items() if len(x) == 2]
    weights = [n for n in flat if is_given(flow, i, n)]
    data = [n for n in large if n not in weights]
    if len(weights) != 1 or len(data) != 1:
        return None
    before, after = large[data[0]][-1], step.makes[0].shape[-1]
    if sorted(large[weights[0]]) != sorted((before, after)):
        return None
    return Matrix(i, module_of_step(flow, i), before, after, data[0])


def is_given(flow: Flow, i: int, n: int) -> bool:
    """Whether no step has made what a step reads, but for moving it."""
    j = flow.sources[i][n]
    while j is not None and flow.names[j] in MOVES:
        j = flow.sources[j][0]
    return j is None


def in_a_row(
    flow: Flow, matrices: dict[int, Matrix]
) -> Iterator[tuple[Matrix, Matrix]]:
    """Find pairs of matrices with nothing between that is not linear."""
    for i, later in matrices.items():
        for j in makers(flow, flow.sources[i][later.data], matrices):
            fits = matrices[j].after == later.before
            if fits and is_only_multiplied(flow, j, matrices):
                yield matrices[j], later


def is_only_multiplied(
    flow: Flow, j: int, matrices: dict[int, Matrix]
) -> bool:
    """Whether matrices alone read what a step made, by moves, scales and
    sums: a residual stream is read by norms and by others, too."""
    readers = [i for i, sources in enumerate(flow.sources) if j in sources]
    return all(
        i in matrices
        or (flow.names[i] in PASSES and is_only_multiplied(flow, i, matrices))
        for i in readers
    )


def collapsed_linears(flow: Flow, matrices: dict[int, Matrix]) -> str:
    """Name the module that multiplies two linear maps of one thing; or ""."""
    for later in matrices.values():
        j = flow.sources[later.at][later.data]
        while j is not None and flow.names[j] in MOVES | {"dropout"}:
            j = flow.sources[j][0]
        if j is None or flow.names[j] not in SCALES:
            continue
        read = [
            {
                flow.sources[x][matrices[x].data]
                for x in makers(flow, term, matrices)
            }
            for term in flow.sources[j]
        ]
        if len(read) == 2 and read[0] == read[1] != set():
            return module_of_step(flow, j)
    return ""


def makers(
    flow: Flow, j: int | None, matrices: dict[int, Matrix]
) -> list[int]:
    """List the matrices that made something by moves, scales and sums."""
    if j is None or j in matrices:
        return [] if j is None else [j]
    sources = [x for x in flow.sources[j] if x is not None]
    if len(sources) != 1 and flow.names[j] not in SUMS:
        return []
    if flow.names[j] not in PASSES:
        return []
    parts = [makers(flow, x, matrices) for x in sources]
    return [i for part in parts for i in part] if all(parts) else []


def module_of_step(flow: Flow, at: int) -> str:
    """Name the module of a step."""
    return flow.steps[at].visit.path or "the model"

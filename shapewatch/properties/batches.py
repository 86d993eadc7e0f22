"""Batches: each row gives alone what it gives beside others."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from shapewatch.properties.finding import Verdict, check
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.perturbation import (
    baseline_output,
    distance,
    first,
    rounding_tolerance,
)
from shapewatch.properties.subject import NotJudgedError, Subject


@check
def batch_independence(subject: Subject) -> Verdict:
    """Check that each row has the same output alone as in a batch.

    Rows of a batch are strangers to each other: what one gives must not
    depend on who is beside it.

    - Changes: the batch is cut into its rows.
    - Looks at: the outputs of each row, in the batch and alone.
    - Says: which output of which row differs.
    """
    if len(subject.inputs[-1]) < 2:
        raise NotJudgedError("There is one row only: give two.")
    allowed, real = rounding_tolerance(subject), subject.real[-1]
    ways, reasons = list[Tensor](), list[str]()
    for numbers in inputs_with_rows(subject):
        try:
            ways.append(moves_alone(subject, numbers))
        except FailedError as error:
            reasons.append(f"A row alone fails: {error}")
    if not ways:
        raise NotJudgedError(reasons[0])
    for moves in ways:
        if not ((moves > allowed) & real).any():
            says = "Each row gives alone what it gives in a batch."
            return True, says, moves
    b, t = first((ways[0] > allowed) & real)
    says = (
        f"Sequence {b}: output {t} changes when the sequence is alone. Look "
        "for swapped axes: batch first or second, and the axes of norms and "
        "softmax."
    )
    return False, says, ways[0]


def inputs_with_rows(subject: Subject) -> Iterator[set[int]]:
    """Number the inputs that may have a row for each of the batch: all of its
    length; but for square ones, such as a mask (T, T); or words alone. Two of
    other lengths, as 2 texts and 4 samples, are not judged."""
    given, _ = tree_flatten(subject.given)
    rows = len(subject.inputs[-1])
    if any(len(x) not in (1, rows) for x in subject.inputs):
        raise NotJudgedError("One input has fewer rows than another.")
    sizes = {i: x.shape for i, x in enumerate(given) if isinstance(x, Tensor)}
    alike = {i for i, size in sizes.items() if size[:1] == (rows,)}
    square = {i for i in alike if sizes[i][:2] == (rows, rows)}
    words = {i for i in alike if any(given[i] is x for x in subject.inputs)}
    yield alike
    if square - words:
        yield alike - square | words
    if words != alike:
        yield words


def moves_alone(subject: Subject, numbers: set[int]) -> Tensor:
    """How far each row moves where it is alone, of these inputs: (B, T)."""
    given, form = tree_flatten(subject.given)
    batch, outputs = baseline_output(subject), []
    for b in range(len(batch)):
        row = [x[[b]] if i in numbers else x for i, x in enumerate(given)]
        alone = tree_unflatten(row, form)
        outputs.append(subject.call(subject.outputs_of, alone))
        if outputs[-1].shape != batch[[b]].shape:
            raise FailedError(f"it gives {tuple(outputs[-1].shape)}")
    return distance(subject, torch.cat(outputs))

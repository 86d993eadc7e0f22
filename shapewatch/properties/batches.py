"""Batches: each row gives alone what it gives beside others."""

import re
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from shapewatch.properties.finding import Verdict, check
from shapewatch.properties.numbers import flat_rows, unpadded_rows
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.perturbation import (
    NOT_FINITE,
    first,
    output_spread,
    raw_output,
    rounding_tolerance,
)
from shapewatch.properties.subject import NotJudgedError, Subject

OF_ROWS = re.compile("time|^t$|sigma|label|class|len")  # one for each


@check
def batch_independence(subject: Subject) -> Verdict:
    """Check that each row has the same output alone as in a batch.

    Rows of a batch are strangers to each other: what one gives must not
    depend on who is beside it.

    - Changes: the batch is cut into its rows.
    - Looks at: the outputs of each row, in the batch and alone.
    - Says: which output of which row differs.
    """
    judged_in_rows(subject)
    allowed = rounding_tolerance(subject)
    ways, reasons = list[Tensor](), list[str]()
    for numbers in inputs_with_rows(subject):
        try:
            ways.append(moves_alone(subject, numbers))
        except FailedError as error:
            reasons.append(f"A row alone fails: {error}")
    if not ways:
        raise NotJudgedError(reasons[0])
    for moves in ways:
        if not (moves > allowed).any():
            says = "Each row gives alone what it gives in a batch."
            return True, says, moves
    b, t = first(ways[0] > allowed)
    says = (
        f"Sequence {b}: output {t} changes when the sequence is alone. Look "
        "for swapped axes: batch first or second, and the axes of norms and "
        "softmax."
    )
    return False, says, ways[0]


def judged_in_rows(subject: Subject) -> None:
    """Raise NotJudgedError unless there are rows, and numbers in each."""
    outputs, rows = raw_output(subject), len(subject.inputs[-1])
    if rows < 2:
        raise NotJudgedError("There is one row only: give two.")
    if outputs.shape[:1] != (rows,):
        says = f"The output {(*outputs.shape,)} has no row for each input's."
        raise NotJudgedError(says)
    judged = flat_rows(outputs)[unpadded_rows(subject, outputs)]
    if not judged.isfinite().all():
        raise NotJudgedError(NOT_FINITE)


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
    if words != alike and not any(map(OF_ROWS.search, subject.names)):
        yield words


def moves_alone(subject: Subject, numbers: set[int]) -> Tensor:
    """How far each row moves where it is alone, of these inputs: (B, T), but
    for padding. Alone, it may have outputs for its words only."""
    given, form = tree_flatten(subject.given)
    batch, outputs = flat_rows(raw_output(subject)), []
    real, words = unpadded_rows(subject, batch), subject.real[-1].shape
    for b in range(len(batch)):
        row = [x[[b]] if i in numbers else x for i, x in enumerate(given)]
        alone = tree_unflatten(row, form)
        output = flat_rows(subject.call(subject.outputs_of, alone))
        length = output.shape[1]
        same = output.shape == batch[[b], :length].shape
        if not same or (real[b, length:].any() and real.shape == words):
            raise FailedError(f"it gives {tuple(output.shape)}")
        outputs.append(torch.cat((output, batch[[b], length:]), 1))
    far = (torch.cat(outputs) - batch).abs().amax(-1)
    return (far / output_spread(subject)).nan_to_num(0.0) * real

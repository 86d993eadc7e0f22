"""Batches: what a row gives alone; and which rows of several inputs go
together, where one has more rows than another."""

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.perturbation import (
    baseline_output,
    distance,
    first,
    rounding_tolerance,
)
from shapewatch.properties.subject import FailedError, NotJudgedError, Subject

OTHER_ORDER = (
    "One input has fewer rows than another, and they are taken in turns (0, "
    "1, 0, 1), as `repeat` does. Copies of a row mostly lie side by side (0, "
    "0, 1, 1), as `repeat_interleave` has them: which is meant?"
)


@check
def batch_independence(subject: Subject) -> Verdict:
    """See whether each row gives alone what it gives in a batch.

    Rows of a batch are strangers to each other: what one gives must not
    depend on who is beside it.

    - Changes: the batch is cut into its rows.
    - Looks at: the outputs of each row, in the batch and alone.
    - Says: which output of which row is another one.
    """
    if len(subject.inputs[-1]) < 2:
        raise NotJudgedError("There is one row only: give two.")
    ways = sorted(ways_alone(subject), key=itemgetter(0))
    for in_turns, moved, wrong in ways:
        if wrong.any():
            continue
        if in_turns:
            return False, OTHER_ORDER, moved, UNUSUAL
        return True, "Each row gives alone what it gives in a batch.", moved
    _, moved, wrong = ways[0]
    b, t = first(wrong)
    says = (
        f"Sequence {b}: output {t} is another one when it is alone. Look for "
        "an axis that is taken for another: batch first or second, and what "
        "norms and softmax run over."
    )
    return False, says, moved


def ways_alone(subject: Subject) -> list[tuple[bool, Tensor, Tensor]]:
    """Cut the batch in each way that runs: whether rows are taken in turns,
    how far outputs are from those in it, and which are others: (B, T)."""
    baseline_output(subject)
    allowed, real = rounding_tolerance(subject), subject.real[-1]
    ways, reason = [], ""
    for cut in row_cuts(subject):
        try:
            moved = moves_alone(subject, cut)
            ways.append((cut.in_turns, moved, (moved > allowed) & real))
        except FailedError as error:
            reason = reason or f"A row alone fails: {error}"
    if not ways:
        raise NotJudgedError(reason)
    return ways


class RowCut(NamedTuple):
    """A way to cut a batch into so many `parts`: which of all that is given
    are cut; and whether a part has the rows of each that lie side by side,
    or every nth, `in_turns`."""

    parts: int
    which: frozenset[int]
    in_turns: bool = False


def row_cuts(subject: Subject) -> Iterator[RowCut]:
    """Cut the batch into rows; or, where others have fewer, into as many
    parts. What has other rows may have none, such as a mask (T, T)."""
    given, _ = tree_flatten(subject.given)
    every = ((i, x) for i, x in enumerate(given) if isinstance(x, Tensor))
    counts = {i: len(x) for i, x in every if x.ndim and len(x) > 1}
    rows = len(subject.inputs[-1])
    words = {i for i in counts if any(given[i] is x for x in subject.inputs)}
    square = {i for i in counts if given[i].shape[:2] == (counts[i],) * 2}
    fewer = {n for n in counts.values() if rows % n == 0}
    for parts in sorted(fewer, reverse=True):
        fits = {i for i, n in counts.items() if n % parts == 0}
        alike = {i for i in fits if counts[i] == rows}
        ways = alike, fits, fits - square | words & fits, words & fits
        some = ways if parts == rows else ways[1:2]
        for which in dict.fromkeys(map(frozenset, some)):
            yield RowCut(parts, which)
            if any(counts[i] > parts for i in which):
                yield RowCut(parts, which, True)


def moves_alone(subject: Subject, cut: RowCut) -> Tensor:
    """How far each row is, in its part, from where it is in all: (B, T)."""
    given, form = tree_flatten(subject.given)
    batch, outputs = baseline_output(subject), []
    order = part_rows(len(batch), cut)
    for n, rows in enumerate(order):
        some = [
            x[part_rows(len(x), cut)[n]] if i in cut.which else x
            for i, x in enumerate(given)
        ]
        outputs.append(
            subject.call(subject.outputs_of, tree_unflatten(some, form))
        )
        if outputs[-1].shape != batch[rows].shape:
            raise FailedError(f"it gives {tuple(outputs[-1].shape)}")
    back = torch.cat(order).argsort()
    return distance(subject, torch.cat(outputs)[back])


def part_rows(count: int, cut: RowCut) -> list[Tensor]:
    """Give the rows, of so many, that each part has."""
    every = torch.arange(count)
    if cut.in_turns:
        return [every[n :: cut.parts] for n in range(cut.parts)]
    return [*every.chunk(cut.parts)]

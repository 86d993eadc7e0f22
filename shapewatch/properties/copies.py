"""Copies: many runs as rows of one larger batch, where each row gives there
what it gives alone."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from shapewatch.properties.distances import (
    FAINT,
    apart,
    distance,
    faintest,
    rounding,
    undisturbed,
)
from shapewatch.properties.pushing import (
    CopiesNudge,
    Places,
    Tensors,
    nudged,
)
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    like,
    once,
    whole,
)

TOKENS = 1024  # positions of a batch: with more of them, none is faster
ROUNDED = 30  # how much larger rounding may be than where it was measured


class Run(NamedTuple):
    """A run with these sequences, and with positions of some pushed."""

    inputs: Tensors
    positions: Places
    which: tuple[int, ...] = ()


def moved(subject: Subject, runs: Sequence[Run]) -> list[Tensor]:
    """How far the outputs move in each of several runs, (B, T): in batches,
    or one by one what a batch cannot tell."""
    found = in_batches(subject, runs)
    return [
        distance(subject, alone(subject, run), FAINT, *run.which)
        if moves is None
        else moves
        for run, moves in zip(runs, found)
    ]


def alone(subject: Subject, run: Run) -> Tensor:
    """Give the outputs of a run, (B, T, ...); NotJudgedError when ids that
    should be pushed are never seen to become vectors."""
    with nudged(run.inputs, run.positions, *run.which) as nudge:
        outputs = subject.run(*nudge.inputs)
    unseen = nudge.ids and not nudge.lookups
    if unseen and not all(unread(subject, which) for which in run.which):
        raise NotJudgedError("The ids are never looked up in an embedding.")
    return outputs


def unread(subject: Subject, which: int) -> bool:
    """Whether other ids in another order change no output at all."""
    inputs = list(subject.inputs)
    inputs[which] = inputs[which].roll(1, 1).flip(0)
    return subject.run(*inputs).equal(undisturbed(subject))


def in_batches(
    subject: Subject, runs: Sequence[Run]
) -> Sequence[Tensor | None]:
    """How far the outputs move in each run; None where it is to be asked
    alone: what rounding may have moved, or all, where rows are not
    independent of each other, or other batches are refused."""
    count = TOKENS // sum(x.shape[:2].numel() for x in subject.inputs) - 1
    found: list[Tensor | None] = []
    try:
        if min(count, len(runs)) < 2 or depend(subject):
            return [None] * len(runs)
        for i in range(0, len(runs), count):
            some = runs[i : i + count]
            copies = outputs_of(subject, some)
            noise = rounded(subject, some, copies)
            if noise > rounding(subject):
                return [None] * len(runs)
            still, which = copies[0], some[0].which
            pairs = ((still, x, noise) for x in copies[1:])
            found += [sure(subject, *one, which) for one in pairs]
    except (FailedError, RuntimeError):  # of rows that are not there
        return [None] * len(runs)
    return found


def outputs_of(subject: Subject, runs: Sequence[Run]) -> Sequence[Tensor]:
    """Give the outputs of an undisturbed run, and of others, out of one
    batch; FailedError when it has not so many rows."""
    every = Run(subject.inputs, [], runs[0].which), *runs
    pairs = zip(*(run.inputs for run in every))
    inputs = [torch.cat(same) for same in pairs]
    places = [run.positions for run in every]
    nudge = CopiesNudge(inputs, places, *runs[0].which)
    with nudge if nudge.ids else nullcontext():
        given = tiled(subject, nudge.inputs, len(every))
        outputs = subject.call(subject.made, given)
    rows = len(subject.inputs[-1])
    if outputs.shape[0] != rows * len(every):
        raise FailedError("The batch has not as many rows as were given.")
    return outputs.split(rows)


def tiled(subject: Subject, inputs: Tensors, count: int) -> tuple:
    """Put sequences of many copies where they stand, beside as many copies
    of all that has rows."""
    given = with_rows(subject, lambda x: torch.cat([x] * count))
    return whole(subject, tuple(inputs), given)


def rounded(
    subject: Subject, runs: Sequence[Run], copies: Sequence[Tensor]
) -> float:
    """How far the first and the last copy are from what they are alone."""
    which = runs[-1].which
    pairs = (
        (undisturbed(subject, *which), copies[0]),
        (alone(subject, runs[-1]), copies[-1]),
    )
    return max(apart(subject, *x, *which).max().item() for x in pairs)


def sure(
    subject: Subject,
    before: Tensor,
    after: Tensor,
    noise: float,
    which: tuple[int, ...],
) -> Tensor | None:
    """Give how far outputs moved, 0 for what is faint; None where that may
    be rounding."""
    moves = apart(subject, before, after, *which)
    faint = faintest(subject, *which)
    unsure = (moves > faint) & (moves <= ROUNDED * noise)
    return None if unsure.any() else moves.where(moves > faint, 0)


def depend(subject: Subject) -> bool:
    """Whether rows are others without the other rows."""
    far = rows_alone(subject) > rounding(subject)
    return bool((far & subject.real[-1]).any())


@once
def rows_alone(subject: Subject) -> Tensor:
    """How far each row is from where it is in the batch, alone: (B, T)."""
    rows = range(len(subject.inputs[0]))
    runs = [subject.call(subject.made, row_alone(subject, b)) for b in rows]
    return distance(subject, torch.cat(runs))


def row_alone(subject: Subject, b: int) -> tuple:
    """Take a row of all that is given."""
    return with_rows(subject, lambda x: x[[b]])


def another_batch(subject: Subject, which: int, rows: Tensor) -> Subject:
    """Ask the same of as many rows: of one input, these; of all else, the
    first row each time."""
    given = [*with_rows(subject, lambda x: torch.cat([x[:1]] * len(rows)))]
    given[subject.places[which]] = rows
    return like(subject, subject.model, tuple(given))


def with_rows(subject: Subject, change: Callable[[Tensor], Tensor]) -> tuple:
    """Change all that is given and has a row for each; the rest stays."""
    count = len(subject.inputs[-1])

    def changed(x: Tensor) -> Tensor:
        return change(x) if x.ndim and len(x) == count else x

    return tree_map_only(Tensor, changed, subject.given)

"""Distances: how far outputs are from where they were, and how far rounding
takes them."""

from contextlib import nullcontext

import torch
from torch import Tensor, nn

from shapewatch.properties.pushing import Reading
from shapewatch.properties.subject import NotJudgedError, Subject, once

HALF = 1e-4  # steps above this are those of 16 bits and fewer
FAINT = 1e-5  # of the outputs' size: what moves less has not moved


def distance(
    subject: Subject, after: Tensor, faint: float = FAINT, *pushed: int
) -> Tensor:
    """How far each output row is from where it was, as a share of the
    outputs' size: (B, T). What is `faint` counts as 0, in half precision what
    its steps may come to, and so does what is no number in either. `pushed`
    says of which inputs vectors were."""
    moves = apart(subject, undisturbed(subject, *pushed), after, *pushed)
    return moves.where(moves > max(faint, faintest(subject, *pushed)), 0)


def faintest(subject: Subject, *pushed: int) -> float:
    """How far an output row must move at least to have moved."""
    step = coarsest(subject, *pushed)
    return 8 * step if step > HALF else FAINT


def apart(
    subject: Subject, before: Tensor, after: Tensor, *pushed: int
) -> Tensor:
    """How far each row of one output is from that of another: (B, T)."""
    far = (after - before).abs().flatten(2).amax(-1)
    moves = (far / size(subject, *pushed)).nan_to_num(torch.inf)
    moves = moves.where(far != 0, 0)  # also where all outputs are one number
    nobody = ~subject.real[-1] & ~before.flatten(2).isfinite().all(-1)
    return moves.where(~nobody, 0)


@once
def size(subject: Subject, *pushed: int) -> Tensor:
    """How far the outputs' numbers are from each other."""
    before = undisturbed(subject, *pushed)
    return before[before.isfinite()].std()


@once
def rounding(subject: Subject) -> float:
    """How far outputs may be apart that were summed up in another order, as
    a share of their size."""
    before = undisturbed(subject)[subject.real[-1]]
    noise = 8 * coarsest(subject) * before.abs().max() / before.std()
    return max(10 * FAINT, noise.nan_to_num(0.0).item())


@once
def coarsest(subject: Subject, *pushed: int) -> float:
    """How far the numbers next to 1 are from it, where a model is coarsest."""
    model, types = subject.model, [still(subject, *pushed).dtype]
    if isinstance(model, nn.Module):
        types += [p.dtype for p in model.parameters()]
    return max(torch.finfo(x).eps for x in types if x.is_floating_point)


def still(subject: Subject, *pushed: int) -> Tensor:
    """Run as it is, on the path of pushed vectors: whatever it gives."""
    return looked_on(subject, *pushed)[0]


def pooled(subject: Subject) -> bool:
    """Whether a model gives one output for a whole sequence."""
    still(subject)
    return subject.pools


def judged_by_position(subject: Subject) -> None:
    """Raise NotJudgedError for a model that gives one output for all."""
    if pooled(subject):
        raise NotJudgedError(
            "There is one output for a whole sequence, and none for each "
            "position."
        )


def only_looked_up(subject: Subject, which: int) -> bool:
    """Whether all that a model reads of ids is in the vectors that it looks
    up for them, each of which can be pushed."""
    return looked_on(subject, which)[1]


@once
def looked_on(subject: Subject, *pushed: int) -> tuple[Tensor, bool]:
    """Run as it is; and see whether ids are looked up, and read by nothing
    else."""
    nudge = Reading(subject.inputs, *pushed)
    with nudge if nudge.ids else nullcontext():
        outputs = subject.run(*nudge.inputs)
    return outputs, bool(nudge.lookups) and not nudge.others


@once
def undisturbed(subject: Subject, *pushed: int) -> Tensor:
    """Give the model's outputs, (B, T, ...), on the path that PyTorch takes
    when vectors of these inputs are pushed; NotJudgedError unless they are
    numbers, a row for each position. Padding may be none."""
    outputs, shape = still(subject, *pushed), subject.inputs[-1].shape
    if outputs.ndim < 3 or outputs.shape[:2] != shape[:2]:
        raise NotJudgedError(
            f"The output {tuple(outputs.shape)} has no row for each position "
            f"of the input {tuple(shape)}."
        )
    if not outputs[subject.real[-1]].isfinite().all():
        raise NotJudgedError("The outputs are not finite: see `finite`.")
    return outputs

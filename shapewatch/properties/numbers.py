"""Numbers: finite, repeatable, and logits at the end."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.properties.copies import with_rows
from shapewatch.properties.distances import still, undisturbed
from shapewatch.properties.few import few_outputs
from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.mixing import followed
from shapewatch.properties.pushing import Nudge
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    like,
    once,
)
from shapewatch.properties.variants import in_double
from shapewatch.tracing.record.state import State, seed_all

LOUD, LOUDLY = 30.0, "with weights 30 times larger"
DEEP = "There is no attention, though: many layers may do that."
PADDED = "for a source of padding alone"
WHERE = "trace(model, ...).first_nan() names the call that makes the first."
BARE = "Other models do that, too: such a row must then never come."
FAST = "Only PyTorch's fast path gives them, in evaluation."


@check
def finite(subject: Subject) -> Verdict:
    """See whether all outputs are numbers: as the model is, with weights 30
    times as large, and for a sentence of padding alone."""
    for when, result in runs(subject):
        rows = flat_rows(result.isfinite().float()).mean(-1)
        if (rows < 1)[judged(subject, result)].any():
            share = 1 - result.isfinite().double().mean().item()
            says = (
                f"{share:.0%} of the outputs are NaN or infinite {when}. "
                "Look at the softmax (does it take the largest score away "
                "first?), and for rows with nobody to hear."
            )
            if finite_when_slow(subject, when):
                return False, f"{says} {FAST}", rows, UNUSUAL
            small = result.dtype == torch.float16  # nothing above 65,504
            excusable = when == LOUDLY and (small or not followed(subject))
            if excusable and finite_in_double(subject):
                continue
            if when == LOUDLY and not followed(subject):
                return False, f"{says} {DEEP}", rows, UNUSUAL
            if when == PADDED:
                return False, f"{says} {BARE}", rows, UNUSUAL
            return False, says if when == LOUDLY else f"{says} {WHERE}", rows
    says = "All outputs are numbers, also with weights 30 times larger."
    return True, says, rows


def finite_when_slow(subject: Subject, when: str) -> bool:
    """Whether outputs are numbers off the fast path of PyTorch's layers."""
    with Nudge([], []):
        slowly = dict(runs(like(subject, subject.model)))[when]
    return bool(slowly.isfinite()[judged(subject, slowly)].all())


def finite_in_double(subject: Subject) -> bool:
    """Whether outputs with larger weights are numbers in double precision:
    it has room for what many layers make, and for powers of e only where the
    exponents are up to 8 times larger, and so are the weights."""
    try:
        double = in_double(subject)
        louder = partial(loud, double, times=8 * LOUD)
        result = double.call(louder, double.given)
    except (NotJudgedError, FailedError):  # it knows one precision only
        return False
    return bool(result.isfinite()[judged(subject, result)].all())


def runs(subject: Subject) -> Iterator[tuple[str, Tensor]]:
    """Run as it is, loudly, and with a sentence of padding alone."""
    inputs = subject.inputs
    yield "as it is", still(subject)
    if isinstance(subject.model, nn.Module):
        known = subject.state.known
        hidden = [p for p in subject.model.parameters() if id(p) not in known]
        with State(*hidden):
            result = subject.call(partial(loud, subject), subject.given)
        yield LOUDLY, result
    padding = ~subject.real[0]
    if subject.last == 1 and padding.any():
        source = inputs[0].clone()
        source[0] = source[padding][0]
        yield PADDED, subject.run(source, inputs[1])


def loud(subject: Any, *given: Tensor, times: float = LOUD) -> Tensor:
    """Run a model with larger weights, each of them larger once, however
    many names it has. `Subject.call` puts them back."""
    weights = {x.data_ptr(): x for x in subject.model.parameters()}
    for x in weights.values():
        if x.ndim > 1 and x.is_floating_point():
            x.mul_(times)
    return subject.made(*given)


@check
def repeatable(subject: Subject) -> Verdict:
    """See whether two runs in evaluation agree, whatever random numbers
    they are offered, and leave the inputs as they were."""
    if written := overwritten(subject):
        return of_written(subject, *written)
    apart = after_others(subject)
    if not apart.any():
        return True, "Two runs in evaluation give the same numbers.", apart
    if not (again := between_two(subject)).any():
        says = (
            "A run gives other numbers after one of other rows. Look for what "
            "the model keeps of a run, such as a mask, and when it is made "
            "anew."
        )
        return False, says, apart
    says = (
        "Two runs in evaluation differ. Look for dropout that does not ask "
        "whether the model is in training, and for weights drawn anew."
    )
    return False, says, again


def overwritten(subject: Subject) -> tuple[int, Tensor] | None:
    """Find an input that a run writes into, and where: (B, T)."""
    _, found = twice(few_outputs(subject))
    return next(((i, where) for i, where in found if where.any()), None)


def of_written(subject: Subject, which: int, where: Tensor) -> Verdict:
    """Say that a run writes into an input: of ids, nobody's but the caller's
    are changed; a part of a model may be given vectors to write into."""
    side, name = subject.sides[which], subject.names[which]
    known = f"{side} ({name})" if name not in ("", side) else side
    says = (
        f"A run writes into its {known}: whoever called the model has another "
        "one afterwards. Look for what writes in place: x[...] = ..., x += "
        "..., and functions such as masked_fill_. Clone it first."
    )
    if subject.inputs[which].is_floating_point():
        return False, says, flat_rows(where.float()).amax(-1), UNUSUAL
    return False, says, flat_rows(where.float()).amax(-1)


def between_two(subject: Subject) -> Tensor:
    """How far each row is from where it was a run before."""
    (one, other), _ = twice(few_outputs(subject))
    return flat_rows((one - other).abs()).amax(-1)


def after_others(subject: Subject) -> Tensor:
    """How far each row is from where it is alone, after a run of others, and
    with other random numbers."""
    subject = few_outputs(subject)
    others = with_rows(subject, lambda x: x.roll(1, 0).flip(1))

    def ask(*given: Any) -> Tensor:
        subject.made(*others)
        return subject.made(*given).nan_to_num()

    try:
        after = subject.call(ask, subject.given, seed=1)
    except (FailedError, RuntimeError):  # the others do not fit
        return between_two(subject)
    return flat_rows((after - still(subject).nan_to_num()).abs()).amax(-1)


Written = list[tuple[int, Tensor]]  # which inputs, and where


@once
def twice(subject: Subject) -> tuple[list[Tensor], Written]:
    """Run a model two times, one after the other; and see which inputs the
    first run has written into."""
    every = enumerate(subject.inputs)
    was = [(i, x, x.clone()) for i, x in every if isinstance(x, Tensor)]

    def ask(*given: Tensor) -> tuple[list[Tensor], Written]:
        runs = [subject.made(*given).nan_to_num()]
        found = [(i, (x != y) & ~(x.isnan() & y.isnan())) for i, x, y in was]
        seed_all(1)
        return [*runs, subject.made(*given).nan_to_num()], found

    return subject.call(ask, subject.given)


@check
def logits(subject: Subject) -> Verdict:
    """See whether the outputs are logits: the loss has the softmax."""
    outputs = undisturbed(subject)
    sums = outputs.flatten(2).sum(-1)
    outputs = outputs[subject.real[-1]]
    off = (sums - 1)[subject.real[-1]].abs().max()
    if outputs.shape[-1] > 1 and outputs.min() >= 0 and off < 1e-3:
        says = (
            "The outputs are probabilities: each row sums to 1. A loss such "
            "as cross_entropy has a softmax of its own: give it logits."
        )
        return False, says, sums
    return True, "The outputs are no probabilities yet.", sums


def flat_rows(x: Tensor) -> Tensor:
    """Put all numbers of a row into one axis: (B, T, ...) -> (B, T, N)."""
    return x[(..., *[None] * (3 - x.ndim))].flatten(2)


def judged(subject: Subject, x: Tensor) -> Tensor:
    """Tell which rows are judged: (B, T). Nobody reads what comes out at
    padding."""
    real, shape = subject.real[-1], (*x.shape, 1, 1)[:2]
    return real if real.shape == shape else torch.ones(shape) > 0

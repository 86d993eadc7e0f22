"""Numbers: finite, repeatable, logits at the end, of a healthy size."""

import math
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from shapewatch.properties.attention_parts import all_attentions
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.gradients import largest_number
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.perturbation import (
    AddNoise,
    baseline_output,
    gives_one_row,
    raw_output,
    watch_modules,
    with_rows,
)
from shapewatch.properties.subject import (
    NotJudgedError,
    Subject,
    once,
    with_model,
)
from shapewatch.properties.versions import in_double
from shapewatch.tracing.record.state import State, seed_all
from shapewatch.tracing.record.tensors import tensors

LOUD, LOUDLY = 30.0, "with weights 30 times larger"
PADDING_ALONE = "for a source of padding alone"
WHERE = "trace(model, ...).first_nan() names the call that makes the first."
BARE = "Other models do that, too: such a row must then never come."
FAST = "Only PyTorch's fast path gives them, in evaluation."


@check
def finite(subject: Subject) -> Verdict:
    """Check that all outputs are numbers: for the model as it is, with weights
    30 times as large, and for a sentence of padding only.

    One NaN spreads to all weights in a single step of training.

    - Changes: all matrices, which become 30 times as large; and the source,
      which becomes nothing but padding.
    - Looks at: the outputs of all words.
    - Says: how many are NaN or infinite, and when. Unusual: only for a source
      of padding, or only where PyTorch runs its fused encoder layer.
    """
    loudly = ""
    for when, result in runs_to_judge(subject):
        rows = flat_rows(result.isfinite().float()).mean(-1)
        if not (rows < 1)[unpadded_rows(subject, result)].any():
            loudly = loudly or f", also {LOUDLY}" * (when == LOUDLY)
        else:
            share = 1 - result.isfinite().double().mean().item()
            says = (
                f"{share:.0%} of the outputs are NaN or infinite {when}. "
                "Look at the softmax (does it take the largest score away "
                "first?), and for rows with nothing to attend to."
            )
            if finite_when_slow(subject, when):
                return False, f"{says} {FAST}", rows, UNUSUAL
            if when == PADDING_ALONE:
                return False, f"{says} {BARE}", rows, UNUSUAL
            if when != LOUDLY:
                return False, f"{says} {WHERE}", rows
            if all_attentions(subject) and not merely_grows(subject):
                return False, says, rows
    return True, f"All outputs are numbers{loudly}.", rows


def finite_when_slow(subject: Subject, when: str) -> bool:
    """Whether outputs are numbers off the fast path of PyTorch's layers."""
    with AddNoise([], []):
        slowly = dict(runs_to_judge(with_model(subject, subject.model)))[when]
    return bool(slowly.isfinite()[unpadded_rows(subject, slowly)].all())


def runs_to_judge(subject: Subject) -> Iterator[tuple[str, Tensor]]:
    """Run as it is, loudly, and with a sentence of padding alone."""
    inputs = subject.inputs
    yield "as it is", raw_output(subject)
    if isinstance(subject.model, nn.Module):
        known, every = subject.state.known, subject.model.parameters()
        with State(*(p for p in every if id(p) not in known)):
            result = subject.call(partial(loud, subject), subject.given)
        yield LOUDLY, result
    padding = ~subject.real[0]
    if subject.last == 1 and padding.any():
        source = inputs[0].clone()
        source[0] = source[padding][0]
        yield PADDING_ALONE, subject.run(source, inputs[1])


def merely_grows(subject: Subject) -> bool:
    """Whether numbers grow with loud weights, in double precision, from
    module to module, until their squares are too large for the model's."""
    largest, most = [0.0], torch.finfo(raw_output(subject).dtype).max

    def note(*seen: Any) -> None:
        floats = (x for x in tensors(seen[-1]) if x.is_floating_point())
        largest.extend(largest_number(x[x.isfinite()]) for x in floats)

    with suppress(NotJudgedError, FailedError):
        double = in_double(subject)
        with watch_modules(double.model, note):
            double.call(partial(loud, double), double.given)
        return max(largest) ** 2 > most
    return True  # nobody can tell


def loud(subject: Any, *given: Tensor) -> Tensor:
    """Run a model with each weight larger; `Subject.call` puts them back."""
    weights = {x.data_ptr(): x for x in subject.model.parameters()}
    for x in weights.values():
        if x.ndim > 1 and x.is_floating_point():
            x.mul_(LOUD)
    return subject.outputs_of(*given)


@check
def repeatable(subject: Subject) -> Verdict:
    """Check that two runs in evaluation mode agree, with different random
    numbers, and that they leave the inputs unchanged.

    Evaluation has no dropout, and a model keeps nothing of a run.

    - Changes: the seed; and a run of other rows comes between.
    - Looks at: the outputs of both runs, and at the inputs afterwards.
    - Says: that runs differ, or which input was written into. Unusual: that
      input was of vectors, not of ids.
    """
    if written := overwritten(subject):
        return overwrite_verdict(subject, *written)
    apart = after_others(subject)
    if not apart.any():
        return True, "Two runs in evaluation give the same numbers.", apart
    if not (again := between_two(subject)).any():
        says = (
            "A run gives different numbers after a run on other rows. Look "
            "for what the model keeps from a run, such as a mask, and when it "
            "is rebuilt."
        )
        return False, says, apart
    says = (
        "Two runs in evaluation differ. Look for dropout that ignores "
        "self.training, and for weights that each run draws again."
    )
    return False, says, again


def overwritten(subject: Subject) -> tuple[int, Tensor] | None:
    """Find an input that a run writes into, and where: (B, T)."""
    _, writes = two_runs(subject)
    return next(((i, where) for i, where in writes if where.any()), None)


def overwrite_verdict(subject: Subject, which: int, where: Tensor) -> Verdict:
    """Say that a run writes into an input, which is the caller's."""
    side, name = subject.side(which), subject.names[subject.places[which]]
    called = f"{side} ({name})" if name not in ("", side) else side
    says = (
        f"A run writes into its {called}: after the call, the caller's tensor "
        "has changed. Look for in-place operations: x[...] = ..., x += ..., "
        "and functions such as masked_fill_. Clone it first."
    )
    level = UNUSUAL if subject.inputs[which].is_floating_point() else BROKEN
    return False, says, flat_rows(where.float()).amax(-1), level


def between_two(subject: Subject) -> Tensor:
    """How far each row is from where it was a run before."""
    (before, other), _ = two_runs(subject)
    return flat_rows((before - other).abs()).amax(-1)


def after_others(subject: Subject) -> Tensor:
    """How far each row moves after a run of other rows, at another seed."""
    others = with_rows(subject, lambda x: x.roll(1, 0).flip(int(x.ndim > 1)))

    def ask(*given: Any) -> Tensor:
        subject.outputs_of(*others)
        return subject.outputs_of(*given).nan_to_num()

    try:
        after = subject.call(ask, subject.given, seed=1)
    except (FailedError, RuntimeError):  # the others do not fit
        return between_two(subject)
    return flat_rows((after - raw_output(subject).nan_to_num()).abs()).amax(-1)


Overwrites = list[tuple[int, Tensor]]  # which inputs, and where


@once
def two_runs(subject: Subject) -> tuple[list[Tensor], Overwrites]:
    """Run a model twice; and see which inputs the first run wrote into."""
    every = enumerate(subject.inputs)
    was = [(i, x, x.clone()) for i, x in every if isinstance(x, Tensor)]

    def ask(*given: Tensor) -> tuple[list[Tensor], Overwrites]:
        runs = [subject.outputs_of(*given).nan_to_num()]
        writes = [(i, (x != y) & ~(x.isnan() & y.isnan())) for i, x, y in was]
        seed_all(1)
        return [*runs, subject.outputs_of(*given).nan_to_num()], writes

    return subject.call(ask, subject.given)


MOST_TIMES = 1.5  # times the loss of a guess


@check
def logits(subject: Subject) -> Verdict:
    """Check that the outputs are logits, since the loss applies the softmax,
    and that the loss of the next words is at most ln V, that of a blind guess
    among V words. A higher loss means that a new model is sure without reason.

    - Changes: nothing.
    - Looks at: whether the outputs of each position are shares of 1, and at
      their cross-entropy (in nats) with the ids that come next.
    - Says: that they are probabilities. Unusual: the loss is more than 1.5
      times ln V.
    """
    outputs = baseline_output(subject)
    sums = outputs.flatten(2).sum(-1)
    real = subject.real[-1]
    off = (sums - 1)[real].abs().max()
    if outputs.shape[-1] > 1 and outputs[real].min() >= 0 and off < 1e-3:
        says = (
            "The outputs are probabilities: each row sums to 1. A loss such "
            "as cross_entropy applies a softmax itself: give it logits."
        )
        return False, says, sums
    losses = losses_of(subject)
    if losses is None:
        return True, "The outputs are not probabilities yet.", sums
    loss = losses.sum().item() / losses.count_nonzero().clamp(min=1).item()
    size, guess = outputs.shape[-1], math.log(outputs.shape[-1])
    says = f"The loss of the next words is {loss:.2f}; a guess among {size} "
    says += f"words has ln {size} = {guess:.2f}."
    if not loss > MOST_TIMES * guess:
        return True, says, losses
    says += (
        " If the model is new, its first weights are too large: look at the "
        "standard deviation of embeddings and of the head. If it is trained, "
        "it was not trained on words like these."
    )
    return False, says, losses, UNUSUAL


def losses_of(subject: Subject) -> Tensor | None:
    """Give the loss of each next word, (B, T - 1); None without logits."""
    outputs, ids = baseline_output(subject), subject.inputs[-1]
    words = not ids.is_floating_point() and outputs.ndim == 3
    real = subject.real[-1]
    both = real[:, 1:] & real[:, :-1]
    judged = words and subject.causal and ids.max() < outputs.shape[-1]
    if not judged or not both.any() or gives_one_row(subject):
        return None
    losses = outputs.new_zeros(both.shape)
    pairs = outputs[:, :-1][both], ids[:, 1:][both]
    losses[both] = cross_entropy(*pairs, reduction="none")
    return losses


def flat_rows(x: Tensor) -> Tensor:
    """Put all numbers of a row into one axis: (B, T, ...) -> (B, T, N)."""
    return x[(..., *[None] * (3 - x.ndim))].flatten(2)


def unpadded_rows(subject: Subject, x: Tensor) -> Tensor:
    """Tell which rows are judged, which are not padding: (B, T)."""
    shape = (*x.shape, 1, 1)[:2]
    if subject.inputs[-1].shape[:2] == shape:
        return subject.real[-1]
    return torch.ones(shape) > 0

"""The future, which a position must not hear: asked by pushing vectors, with
other ids, with shorter inputs, and in training."""

from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.properties.copies import Run, moved
from shapewatch.properties.distances import (
    judged_by_position,
    only_looked_up,
)
from shapewatch.properties.few import few_outputs
from shapewatch.properties.finding import Verdict, check
from shapewatch.properties.numbers import between_two
from shapewatch.properties.reach import (
    FAINT,
    culprit,
    distance,
    nudged,
    reach,
    rounding,
    spread,
    tried,
    undisturbed,
)
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    like,
    whole,
)
from shapewatch.properties.variants import InTraining

LENGTHS = 8  # how many shorter inputs are tried
REFUSED = "Shorter inputs are refused."


@check
def causality(subject: Subject) -> Verdict:
    """See whether a position hears later ones: it must not.

    It is asked in four ways: later vectors are pushed; later ids become
    others; the input ends earlier; and, in training, with the same random
    numbers, the first two at once.

    Vaswani et al. (2017), section 3.2.3.
    """
    if not subject.causal:
        raise NotJudgedError("The future may be heard here: causal=False.")
    judged_by_position(subject)
    if subject.inputs[-1].shape[1] < 2:
        raise NotJudgedError("There is one position only: none is later.")
    seen, refused = [], []
    for way, sentence in WAYS.items():
        try:
            moves = way(subject)
        except NotJudgedError as reason:
            refused.append(str(reason))
            continue
        future = moves.triu(1) * subject.real[-1][:, :, None] > 0
        if future.any():
            b, t, s = future.nonzero()[0].tolist()
            return False, sentence(subject, b, t, s), moves[b]
        seen.append(moves[0])
    if not seen:
        raise NotJudgedError(refused[0])
    says = ["No position hears a later one.", REFUSED]
    held = " ".join(says[: 1 + (REFUSED in refused)])
    return True, held + tried(subject, subject.last), seen[0]


def with_pushed_vectors(subject: Subject) -> Tensor:
    """How far positions move when another one is pushed: (B, T, T)."""
    return reach(subject, subject.last)


def pushed_words(subject: Subject, b: int, t: int, s: int) -> str:
    """Say that a position moves when a later one is pushed."""
    place = culprit(subject, subject.last, b, s, list(range(s)))
    return (
        f"Row {b}: position {t} moves when position {s}, a later one, "
        f"does{place}. Look at the causal mask, and at what mixes positions."
    )


def with_other_ids(subject: Subject) -> Tensor:
    """How far positions move when the ids from another one on are others:
    (B, T, T). Where these are only looked up, it is 0: their vectors are
    pushed."""
    few = few_outputs(subject)
    if only_looked_up(few, few.last):
        return columns(few, {})
    every = range(1, subject.inputs[-1].shape[1])
    steps = spread(every, max(2, subject.positions // 2))
    runs = [Run(with_others(subject, s), []) for s in steps]
    return columns(few, dict(zip(steps, moved(few, runs))))


def other_ids_words(subject: Subject, b: int, t: int, s: int) -> str:
    """Say that a position moves when later ids are others."""
    return (
        f"Row {b}: position {t} moves when the ids from position {s} on, "
        "which are later, become others. Look at what reads ids besides the "
        "embedding: a mask, a bias, what is added to the logits."
    )


def with_shorter_inputs(subject: Subject) -> Tensor:
    """How far positions move when the input ends before another one:
    (B, T, T). Of the lengths, none is a power of two."""
    same = not between_two(subject).any()
    subject = few_outputs(subject)
    before, found = undisturbed(subject), {}
    if not same and not subject.run(seed=1).equal(before):
        raise NotJudgedError("Two runs in evaluation differ.")
    odd = [n for n in range(3, before.shape[1]) if n & (n - 1)]
    for n in odd[:: 1 + len(odd) // LENGTHS]:
        try:
            after = subject.call(subject.made, shorter(subject, n))
        except FailedError:
            continue
        if after.shape[:2] == before[:, :n].shape[:2]:
            whole = torch.cat([after, before[:, n:]], 1)
            found[n] = distance(subject, whole, rounding(subject))
    if odd and not found:
        raise NotJudgedError(REFUSED)
    return columns(subject, found)


def shorter_words(subject: Subject, b: int, t: int, s: int) -> str:
    """Say that a position moves when later ones are not there."""
    return (
        f"Row {b}: position {t} is another one when the input ends before "
        f"position {s}. Look at what depends on the length: masks, positions, "
        "means."
    )


def in_training(subject: Subject) -> Tensor:
    """How far positions move in training, where the random numbers are the
    same, when all from another one on are pushed, and others: (B, T, T)."""
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function is never in training.")
    few, last, found = few_outputs(subject), subject.last, dict[int, Tensor]()
    model: Any = few.model
    trained = like(few, InTraining(model))
    before = undisturbed(trained, last)
    if before.equal(undisturbed(few, last)):  # it is the same function
        return columns(few, found)
    with nudged(trained.inputs, [], last) as nudge:
        again = trained.run(*nudge.inputs)
    if not again.equal(before):
        raise NotJudgedError("In training, two runs differ.")
    for s in {1, before.shape[1] // 2, before.shape[1] - 1} - {0}:
        pushed = changed(trained, s)
        found[s] = distance(trained, pushed, FAINT, last)
    return columns(subject, found)


def training_words(subject: Subject, b: int, t: int, s: int) -> str:
    """Say that a position moves in training when later ones do."""
    return (
        f"Row {b}: in training, position {t} moves when those from position "
        f"{s} on, which are later, do. Look at norms over positions, such as "
        "batch-norm, and at masks that are left out in training."
    )


def changed(subject: Subject, s: int) -> Tensor:
    """Run with all positions from one on pushed, and their ids replaced."""
    others = with_others(subject, s)
    with nudged(others, slice(s, None), subject.last) as nudge:
        return subject.run(*nudge.inputs)


def with_others(subject: Subject, s: int) -> list[Tensor]:
    """Give inputs whose last ids, from a position on, are other words that
    occur there; padding stays. Vectors stay as they are."""
    *rest, ids = subject.inputs
    real = subject.real[-1]
    known = ids[real].unique() if not ids.is_floating_point() else ids[:0]
    later = real & (torch.arange(ids.shape[1]) >= s)
    if len(known) < 2:
        raise NotJudgedError("There are no other ids.")
    nth = torch.searchsorted(known, ids.contiguous())
    others = known[(nth + 1) % len(known)]
    return [*rest, torch.where(later, others, ids)]


def shorter(subject: Subject, n: int) -> tuple:
    """Cut the last sequence to n positions; and of what is no sequence, such
    as a mask, all axes of just as many as it had."""
    *rest, last = subject.inputs
    length, cuts = last.shape[1], (*rest, last[:, :n].contiguous())

    def cut(x: Any) -> Any:
        if not isinstance(x, Tensor) or any(x is y for y in cuts):
            return x
        parts = (slice(n if m == length else None) for m in x.shape)
        return x[tuple(parts)].contiguous()

    return tuple(map(cut, whole(subject, cuts)))


def columns(subject: Subject, found: dict[int, Tensor]) -> Tensor:
    """Put what was found for some positions into a matrix (B, T, T)."""
    none = torch.zeros(subject.inputs[-1].shape[:2])
    every = range(none.shape[1])
    return torch.stack([found.get(s, none) for s in every], -1)


WAYS = {
    with_pushed_vectors: pushed_words,
    with_other_ids: other_ids_words,
    with_shorter_inputs: shorter_words,
    in_training: training_words,
}

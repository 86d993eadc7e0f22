"""Dependence: which outputs depend on which inputs, and on which they must
not."""

from collections.abc import Sequence
from contextlib import suppress

import torch
from torch import Tensor, nn

from shapewatch.properties.attention_parts import (
    AttentionParts,
    attention_roles,
    joined_inputs,
)
from shapewatch.properties.finding import (
    FUTURE,
    UNUSUAL,
    Verdict,
    check,
    whatever_weights,
)
from shapewatch.properties.masks import OF_TARGET
from shapewatch.properties.numbers import between_two
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.past import like_padding
from shapewatch.properties.perturbation import (
    FAINT,
    baseline_output,
    depends_on,
    distance,
    evenly_spaced,
    first,
    first_cause,
    judged_by_position,
    reach,
    rounding_tolerance,
    sampled_text,
    with_noise_added,
)
from shapewatch.properties.subject import NotJudgedError, Subject, with_model
from shapewatch.properties.versions import TrainingModel
from shapewatch.tracing.record.tensors import tensors

REFUSED_LENGTHS = "Shorter inputs are refused."
SOURCE, TARGET = (True, False), (False, True)
CROSS = [TARGET, SOURCE, SOURCE]
ROLES_HINT = (
    "Look at the arguments of cross-attention: queries come from the target, "
    "keys and values both from the source."
)


@check
def causality(subject: Subject) -> Verdict:
    """Check that no position depends on later ones.

    A model that can read the next word learns to copy it, not to predict it.
    Vaswani et al. (2017), section 3.2.3.

    - Changes: later vectors, by noise; later ids; where the input ends. Then
      vectors and ids together, in training mode with a fixed seed.
    - Looks at: the outputs of earlier positions.
    - Says: which output changes with which later input, in which of these
      runs, and in which module first.
    """
    if not subject.causal:
        raise NotJudgedError(FUTURE)
    judged_by_position(subject)
    if subject.inputs[-1].shape[1] < 2:
        raise NotJudgedError("There is only one position, and none after it.")
    matrices, refused = [], []
    for moves_of, says in CAUSAL_RUNS:
        try:
            moves = moves_of(subject)
        except NotJudgedError as reason:
            refused.append(str(reason))
            continue
        future = moves.triu(1) * subject.real[-1][:, :, None] > 0
        if future.any():
            b, t, s = first(future)
            place = ""
            if "{place}" in says:
                place = first_cause(subject, subject.last, b, s, [*range(s)])
            return False, says.format(b=b, t=t, s=s, place=place), moves[b]
        matrices.append(moves[0])
    if not matrices:
        raise NotJudgedError(refused[0])
    says = "No position depends on a later one."
    says += f" {REFUSED_LENGTHS}" * (REFUSED_LENGTHS in refused)
    return True, says + sampled_text(subject, subject.last), matrices[0]


def reach_of_joined(subject: Subject) -> Tensor:
    """How far positions move with each of the last input, and of inputs that
    are joined to it: (B, T, T)."""
    moves = [reach(subject, i) for i in joined_inputs(subject)]
    return torch.stack(moves).sum(0)


def with_other_ids(subject: Subject) -> Tensor:
    """How far positions move when the ids from one on change: (B, T, T)."""
    every = range(1, subject.inputs[-1].shape[1])
    some = evenly_spaced(every, max(2, subject.positions // 2))
    columns = dict[int, Tensor]()
    for s in some:
        after = subject.run(*with_others(subject, s))
        columns[s] = distance(subject, after)
    return as_columns(subject, columns)


def with_shorter_inputs(subject: Subject) -> Tensor:
    """How far positions move when the input ends before one: (B, T, T)."""
    last, columns = subject.last, dict[int, Tensor]()
    before = baseline_output(subject)
    if between_two(subject).any():
        raise NotJudgedError("Two runs in evaluation differ.")
    allowed = rounding_tolerance(subject)
    odd = [n for n in range(3, before.shape[1]) if n & (n - 1)]
    for n in odd[:: 1 + len(odd) // 8]:
        with suppress(FailedError):
            shorter = part_of(subject, last, slice(n))
            after = subject.call(subject.outputs_of, shorter)
            if after.shape[:2] == before[:, :n].shape[:2]:
                joined = torch.cat([after, before[:, n:]], 1)
                columns[n] = distance(subject, joined, allowed)
    if odd and not columns:
        raise NotJudgedError(REFUSED_LENGTHS)
    return as_columns(subject, columns)


def in_training(subject: Subject) -> Tensor:
    """How far positions move in training, where the random numbers are the
    same, when all from another one on are pushed, and others: (B, T, T)."""
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function is never in training.")
    last, columns = subject.last, dict[int, Tensor]()
    trained = with_model(subject, TrainingModel(subject.model))
    before = baseline_output(trained, last)
    if before.equal(baseline_output(subject, last)):  # it is the same function
        return as_columns(subject, columns)

    def run(inputs: Sequence[Tensor], pushed: list[int] | slice) -> Tensor:
        with with_noise_added(inputs, pushed, last) as nudge:
            return trained.run(*nudge.inputs)

    if not run(trained.inputs, []).equal(before):
        raise NotJudgedError("In training, two runs differ.")
    for s in {1, before.shape[1] // 2, before.shape[1] - 1} - {0}:
        after = run(with_others(trained, s), slice(s, None))
        columns[s] = distance(trained, after, FAINT, last)
    return as_columns(subject, columns)


def with_others(subject: Subject, s: int) -> list[Tensor]:
    """Give inputs whose last ids, from a position on, are other words that
    occur there; padding stays. Vectors stay as they are."""
    *rest, ids = subject.inputs
    real = subject.real[-1]
    words = ids[real].unique() if not ids.is_floating_point() else ids[:0]
    later = real & (torch.arange(ids.shape[1]) >= s)
    if len(words) < 2:
        raise NotJudgedError("There are no other ids.")
    nth = torch.searchsorted(words, ids.contiguous())
    others = words[(nth + 1) % len(words)]
    return [*rest, torch.where(later, others, ids)]


def as_columns(subject: Subject, columns: dict[int, Tensor]) -> Tensor:
    """Put what was found for some positions into a matrix (B, T, T)."""
    none = torch.zeros(subject.inputs[-1].shape[:2])
    every = range(none.shape[1])
    return torch.stack([columns.get(s, none) for s in every], -1)


CAUSAL_RUNS = (
    (
        reach_of_joined,
        "Sequence {b}: position {t} moves when position {s}, a later one, "
        "does{place}. Look at the causal mask, and at what mixes positions.",
    ),
    (
        with_other_ids,
        "Sequence {b}: position {t} moves when the ids from position {s} on, "
        "which are later, change. Look at what reads ids besides the "
        "embedding: a mask, a bias, what is added to the logits.",
    ),
    (
        with_shorter_inputs,
        "Sequence {b}: position {t} changes when the input ends before "
        "position {s}. Look at what depends on the length: masks, positions, "
        "means.",
    ),
    (
        in_training,
        "Sequence {b}: in training, position {t} moves when those from "
        "position {s} on, which are later, do. Look at norms over positions, "
        "such as batch-norm, and at masks that are left out in training.",
    ),
)


@check
@whatever_weights
def source_coverage(subject: Subject) -> Verdict:
    """Check that each output depends on the source, and that each target
    position gives some weight to each real source position, in some head of
    each cross-attention.

    The memory's mask hides padding alone. A source may also be read in
    another way, as by one attention over both.

    - Changes: the source, by noise, and the target.
    - Looks at: the weights of each cross-attention; which outputs change with
      the source; and whether queries, keys and values come from source or
      target.
    - Says: which position has no weight for which, and whether the roles are
      reversed. Unusual: one id of the source never has a weight.
    """
    if subject.last != 1:
        raise NotJudgedError("There is no source: the model has one input.")
    roles, moves = attention_roles(subject), reach(subject, 0)
    crossed = [attention for attention, sides in roles if sides == CROSS]
    for attention in crossed:
        if wrong := missed_source(subject, attention):
            return wrong
    unmoved = subject.real[-1] & ~depends_on(subject, 0, slice(None))
    if unmoved.any():
        b, t = first(unmoved)
        says = f"Sequence {b}: output {t} does not depend on the source."
        return False, f"{says} {ROLES_HINT}", moves[b]
    if crossed:
        says = "Each target position attends to the whole source."
        return True, says, moves[0]
    for attention, (q, k, v) in roles:
        if k != v or (q == SOURCE and k[1]):
            says = f"In {attention.path}, queries come from the source, or "
            says += f"keys and values from two inputs. {ROLES_HINT}"
            return False, says, moves[0]
    return True, "Each output depends on the source.", moves[0]


def missed_source(subject: Subject, parts: AttentionParts) -> Verdict | None:
    """Find a source position that a target position gives no weight to."""
    sizes = tuple(x.shape[1] for x in reversed(subject.inputs))
    if parts.weights.shape[-2:] != sizes:
        return None
    real, asks = subject.real
    weights = parts.weights.reshape(len(real), -1, *sizes).amax(1)
    missed = (weights == 0) & real[:, None] & asks[:, :, None]
    if not missed.any():
        return None
    b, t, s = first(missed)
    says = f"Sequence {b}: in {parts.path}, "
    if hint := like_padding(subject.inputs[0], missed.any(1)):
        says += f"source position {s} {hint}"
        return False, says, weights[b], UNUSUAL
    says += f"target position {t} gives no weight to source position {s}. "
    says += "Look at the memory's mask: it hides padding, and nothing else."
    return False, says, weights[b]


def owner_of(subject: Subject, i: int) -> int | None:
    """Say to which sequence something (B, T) belongs, or is; or None."""
    x = subject.given[i]
    if i in subject.places:
        return subject.places.index(i)
    if not isinstance(x, Tensor) or x.ndim != 2:
        return None
    every = enumerate(subject.inputs)
    alike = [which for which, y in every if y.shape[:2] == x.shape]
    last = bool(OF_TARGET.match(subject.names[i]))
    return alike[-last] if alike else None


def part_of(
    subject: Subject, which: int, part: slice, b: int | None = None
) -> tuple:
    """Give a part of a sequence, and of what lies along it; and one row of
    all, if it is said. FailedError where it cannot be known how."""
    rows, length = subject.inputs[which].shape[:2]
    lengths = [rows, *(x.shape[1] for x in subject.inputs)]
    unclear = b is not None and lengths.count(length) > 1
    every, cut = slice(None), []
    row = every if b is None else slice(b, b + 1)
    own = (said for said in subject.paddings if said.which == which)
    of_rows = {said.place: said for said in own if said.of_lengths}
    for i, x in enumerate(subject.given):
        if not isinstance(x, Tensor):
            if tensors(x):
                raise FailedError("Tensors lie in a list.")
        elif (of := owner_of(subject, i)) is not None:
            x = x[row, part if of == which else every].contiguous()
        elif i in of_rows:
            x = of_rows[i].cut(x[row], length, part)
        else:
            along = [size == length for size in x.shape]
            if any(along) and unclear:
                raise FailedError("Axes have the same size.")
            index = [part if here else every for here in along]
            if along and len(x) == rows != length:
                index[0] = row
            x = x[tuple(index)].contiguous()
        cut.append(x)
    return tuple(cut)

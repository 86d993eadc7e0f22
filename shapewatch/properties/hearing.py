"""Who hears whom: one's own sequence, the source, the order of words, and
other rows. Push a position, and see which outputs move."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations

import torch
from torch import Tensor

from shapewatch.properties.copies import rows_alone
from shapewatch.properties.distances import judged_by_position, pooled
from shapewatch.properties.few import few_outputs
from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.mixing import (
    crossing,
    followed,
)
from shapewatch.properties.order import hollow, unheard
from shapewatch.properties.reach import (
    asked,
    culprit,
    distance,
    hears,
    reach,
    rounding,
    tried,
)
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
)
from shapewatch.properties.variants import in_double, whatever_weights

USED = "Look at the padding mask: is it used in every attention?"
UNMIXED = "No position hears another one, and there is no attention."


@check
@whatever_weights
def past(subject: Subject) -> Verdict:
    """See whether each position hears itself, and one before it."""
    judged_by_position(subject)
    moves = reach(subject, subject.last)
    if moves.shape[1] == 1:
        raise NotJudgedError("There is one position only: nobody is before.")
    if not mixes(subject):
        raise NotJudgedError(UNMIXED)
    real = subject.real[-1] & ~moves.diagonal(dim1=1, dim2=2).isnan()
    itself = moves.diagonal(dim1=1, dim2=2) > 0
    deaf = ~(earlier(subject, moves) & itself) & real
    if not deaf.any():
        says = "Each position hears itself, and an earlier one."
        return True, says + tried(subject, subject.last), moves[0]
    b, t = first(deaf)
    if hint := like_padding(subject.inputs[-1], deaf):
        return False, f"Row {b}: position {t} {hint}", moves[b], UNUSUAL
    whom = "any position before it" if itself[b, t] else "itself"
    says = (
        f"Row {b}: position {t} does not hear {whom}. Look at the mask, and "
        "whether attention runs over positions."
    )
    return False, says, moves[b]


def like_padding(ids: Tensor, there: Tensor) -> str:
    """Say that one id, and no other, stands at some positions (B, T), as if
    it was padding; or ""."""
    found = ids[there].unique() if ids.ndim == 2 else ids[:0]
    if ids.is_floating_point() or len(found) != 1:
        return ""
    if not (ids == found).equal(there):
        return ""
    one = found.item()
    return (
        f"is not heard, nor is any other word of the id {one}, and all others "
        f"are. If it is padding, give pad={one}; if not, look at the mask."
    )


def earlier(subject: Subject, moves: Tensor) -> Tensor:
    """Which positions hear one before them: (B, T); nobody is before the
    first, which is not asked."""
    real = subject.real[-1]
    before = (moves.tril(-1) > 0).any(-1)
    before |= real.cumsum(1) - real.long() == 0
    for t in asked(subject, subject.last) if moves.isnan().any() else ():
        if not before[:, t].all():  # it may hear those that were left out
            before[:, t] |= hears(subject, subject.last, slice(t))[:, t]
    return before


@check
def padding_invariance(subject: Subject) -> Verdict:
    """See whether what stands at padding moves a real output: it must not."""
    real = subject.real
    padded = [which for which, x in enumerate(real) if not x.all()]
    if not padded:
        says = "There is no padding: give padded rows, and its id as pad=."
        raise NotJudgedError(says)
    for which in padded:
        moves = reach(subject, which)
        heard = (moves > 0) & ~real[which][:, None] & real[-1][:, :, None]
        if heard.any():
            b, t, s = first(heard)
            words = real[which][b].nonzero()[:, 0].tolist()
            place = culprit(subject, which, b, s, words)
            says = (
                f"Row {b}: output {t} moves when {subject.sides[which]} "
                f"position {s} does, which is padding{place}. Look at the "
                "padding mask: its id, its axis, and where it is used."
            )
            return False, says, moves[b]
    for b, t, which in filter(None, (longer(subject, x) for x in padded)):
        says = f"Row {b}: output {t} moves when one more padding stands at "
        says += f"the end of the {subject.sides[which]}. {USED}"
        return False, says, reach(subject, which)[b]
    seen = reach(subject, padded[0])[0]
    says = "What stands at padding moves nothing."
    return True, says + tried(subject, padded[0]), seen


def longer(subject: Subject, which: int) -> list[int] | None:
    """Find the row and position of an output that moves when an input is one
    padding longer, and which input that is."""
    x, real = subject.inputs[which], subject.real[which]
    if len(subject.given) != len(subject.inputs) or real[:, -1].all():
        return None
    end = x[~real][:1].expand(len(x), 1)
    inputs = [*subject.inputs]
    inputs[which] = torch.cat([x, end], 1)
    try:
        after = subject.run(*inputs)[:, : subject.inputs[-1].shape[1]]
        moves = distance(subject, after) > 10 * rounding(subject)
    except (FailedError, RuntimeError):  # it is as long as can be
        return None
    moves &= subject.real[-1]
    return [*first(moves), which] if moves.any() else None


@check
@whatever_weights
def unknown_words(subject: Subject) -> Verdict:
    """See whether unknown words are heard: they are words, not padding."""
    if not any(x.any() for x in subject.unknown):
        says = "There is no unknown word: give unknown=, and one."
        raise NotJudgedError(says)
    for which, x in enumerate(subject.unknown):
        heard = reach(subject, which) > 0
        could = subject.real[-1][:, :, None].expand_as(heard)
        if which == subject.last:  # only those who come later
            could = could.tril(-1)
        pushed = ~reach(subject, which)[:, 0].isnan()
        wrong = x & pushed & could.any(1) & ~(heard & could).any(1)
        if wrong.any():
            b, s = first(wrong)
            says = (
                f"Row {b}: nobody hears {subject.sides[which]} position {s}, "
                "an unknown word. Look at the padding mask: does it hide the "
                "id of unknown words?"
            )
            return False, says, reach(subject, which)[b]
    return True, "Unknown words are heard.", reach(subject, 0)[0]


@check
@whatever_weights
def source_dependence(subject: Subject) -> Verdict:
    """See whether each output hears the source, through an attention in
    which the target asks and the source answers."""
    if subject.last != 1:
        raise NotJudgedError("There is no source: the model has one input.")
    moves, b = reach(subject, 0), 0
    deaf = subject.real[-1] & ~(moves > 0).any(-1)
    if deaf.any() and moves.isnan().any():
        deaf &= ~hears(subject, 0, slice(None))
    if deaf.any():
        b, t = first(deaf)
        says = f"Row {b}: output {t} hears nothing of the source."
    elif not crossing(subject):
        says = (
            "In no attention does the target ask, and the source answer with "
            "both keys and values."
        )
    else:
        return True, "Each output hears the source.", moves[0]
    says += " Look at who is handed to cross-attention, and as what."
    return False, says, moves[b]


@check
@whatever_weights
def order_sensitivity(subject: Subject) -> Verdict:
    """See whether words that change places are noticed elsewhere."""
    judged = {}
    for which, p, q, moves in exchanges(subject):
        side = subject.sides[which]
        if moves.any():
            judged[side] = moves
        elif not mixes(subject):
            raise NotJudgedError(UNMIXED)
        elif not unordered(subject, side):
            says = (
                f"When {side} positions {p} and {q} change places, no other "
                "output moves. Look at the positions: are they added, and "
                "does each have its own?"
            )
            return False, says, moves
        if moves.any() and not unordered(subject, side):
            for verdict in filter(None, [unheard(subject, which)]):
                says, level = verdict
                return False, says, moves, level
    if says := hollow(subject.model):
        return False, says, torch.zeros(1, 1), UNUSUAL
    if not judged:
        raise NotJudgedError("No positions are asked for, or no words differ.")
    says = f"The order of the {' and the '.join(judged)} is heard."
    return True, says, next(iter(judged.values()))


def exchanges(subject: Subject) -> Iterator[tuple[int, int, int, Tensor]]:
    """Let two words of an input, before its last, change places: which it is,
    their positions, how far other outputs of the first row move (1, T)."""
    for which, x in enumerate(subject.inputs):
        real = subject.real[which][0].nonzero()[:-1, 0].tolist()
        pairs = combinations(real, 2)
        unlike = [(p, q) for p, q in pairs if not x[0, p].equal(x[0, q])]
        for p, q in unlike[:1]:
            inputs = [x.clone() for x in subject.inputs]
            inputs[which][:, [p, q]] = x[:, [q, p]]
            few = few_outputs(subject)
            moves = distance(few, few.run(*inputs))[:1]
            if 0 < moves.max() < rounding(few):
                moves = moves_in_double(few, inputs)[:1]
            if which == subject.last:
                moves[:, : q + 1] = 0
            yield which, p, q, moves


def moves_in_double(subject: Subject, inputs: list[Tensor]) -> Tensor:
    """How far outputs move, (B, T), where it may be rounding alone."""
    with suppress(NotJudgedError, FailedError):
        subject = in_double(subject)
    return distance(subject, subject.run(*inputs))


def mixes(subject: Subject) -> bool:
    """Whether a model hears other positions, or has any attention at all. Of
    one that does neither, such as a feed-forward net, nothing is asked."""
    if followed(subject):
        return True
    if pooled(subject):  # such as a mean of words
        return False
    moves = [reach(subject, which) for which in range(subject.last + 1)]
    own = torch.eye(moves[-1].shape[1])
    heard = [*moves[:-1], moves[-1] * (1 - own)]
    return any(bool((x > 0).any()) for x in heard)


def unordered(subject: Subject, side: str) -> bool:
    """Whether the model's config asks for no positions on a side."""
    theirs = getattr(subject.config, "src_positions", None)
    own = getattr(subject.config, "positions", None)
    return ((side == "source" and theirs) or own) == "none"


@check
def batch_independence(subject: Subject) -> Verdict:
    """See whether each row gives alone what it gives in a batch."""
    if len(subject.inputs[0]) < 2:
        raise NotJudgedError("There is one row only: give two.")
    few = few_outputs(subject)
    moved = rows_alone(few)
    wrong = (moved > rounding(few)) & subject.real[-1]
    if wrong.any():
        b, t = first(wrong)
        says = (
            f"Row {b}: output {t} is another one when the row is alone. Look "
            "for an axis that is taken for another: batch first or second, "
            "and what norms and softmax run over."
        )
        return False, says, moved
    return True, "Each row gives alone what it gives in a batch.", moved


def first(wrong: Tensor) -> list[int]:
    """Give the first place at which something is True."""
    return wrong.nonzero()[0].tolist()

"""The source, the order of words, and the company of other rows."""

from itertools import combinations

import torch
from torch import Tensor

from tformer_lite.properties.finding import Verdict, check
from tformer_lite.properties.hearing import first
from tformer_lite.properties.mixing import Mixing, Operand, mixings
from tformer_lite.properties.reach import FAINT, distance, reach
from tformer_lite.properties.subject import NotJudgedError, Subject


@check
def source_dependence(subject: Subject) -> Verdict:
    """See whether each output hears the source, through an attention in
    which the target asks and the source answers."""
    if subject.last != 1:
        raise NotJudgedError("There is no source: the model has one input.")
    moves = reach(subject, 0)
    deaf = subject.real[-1] & ~(moves > 0).any(-1)
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
    return False, says, moves[0]


@check
def source_coverage(subject: Subject) -> Verdict:
    """See whether each target position gives a weight to each real source
    position, in some head of each cross-attention."""
    found = crossing(subject) if subject.last == 1 else []
    if not found:
        raise NotJudgedError("No target asks a source in any attention.")
    real, asks = subject.real
    for one in found:
        size = one.weights.shape[-2:]
        weights = one.weights.reshape(len(real), -1, *size).amax(1)
        missed = (weights == 0) & real[:, None] & asks[:, :, None]
        if missed.any():
            b, t, s = first(missed)
            says = (
                f"Row {b}: in {one.path}, target position {t} gives no "
                f"weight to source position {s}. Look at the memory's mask: "
                "it hides padding, and nothing else."
            )
            return False, says, weights[b]
    return True, "Each target position hears the whole source.", weights[0]


def crossing(subject: Subject) -> list[Mixing]:
    """Find the attentions in which the target asks, and the source answers
    with both keys and values."""
    plain, by_source, by_target = (
        mixings(subject, *which) for which in ((), (0,), (1,))
    )
    return [
        one
        for one, source, target in zip(plain, by_source, by_target)
        if differ(one.q, target.q)
        and not (differ(one.k, target.k) or differ(one.v, target.v))
        and differ(one.k, source.k)
        and differ(one.v, source.v)
    ]


def differ(one: Operand, other: Operand) -> bool:
    """Whether queries, keys or values are not the same in two runs."""
    return not torch.allclose(one.matrix, other.matrix, atol=1e-5)


@check
def order_sensitivity(subject: Subject) -> Verdict:
    """See whether words that change places are noticed elsewhere."""
    judged = {}
    for which in range(len(subject.inputs)):
        found, side = exchange(subject, which), subject.side(which)
        if found is None:
            continue
        p, q, moves = found
        if moves.any():
            judged[side] = moves
        elif not unordered(subject, which):
            says = (
                f"When {side} positions {p} and {q} change places, nothing "
                "else moves. Look at the positions: are they added, and does "
                "each have its own?"
            )
            return False, says, moves
    if not judged:
        raise NotJudgedError("No positions are asked for, or no words differ.")
    says = f"The order of the {' and the '.join(judged)} is heard."
    return True, says, next(iter(judged.values()))


def exchange(subject: Subject, which: int) -> tuple[int, int, Tensor] | None:
    """Let two different words of the first sentence, before its last, change
    places: their positions, and how far its outputs move, but for those
    positions' own: (1, T). None where no words differ."""
    x = subject.inputs[which]
    real = subject.real[which][0].nonzero()[:-1, 0].tolist()
    for p, q in combinations(real, 2):
        if not x[0, p].equal(x[0, q]):
            inputs = [x.clone() for x in subject.inputs]
            inputs[which][:, [p, q]] = x[:, [q, p]]
            moves = distance(subject, subject.run(*inputs))[:1]
            if which == subject.last:
                moves[:, : q + 1] = 0
            return p, q, moves
    return None


def unordered(subject: Subject, which: int) -> bool:
    """Whether the model's config asks for no positions on that side."""
    own = getattr(subject.config, "positions", None)
    if subject.side(which) == "source":
        own = getattr(subject.config, "src_positions", None) or own
    return own == "none"


@check
def batch_independence(subject: Subject) -> Verdict:
    """See whether each row gives alone what it gives in a batch."""
    if len(subject.inputs[0]) < 2:
        raise NotJudgedError("There is one row only: give two.")
    rows = zip(*(x.split(1) for x in subject.inputs))
    alone = torch.cat([subject.run(*row) for row in rows])
    moved = distance(subject, alone)
    wrong = moved > 10 * FAINT
    if wrong.any():
        b, t = first(wrong)
        says = (
            f"Row {b}: output {t} is another one when the row is alone. Look "
            "for an axis that is taken for another: batch first or second, "
            "and what norms and softmax run over."
        )
        return False, says, moved
    return True, "Each row gives alone what it gives in a batch.", moved

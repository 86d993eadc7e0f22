"""The source, the order of words, and the company of other rows."""

from itertools import combinations

import torch
from torch import Tensor

from tformer_lite.properties.checking import Verdict, check
from tformer_lite.properties.hearing import first
from tformer_lite.properties.paths import Mixing, Operand, mixings
from tformer_lite.properties.subject import FAINT, NotJudgedError, Subject


@check
def source_dependence(subject: Subject) -> Verdict:
    """See whether each output hears the source, through an attention in
    which the target asks and the source answers."""
    if len(subject.inputs) != 2:
        raise NotJudgedError("There is no source: the model has one input.")
    reach = subject.reach(0)
    asks = subject.is_real(subject.target)
    deaf = asks & ~(reach > 0).any(-1)
    if deaf.any():
        b, t = first(deaf)
        says = (
            f"Row {b}: output {t} hears nothing of the source. Look at "
            "cross-attention: its keys and values are the memory's."
        )
        return False, says, reach[0]
    if not crossing(subject):
        says = (
            "In no attention does the target ask and the source answer with "
            "keys and values. Look at who is handed to cross-attention as "
            "what."
        )
        return False, says, reach[0]
    return True, "Each output hears the source.", reach[0]


@check
def source_coverage(subject: Subject) -> Verdict:
    """See whether each real source position gets a weight from each target
    position, in some head."""
    found = crossing(subject) if len(subject.inputs) == 2 else []
    if not found:
        raise NotJudgedError(
            "No attention has a target ask and a source answer."
        )
    real = subject.is_real(subject.inputs[0])
    asks = subject.is_real(subject.target)
    for one in found:
        heads = one.weights.reshape(len(real), -1, *one.weights.shape[-2:])
        weights = heads.amax(1)
        missed = (weights == 0) & real[:, None] & asks[:, :, None]
        if missed.any():
            b, t, s = first(missed)
            says = (
                f"Row {b}: in {one.path}, target position {t} gives no "
                f"weight to source position {s}. Look at the memory's mask: "
                "it hides padding, and nothing else."
            )
            return False, says, weights[0]
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
    judged = []
    for which, x in enumerate(subject.inputs):
        real = subject.is_real(x)[0].nonzero()[:, 0].tolist()
        pairs = [
            (p, q) for p, q in combinations(real[:-1], 2) if unlike(x, p, q)
        ]
        if not pairs or unordered(subject, which):
            continue
        p, q = pairs[0]
        moved = exchange(subject, which, p, q)
        rows = moved[0, real[-1]] if x is subject.target else moved[0].max()
        judged.append(subject.side(which))
        if rows == 0:
            says = (
                f"When {judged[-1]} positions {p} and {q} change places, "
                "nothing else moves. Look at the positions: are they added, "
                "and does each have its own?"
            )
            return False, says, moved
    if not judged:
        raise NotJudgedError("No positions are asked for, or no words differ.")
    return True, f"The order of the {' and '.join(judged)} is heard.", None


def exchange(subject: Subject, which: int, p: int, q: int) -> Tensor:
    """How far outputs move when two positions change places: (B, T)."""
    order = list(range(subject.inputs[which].shape[1]))
    order[p], order[q] = q, p
    inputs = list(subject.inputs)
    inputs[which] = inputs[which][:, order]
    return subject.distance(subject.run(*inputs))


def unlike(x: Tensor, p: int, q: int) -> bool:
    """Whether the first sentence has different words at two positions."""
    return not torch.equal(x[0, p], x[0, q])


def unordered(subject: Subject, which: int) -> bool:
    """Whether the model's config asks for no positions on that side."""
    own = getattr(subject.config, "positions", None)
    if subject.side(which) == "source":
        own = getattr(subject.config, "src_positions", None) or own
    return own == "none"


@check
def batch_independence(subject: Subject) -> Verdict:
    """See whether each row gives alone what it gives in a batch."""
    if len(subject.target) < 2:
        raise NotJudgedError("There is one row only: give two.")
    alone = [
        subject.run(*(x[[b]] for x in subject.inputs))
        for b in range(len(subject.target))
    ]
    moved = subject.distance(torch.cat(alone))
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

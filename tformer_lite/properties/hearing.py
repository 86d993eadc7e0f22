"""Who hears whom: push a position, and see which outputs move."""

from torch import Tensor

from tformer_lite.properties.finding import Verdict, check
from tformer_lite.properties.reach import culprit, reach
from tformer_lite.properties.subject import NotJudgedError, Subject


@check
def causality(subject: Subject) -> Verdict:
    """See whether a position hears later ones: it must not.

    Vaswani et al. (2017), section 3.2.3.
    """
    if not subject.causal:
        raise NotJudgedError("The future may be heard here: causal=False.")
    moves = reach(subject, subject.last)
    future = moves.triu(1) > 0
    if not future.any():
        return True, "No position hears a later one.", moves[0]
    b, t, s = first(future)
    place = culprit(subject, subject.last, b, s, list(range(s)))
    says = (
        f"Row {b}: position {t} moves when position {s}, a later one, "
        f"does{place}. Look at the causal mask, and at what mixes positions."
    )
    return False, says, moves[b]


@check
def past(subject: Subject) -> Verdict:
    """See whether each position hears itself, and one before it."""
    moves = reach(subject, subject.last)
    if moves.shape[1] == 1:
        raise NotJudgedError("There is one position only: nobody is before.")
    before = (moves.tril(-1) > 0).any(-1)
    before[:, 0] = True  # nobody is before the first
    itself = moves.diagonal(dim1=1, dim2=2) > 0
    deaf = ~(before & itself) & subject.real[-1]
    if not deaf.any():
        return True, "Each position hears itself, and one before.", moves[0]
    b, t = first(deaf)
    whom = "any position before it" if itself[b, t] else "itself"
    says = (
        f"Row {b}: position {t} does not hear {whom}. Look at the mask, and "
        "whether attention runs over positions."
    )
    return False, says, moves[b]


@check
def padding_invariance(subject: Subject) -> Verdict:
    """See whether what stands at padding moves a real output: it must not."""
    real = subject.real
    padded = [which for which, x in enumerate(real) if not x.all()]
    if not padded:
        says = "There is no padding: give pad=, and padded rows."
        raise NotJudgedError(says)
    for which in padded:
        moves = reach(subject, which)
        heard = (moves > 0) & ~real[which][:, None] & real[-1][:, :, None]
        if heard.any():
            b, t, s = first(heard)
            words = real[which][b].nonzero()[:, 0].tolist()
            place = culprit(subject, which, b, s, words)
            says = (
                f"Row {b}: output {t} moves when {subject.side(which)} "
                f"position {s} does, which is padding{place}. Look at the "
                "padding mask: its id, its axis, and where it is used."
            )
            return False, says, moves[b]
    seen = reach(subject, padded[0])[0]
    return True, "What stands at padding moves nothing.", seen


@check
def unknown_words(subject: Subject) -> Verdict:
    """See whether unknown words are heard: they are words, not padding."""
    if not any(x.any() for x in subject.unknown):
        says = "There is no unknown word: give unknown=, and one."
        raise NotJudgedError(says)
    for which, x in enumerate(subject.unknown):
        wrong = unheard(subject, which) & x
        if wrong.any():
            b, s = first(wrong)
            says = (
                f"Row {b}: nobody hears {subject.side(which)} position {s}, "
                "an unknown word. Look at the padding mask: does it hide the "
                "id of unknown words?"
            )
            return False, says, reach(subject, which)[b]
    return True, "Unknown words are heard.", reach(subject, 0)[0]


def unheard(subject: Subject, which: int) -> Tensor:
    """Which positions of an input nobody hears who could: (B, S).

    Of the target, those who could come later.
    """
    heard = reach(subject, which) > 0
    asks = subject.real[-1][:, :, None].expand_as(heard)
    if which == subject.last:
        asks = asks.tril(-1)
    return asks.any(1) & ~(heard & asks).any(1)


def first(wrong: Tensor) -> list[int]:
    """Give the first place at which something is True."""
    return wrong.nonzero()[0].tolist()

"""Who hears whom: push a position, and see which outputs move."""

from torch import Tensor

from tformer_lite.properties.checking import Verdict, check
from tformer_lite.properties.places import culprit
from tformer_lite.properties.subject import NotJudgedError, Subject


@check
def causality(subject: Subject) -> Verdict:
    """See whether a position hears later ones: it must not.

    Vaswani et al. (2017), section 3.2.3.
    """
    if not subject.causal:
        raise NotJudgedError(
            "The future need not be hidden here: causal=False."
        )
    reach = subject.reach(-1)
    future = reach.triu(1) > 0
    if not future.any():
        return True, "No position hears a later one.", reach[0]
    b, t, s = first(future)
    place = culprit(subject, -1, b, s, list(range(s)))
    says = (
        f"Row {b}: position {t} moves when position {s}, a later one, "
        f"does{place}. Look at the causal mask, and at what mixes positions."
    )
    return False, says, reach[0]


@check
def past(subject: Subject) -> Verdict:
    """See whether each position hears itself, and one before it."""
    reach = subject.reach(-1)
    before = (reach.tril(-1) > 0).any(-1)
    before[:, 0] = True  # nobody is before the first
    itself = reach.diagonal(dim1=1, dim2=2) > 0
    deaf = ~(before & itself) & subject.is_real(subject.target)
    if not deaf.any():
        return True, "Each position hears itself, and one before.", reach[0]
    b, t = first(deaf)
    whom = "any position before it" if itself[b, t] else "itself"
    says = (
        f"Row {b}: position {t} does not hear {whom}. Look at the mask, and "
        "whether attention runs over positions."
    )
    return False, says, reach[0]


@check
def padding_invariance(subject: Subject) -> Verdict:
    """See whether what stands at padding moves a real output: it must not."""
    seen = None
    for which, x in enumerate(subject.inputs):
        hidden = ~subject.is_real(x)
        if not hidden.any():
            continue
        reach = subject.reach(which)
        seen = reach[0] if seen is None else seen
        asks = subject.is_real(subject.target)
        heard = (reach > 0) & hidden[:, None] & asks[:, :, None]
        if heard.any():
            b, t, s = first(heard)
            real = (~hidden[b]).nonzero()[:, 0].tolist()
            place = culprit(subject, which, b, s, real)
            says = (
                f"Row {b}: output {t} moves when {subject.side(which)} "
                f"position {s} does, which is padding{place}. Look at the "
                "padding mask: its id, its axis, and where it is used."
            )
            return False, says, reach[0]
    if seen is None:
        raise NotJudgedError(
            "There is no padding: give pad=, and padded rows."
        )
    return True, "What stands at padding moves nothing.", seen


@check
def unknown_words(subject: Subject) -> Verdict:
    """See whether unknown words are heard: they are words, not padding."""
    seen = None
    for which, x in enumerate(subject.inputs):
        if x.is_floating_point() or subject.unknown is None:
            continue
        heard = subject.reach(which) > 0
        asks = subject.is_real(subject.target)[:, :, None].expand_as(heard)
        if x is subject.target:  # who hears it comes after it
            heard, asks = heard.tril(-1), asks.tril(-1)
        wrong = (x == subject.unknown) & asks.any(1) & ~heard.any(1)
        seen = subject.reach(which)[0] if seen is None else seen
        if wrong.any():
            b, s = first(wrong)
            says = (
                f"Row {b}: nobody hears {subject.side(which)} position {s}, "
                "an unknown word. Look at the padding mask: does it hide the "
                "id of unknown words?"
            )
            return False, says, subject.reach(which)[0]
    if not subject.has(subject.unknown):
        raise NotJudgedError(
            "There is no unknown word: give unknown=, and rows."
        )
    return True, "Unknown words are heard.", seen


def first(wrong: Tensor) -> list[int]:
    """Give the first place at which something is True."""
    return wrong.nonzero()[0].tolist()

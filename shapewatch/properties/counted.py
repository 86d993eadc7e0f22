"""Counted: which positions have a part in the loss: words, not [PAD]."""

from contextlib import suppress

import torch
from torch import Tensor

from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.labels import (
    Asked,
    following,
    share,
    standing,
    uniform,
)
from shapewatch.properties.puppets import played
from shapewatch.properties.softmax import over_words
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    is_id,
    whole,
)

FUTURE = "The future may be heard here: causal=False."
END = (
    ", the first one after the words. That is right only where [PAD] is the "
    "end of a text as well."
)


@check
def padding_in_loss(subject: Subject) -> Verdict:
    """See whether [PAD] has a part in the loss: as a label, or in the number
    that the sum is divided by."""
    found, pad = over_words(subject), subject.ids[0]
    if pad is None or not is_id(subject.inputs[-1], pad).any():
        says = "There is no padding: give padded rows, and its id as pad=."
        raise NotJudgedError(says)
    for one in found:
        wrong = pads_asked(subject, one)
        inner = wrong & (standing(one, 0) == pad)
        if wrong.any():
            b, t = (inner if inner.any() else wrong).nonzero()[0].tolist()
            says = f"Row {b}: the loss asks position {t} for [PAD]"
            if not inner.any():
                return False, says + END, one.pulls, UNUSUAL
            says += ". Look at ignore_index, or at the mask of the loss."
            return False, says, one.pulls
    if says := divided(found) or for_nothing(subject, found):
        return False, says, found[0].pulls, UNUSUAL
    return True, "No position is asked for [PAD].", found[0].pulls


def pads_asked(subject: Subject, one: Asked) -> Tensor:
    """Tell which positions are asked for padding: (B, T). All that count and
    should be, where it comes next or stands there; if some are not, what is
    asked for are no words."""
    pad, here = subject.ids[0], standing(one, 0)
    later = following(subject, one)
    for there in (later.where(later >= 0, here), here):
        wrong, places = is_id(one.words, pad), one.counts & is_id(there, pad)
        if not (wrong & ~places).any() and wrong[places].all():
            return wrong
    return torch.zeros_like(one.counts)


def divided(found: list[Asked]) -> str:
    """Say of a loss that it divides by the number of all positions, though
    only some count, or ""."""
    one = found[0]
    count, (b, t) = int(one.counts.sum()), one.words.shape
    for length in (t, t - 1):
        part = count / (b * length or 1)
        near = abs(one.pulls.sum().item() - part) < 1e-4 * part
        if len(found) == 1 and count < b * length and near:
            return (
                f"Of {b * length} positions {count} count, and their sum is "
                f"divided by {b * length}: the more padding, the less is "
                "learnt. Divide by the number of words."
            )
    return ""


def for_nothing(subject: Subject, found: list[Asked]) -> str:
    """Say of a loss that it is no number where a row is padding alone."""
    *others, target = subject.inputs
    if not any(one.counts[1:].any() for one in found):
        return ""
    empty = target.clone()
    empty[:1] = target[is_id(target, subject.ids[0])][0]
    given, even = (
        whole(subject, (*others, empty)),
        {one.site.at: uniform(one.site) for one in found},
    )
    with suppress(FailedError):
        loss, _ = played(subject, even, *given)
        if not loss.isfinite():
            return (
                f"The loss is {loss.item()} where a row is padding alone: "
                "that row has no words to divide by."
            )
    return ""


@check
def words_in_loss(subject: Subject) -> Verdict:
    """See whether every word is asked for: those that are not are no
    mistake where they are a prompt, at the start of rows."""
    found = over_words(subject)
    if not subject.causal:
        raise NotJudgedError(FUTURE)
    if not all(x.site.read.equal(found[0].site.read) for x in found):
        raise NotJudgedError("The loss runs the model on parts of the batch.")
    if share(subject, found, 1) < 1:
        raise NotJudgedError("It asks for other words: see `next_word`.")
    one = found[0]
    wanted = following(subject, one)
    real = (wanted >= 0) & ~is_id(wanted, subject.ids[0])
    missing = real & ~torch.stack([x.counts for x in found]).any(0)
    count = int(real.sum())
    if not missing.any():
        return True, f"All {count} words are asked for.", one.pulls
    if is_prompt(missing, real):
        says = f"{int(missing.sum())} of {count} words are a prompt."
        return True, f"{says} All others are asked for.", one.pulls
    says = where_missing(missing, real, wanted)
    return False, says, one.pulls, UNUSUAL


def is_prompt(missing: Tensor, real: Tensor) -> bool:
    """Whether it is the first words of rows that are missing, and more than
    one in some row; some are left in each."""
    asked = real & ~missing
    later = (asked.cumsum(1) > 0) & missing
    emptied = real.any(1) & ~asked.any(1)
    long = missing.sum(1).max() > 1
    return bool(long and not later.any() and not emptied.any())


def where_missing(missing: Tensor, real: Tensor, wanted: Tensor) -> str:
    """Say which words are not asked for."""
    count, (b, t) = int(missing.sum()), missing.nonzero()[0].tolist()
    rows = (real.any(1) & ~(real & ~missing).any(1)).nonzero()[:, 0].tolist()
    word = int(wanted[b, t])
    says = f"{count} of {int(real.sum())} words are not asked for: "
    if rows:
        return f"{says}none of row {rows[0]}. Look at how rows are chosen."
    if count > 1 and (missing == real & (wanted == word)).all():
        return f"{says}those of id {word}. Look at ignore_index."
    if not (missing & (real.flip(1).cumsum(1).flip(1) > 1)).any():
        return f"{says}the last of rows. Look at where rows are cut."
    if not missing[:, 1:].any():
        return f"{says}the second of rows. Look at where rows are cut."
    return f"{says}the first is id {word}, after position {t} of row {b}."

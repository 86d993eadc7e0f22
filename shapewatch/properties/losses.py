"""Losses: what a training loss asks of the model."""

from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from shapewatch.properties.finding import FUTURE, UNUSUAL, Verdict, check
from shapewatch.properties.inputs import is_id
from shapewatch.properties.loss_logits import (
    WantedWords,
    depends_on_logits,
    ids_at,
    labels,
    loss_form,
    loss_of_logits,
    loss_run,
    reaches_weights,
    share_at,
    uniform,
    wanted_words,
)
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.padding import no_padding
from shapewatch.properties.subject import (
    NotJudgedError,
    Subject,
    with_sequences,
)

ALIKE = "All words are alike: give rows of different words."
NEITHER = "The targets are not neighbours of the words that were read."
SHIFT_HINT = "Compare logits[:, :-1] with ids[:, 1:]."
RIGHT = "The target of each position is the word that comes next."
OTHER_ORDER_HINT = (
    "The targets are the words of other positions: logits and labels are "
    "flattened in different orders. Both are (B, T): look for a transpose, or "
    "a view instead of one."
)
FIRST_WORD_HINT = (
    "The target of the last position is the first word of its row: torch.roll "
    f"puts it there. Leave the last logits out. {SHIFT_HINT}"
)
SIGN_HINT = (
    "The loss falls when the words that come next get less likely. Look at "
    "its sign."
)
END_HINT = (
    ", the first one after the words. That is right only where [PAD] is the "
    "end of a text as well."
)
MASK_HINT = ". Look at ignore_index, or at the mask of the loss."
OFFSETS = {
    0: "word at that position, which was read: the model learns to copy. The "
    "labels are not shifted",
    2: "word after the next. The labels are shifted twice: some models shift "
    "them themselves",
    -1: "word before. The labels are shifted the wrong way",
}


@check
def next_word(subject: Subject) -> Verdict:
    """Check that the target of each position is the next word, not the one
    that it has read, and that the loss is one number whose gradient reaches
    the logits: otherwise nothing is learned.

    - Changes: the logits, while the loss runs: all words are equally likely.
    - Looks at: the gradient at the logits, which is largest at the word that
      the loss asks for.
    - Says: which words it asks for instead, and why nothing is learnt.
      Unusual: some positions are asked for other words.
    """
    nothing = torch.zeros(1, 1)
    try:
        loss, sites = loss_run(subject)
    except FailedError as error:
        says = f"The loss fails: {error}. {loss_form(subject)}"
        return False, says, nothing
    if wrong := no_number(subject, loss):
        return False, wrong, nothing
    wanted = wanted_words(subject)
    if not wanted:
        return False, why_unlearnt(subject, bool(sites)), nothing
    if not subject.causal:
        raise NotJudgedError(FUTURE)
    return of_next_words(subject, wanted)


def of_next_words(subject: Subject, wanted: list[WantedWords]) -> Verdict:
    """Judge which words a loss asks for."""
    pulls = wanted[0].pulls
    shares = {k: share_at(subject, wanted, k) for k in (1, *OFFSETS)}
    if shares[1] == shares[0] == 1:
        raise NotJudgedError(ALIKE)
    offset = next((k for k, share in shares.items() if share == 1), None)
    if offset in OFFSETS:
        says = f"The target of each position is the {OFFSETS[offset]}."
        return False, f"{says} {SHIFT_HINT}", pulls
    if offset == 1:
        if not pushes_words_up(wanted):
            return False, SIGN_HINT, pulls
        if wraps_round(wanted):
            return False, FIRST_WORD_HINT, pulls
        return True, RIGHT, pulls
    if wrong := mixed_up(subject, wanted):
        return False, wrong, pulls
    if shares[1] < 0.5:
        raise NotJudgedError(NEITHER)
    says = (
        f"The target of {shares[1]:.0%} of the positions is the word that "
        "comes next; the others have another target."
    )
    return False, says, pulls, UNUSUAL


def why_unlearnt(subject: Subject, seen: bool) -> str:
    """Say why no gradient reaches any logits, of which some may have been
    `seen`; NotJudgedError if one may."""
    learns = reaches_weights(subject)
    if learns or (learns is None and not seen):
        says = "No logits were found that it reads, one row a position."
        raise NotJudgedError(says)
    if not seen:
        return "No gradient of the loss reaches a parameter of the model."
    if not depends_on_logits(subject):
        return "The loss does not depend on the model's outputs."
    return (
        "The loss changes with the logits but has no gradient. Look for "
        "argmax, .detach(), .item() and torch.no_grad()."
    )


def no_number(subject: Subject, loss: Any) -> str:
    """Say why a loss is no number that a gradient could be of, or ""."""
    if isinstance(loss, (float, int)):
        kind = type(loss).__name__
        return f"The loss is a {kind} without a gradient: leave out .item()."
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        shape = tuple(getattr(loss, "shape", ()))
        what = f"a tensor {shape}" if shape else type(loss).__name__
        raise NotJudgedError(f"The loss gave {what}. {loss_form(subject)}")
    if loss.isfinite().all():
        return ""
    if not subject.run().isfinite().all():
        raise NotJudgedError("The outputs are not finite: see `finite`.")
    return (
        f"The loss is {loss.item()}, though the outputs are numbers. Look for "
        "the logarithm of 0, and for a mean of no words."
    )


def pushes_words_up(wanted: list[WantedWords]) -> bool:
    """Whether the loss falls where some word asked for gets more likely."""
    return any((x.pulls >= 0)[x.words >= 0].any() for x in wanted)


def mixed_up(subject: Subject, wanted: list[WantedWords]) -> str:
    """Say where the words are those of another row or position, or ""."""
    if len(wanted) > 1:
        return ""
    asked = wanted[0]
    square = asked.site.logits.shape[0] == asked.site.logits.shape[1]
    count = asked.words.shape[1] - (not asked.counts[:, -1].any())
    words = asked.words[:, :count]
    following = asked.following[:, :count]
    orders = (words, following.T), (words.T, following)
    if not square and any(words_agree(*pair) for pair in orders):
        return OTHER_ORDER_HINT
    for i, source in enumerate(subject.inputs[:-1]):
        there = source[:, :count].cpu()
        if there.shape == words.shape and words_agree(words, there):
            return f"The targets are the words of the {subject.side(i)}."
    return of_row(words, following)


def of_row(words: Tensor, wanted: Tensor) -> str:
    """Say whether each row is asked for the words of another one."""
    others = [[words_agree(x, y) for y in wanted] for x in words]
    if not all(any(row) for row in others):
        return ""
    return (
        "The targets of sequence 0 are the words of sequence "
        f"{others[0].index(True)}. Look for code that moves or sorts rows of "
        "labels but not of logits."
    )


def words_agree(words: Tensor, right: Tensor) -> bool:
    """Whether the words asked for are those of a row, and enough are known."""
    words, right = words.flatten(), right.flatten()
    both = (words >= 0) & (right >= 0)
    return bool(both.sum() > 2 and words[both].equal(right[both]))


def wraps_round(wanted: list[WantedWords]) -> bool:
    """Whether the last positions are asked for the first words."""
    asked = wanted[0]
    last, first = asked.words[:, -1], asked.site.read[:, 0]
    follows = (asked.following[:, -1] >= 0).any()
    chance = asked.site.logits.shape[-1] ** -float(len(first))
    several = len(first.unique()) > 1 and chance <= 1e-3
    return len(wanted) == 1 and not follows and several and last.equal(first)


@check
def padding_in_loss(subject: Subject) -> Verdict:
    """Check that [PAD] does not count in the loss, neither as a label nor in
    the number that the sum is divided by.

    A model that learns to write padding has less to spend on words.

    - Changes: the logits, as in `next_word`; and one row becomes padding.
    - Looks at: the gradient at the logits of each position.
    - Says: which position is asked for [PAD]. Unusual: it is the first one
      after the words, or the loss divides by all positions, or by 0.
    """
    wanted, pad = labels(subject), subject.ids[0]
    if pad is None or not is_id(subject.inputs[-1], pad).any():
        raise NotJudgedError(no_padding(subject))
    for asked in wanted:
        wrong = pads_asked(subject, asked)
        at_pads = wrong & (ids_at(asked, 0) == pad)
        for places in (at_pads, wrong):
            if places.any():
                b, t = places.nonzero()[0].tolist()
                says = f"Sequence {b}: the target of position {t} is [PAD]"
                if places is wrong:
                    return False, says + END_HINT, asked.pulls, UNUSUAL
                return False, says + MASK_HINT, asked.pulls
    if says := wrong_denominator(wanted) or for_nothing(subject, wanted):
        return False, says, wanted[0].pulls, UNUSUAL
    return True, "No target is [PAD].", wanted[0].pulls


def pads_asked(subject: Subject, asked: WantedWords) -> Tensor:
    """Tell which positions are asked for padding: (B, T). If some that should
    be are not, what is asked for are no words."""
    pad, here = subject.ids[0], ids_at(asked, 0)
    later = asked.following
    for there in (later.where(later >= 0, here), here):
        wrong = is_id(asked.words, pad)
        places = asked.counts & is_id(there, pad)
        if not (wrong & ~places).any() and wrong[places].all():
            return wrong
    return torch.zeros_like(asked.counts)


def wrong_denominator(wanted: list[WantedWords]) -> str:
    """Say that a loss divides by all positions, though some count, or ""."""
    asked = wanted[0]
    count, (b, t) = int(asked.counts.sum()), asked.words.shape
    for total in (b * t, b * (t - 1)):
        part = count / (total or 1)
        near = abs(asked.pulls.sum().item() - part) < 1e-4 * part
        if len(wanted) == 1 and count < total and near:
            return (
                f"Only {count} of {total} positions count, but their sum is "
                f"divided by {total}: the more padding, the smaller the "
                "gradient. Divide by the number of words."
            )
    return ""


def for_nothing(subject: Subject, wanted: list[WantedWords]) -> str:
    """Say of a loss that it is no number where a row is padding alone."""
    *others, target = subject.inputs
    if not any(asked.counts[1:].any() for asked in wanted):
        return ""
    empty = target.clone()
    empty[:1] = target[is_id(target, subject.ids[0])][0]
    given = with_sequences(subject, (*others, empty))
    even = {asked.site.at: uniform(asked.site) for asked in wanted}
    with suppress(FailedError):
        loss, _ = loss_of_logits(subject, even, *given)
        if not loss.isfinite():
            return (
                f"The loss is {loss.item()} where a row is all padding: that "
                "row has no words to divide by."
            )
    return ""

"""Losses: what a training loss asks of the model."""

import math
from contextlib import suppress
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from shapewatch.properties.finding import (
    BROKEN,
    FUTURE,
    UNUSUAL,
    Verdict,
    check,
)
from shapewatch.properties.loss_logits import (
    UNSEEN_WORDS,
    LossRun,
    WantedWords,
    as_logits,
    depends_on_logits,
    ids_at,
    labels,
    loss_form,
    loss_of_logits,
    loss_of_words,
    loss_run,
    next_ids,
    reaches_weights,
    share_at,
    speaks,
    uniform,
    wanted_words,
)
from shapewatch.properties.padding import no_padding
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    is_id,
    once,
    with_sequences,
)

SURE = 30.0  # how much larger the logit of a word is of which one is sure
AXES = "words and positions mixed: a view moves nothing, a transpose does"


@check
def loss_softmax(subject: Subject) -> Verdict:
    """See whether there is one softmax, over the words, between the model's
    outputs and the logarithm."""
    found = labels(subject)
    seen, logits = found[0].pulls, speaks(found[0].site) == "logits"
    if axis := other_axis(subject, found):
        return False, f"The softmax of the loss runs over {axis}.", seen
    sure, half, wrong, even, large = sure_losses(subject, found)
    rise = wrong - sure
    if rise <= 0:
        raise NotJudgedError("Sure guesses do not lower it: see `next_word`.")
    if logits and wrong - large > rise / 2:
        says = (
            "The loss has no softmax: it falls as the logits of all words "
            "grow. nll_loss and kl_div want log_softmax of them first."
        )
        return False, says, seen
    if rise < 1.1 * (half - sure):
        if not is_flat((even - sure) / rise, found[0].site.logits.shape[-1]):
            says = "It is no cross-entropy: it has a largest value."
            raise NotJudgedError(says)
        says, level = why_flat(sure, wrong)
        return False, says, seen, level
    rest = largest_axis_sum(gradient_at_random_logits(subject), -1)
    if logits and rest > 0.1:
        raise NotJudgedError("It is no cross-entropy: it has no softmax.")
    says = "There is one softmax before the logarithm, and it is over words."
    return True, says, seen


def over_words(subject: Subject) -> list[WantedWords]:
    """Find what a loss asks for whose softmax is over words."""
    found = labels(subject)
    if other_axis(subject, found):
        says = "Its softmax runs over another axis: see `loss_softmax`."
        raise NotJudgedError(says)
    return found


def other_axis(subject: Subject, found: list[WantedWords]) -> str:
    """Say what the softmax of a loss runs over where it is not words."""
    whole = gradient_at_random_logits(subject)
    if speaks(found[0].site) != "logits" or largest_axis_sum(whole, -1) < 0.1:
        return ""
    for x in (whole, whole[:, :-1]):  # the last one may have no label
        axes = {
            "positions, not words: look at its dim": largest_axis_sum(x, 1),
            "rows, not words: look at its dim": largest_axis_sum(x, 0),
            AXES: sum_after_view(x),
        }
        for name, rest in axes.items():
            if rest < 1e-3:
                return name
    return ""


def sum_after_view(x: Tensor) -> float:
    """Give what is left of a gradient (B, T, V) over a view's V numbers."""
    rest, (b, _, size) = list[float](), x.shape
    for order in permutations(range(3)):
        moved = x.permute(order)
        rest += [
            largest_axis_sum(moved.reshape(b, size, -1), 1),
            largest_axis_sum(moved.reshape(size, -1), 0),
        ]
        if order[-1] != 2:
            rest += [largest_axis_sum(moved.reshape(-1, size), 1)]
    return min(rest)


def largest_axis_sum(pulls: Tensor, axis: int) -> float:
    """Give the largest sum of a gradient over an axis."""
    return pulls.sum(axis).abs().max().item()


def is_flat(share: float, size: int) -> bool:
    """Whether a loss falls from even guesses to sure ones as that of
    probabilities does, for cross_entropy or nll_loss."""
    twice = math.log(size) + 1 - math.log(size - 1 + math.e)
    return twice - 0.3 / size - 0.005 < share < 1


def why_flat(sure: float, wrong: float) -> tuple[str, str]:
    """Say why a loss is flat, and of which level that is."""
    low, high = (f"{round(x, 2) + 0.0:.2f}" for x in (sure, wrong))
    says = f"Where the right words are certain, the loss is {low}; where "
    says += f"wrong ones are, it is {high}"
    if sure < 0:
        says += ". That is minus the probability: nll_loss wants log_softmax."
        return says, BROKEN
    if sure < 0.01 * wrong:
        return f"{says}. The logarithm is missing.", UNUSUAL
    says += " at most: softmax is taken twice. Give cross_entropy logits."
    return says, BROKEN


def sure_losses(subject: Subject, found: list[WantedWords]) -> list[float]:
    """Give the losses of sure right words; half sure wrong ones; sure wrong
    ones; none; and sure wrong ones with all logits larger."""

    def losses(move: int, size: float, more: float = 0.0) -> float:
        made = [sure_of(one, move, size) + more for one in found]
        return loss_of_words(subject, found, made)

    few = (0, SURE), (1, SURE / 2), (1, SURE), (0, 0.0), (1, SURE, 2 * SURE)
    return [losses(*one) for one in few]


def sure_of(one: WantedWords, move: int, size: float) -> Tensor:
    """Make log-probabilities that are 0 for the words asked for, or some
    places on in the vocabulary; of no size, all alike."""
    count = one.site.logits.shape[-1]
    if not size:
        return torch.full((*one.words.shape, count), -math.log(count))
    words = (one.words.clamp(0) + move) % count
    made = torch.full((*words.shape, count), -size)
    return made.scatter(-1, words[..., None], 0.0)


@once
def gradient_at_random_logits(subject: Subject) -> Tensor:
    """Give the gradient at random log-probabilities, of size 1: (B, T, V)."""
    found, draw = labels(subject), torch.Generator().manual_seed(0)
    noise = [
        torch.randn(*x.words.shape, x.site.logits.shape[-1], generator=draw)
        for x in found
    ]
    made = as_logits(found, [x.log_softmax(-1) for x in noise])
    _, (pull, *_) = loss_of_logits(subject, made)
    if pull is None:
        raise NotJudgedError(UNSEEN_WORDS)
    pull = found[0].site.sorted(pull).float().cpu().nan_to_num()
    return pull / pull.abs().max()


ALIKE = "All words are alike: give rows of different words."
NEITHER = "It asks for words that are not near by in the rows that were read."
SHIFT_HINT = "Compare logits[:, :-1] with ids[:, 1:]."
RIGHT = "The loss asks each position for the word that comes next."
EVEN = (
    "The loss rises when the right words get likelier than 60%. Is 1 minus "
    "the smoothing given as label_smoothing?"
)
OFFSETS = {
    0: "word that stands there, which was read: it learns to copy. The labels "
    "are not shifted",
    2: "next word but one. The labels are shifted twice: some models shift "
    "them by themselves",
    -1: "word before. The labels are shifted the wrong way",
    -2: "word before the last. The labels are shifted the wrong way",
    3: "third word from there. The labels are shifted too far",
}


@check
def loss_gradient(subject: Subject) -> Verdict:
    """See whether the loss is one number, and its gradient reaches the
    logits: otherwise nothing is learnt."""
    try:
        seen = loss_run(subject)
    except FailedError as error:
        says = f"The loss fails: {error}. {loss_form(subject)}"
        return False, says, torch.zeros(1, 1)
    wrong, loss = no_number(subject, seen.loss), seen.loss
    shown = torch.as_tensor(loss).reshape(1, -1)
    if wrong:
        return False, wrong, shown
    try:
        found = wanted_words(subject)
    except FailedError as error:
        raise NotJudgedError(f"With other logits it fails: {error}") from error
    if not found:
        return False, why_unlearnt(subject, seen), shown
    says = "The loss is a number, and its gradient reaches the logits."
    return True, says, found[0].pulls


def why_unlearnt(subject: Subject, seen: LossRun) -> str:
    """Say why no gradient reaches any logits; NotJudgedError if one may."""
    learns, places = reaches_weights(subject), seen.given + seen.others
    if learns or (learns is None and not places):
        says = "No logits were found that it reads, one row a position."
        raise NotJudgedError(says)
    if not places:
        return "No gradient of the loss reaches a parameter of the model."
    if not depends_on_logits(subject):
        return "The loss does not depend on what the model gives."
    return (
        "The loss moves with the logits and has no gradient. Look for argmax, "
        ".detach(), .item() and torch.no_grad()."
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


@check
def next_word(subject: Subject) -> Verdict:
    """See whether the loss asks each position for the word that comes next,
    and not for the one that it has read."""
    if not subject.causal:
        return of_hidden_words(over_words(subject))
    found = over_words(subject)
    seen = found[0].pulls
    shares = {k: share_at(subject, found, k) for k in (1, *OFFSETS)}
    if shares[1] == shares[0] == 1:
        raise NotJudgedError(ALIKE)
    offset = next((k for k, x in shares.items() if x == 1), None)
    if offset in OFFSETS:
        says = f"The loss asks each position for the {OFFSETS[offset]}."
        return False, f"{says} {SHIFT_HINT}", seen
    wrong = sign_error(found) if offset == 1 else ""
    if wrong := wrong or mixed_up(subject, found, offset):
        return False, wrong, seen
    if offset == 1:
        even = too_even(subject, found)
        return (False, EVEN, seen, UNUSUAL) if even else (True, RIGHT, seen)
    if shares[1] < 0.5:
        raise NotJudgedError(NEITHER)
    says = (
        f"The loss asks {shares[1]:.0%} of the positions for the word that "
        "comes next, and the others for another one."
    )
    return False, says, seen, UNUSUAL


def too_even(subject: Subject, found: list[WantedWords]) -> bool:
    """Whether a loss rises as the right words get likelier than 60%."""
    made = []
    for one in found:
        size = one.site.logits.shape[-1]
        even = torch.full((*one.words.shape, size), 0.4 / max(size - 1, 1))
        words = one.words.clamp(0)[..., None]
        made.append(even.scatter(-1, words, 0.6).log())
    _, pulls = loss_of_logits(subject, as_logits(found, made))
    for one, pull in zip(found, pulls):
        if pull is None:
            return False
        own = one.site.sorted(pull).cpu()
        own = own.gather(-1, one.words.clamp(0)[..., None])[..., 0]
        if not (own[one.words >= 0] > 0).all():
            return False
    return True


def of_hidden_words(found: list[WantedWords]) -> Verdict:
    """Judge a loss of a model that may depend on the future: no words that it
    asks for should be read where they stand."""
    asked = [one.words >= 0 for one in found]
    same = [one.words == ids_at(one, 0) for one in found]
    count = sum(int(x.sum()) for x in asked)
    if count < 4 or not all(bool(y[x].all()) for x, y in zip(asked, same)):
        raise NotJudgedError(FUTURE)
    says = (
        f"The loss asks {count} positions for the words that they have read. "
        "Are those that it asks for hidden in what the model is given?"
    )
    return False, says, found[0].pulls, UNUSUAL


def sign_error(found: list[WantedWords]) -> str:
    """Say of a loss that it has the wrong sign, or ""."""
    if any((x.pulls >= 0)[x.words >= 0].any() for x in found):
        return ""
    return (
        "The loss falls when the words that come next get less likely. Look "
        "at its sign."
    )


def mixed_up(
    subject: Subject, found: list[WantedWords], offset: int | None
) -> str:
    """Say where the words are those of another row or position, or ""."""
    one = found[0]
    if len(found) > 1:
        return ""
    if offset == 1:
        return wrapped_targets(subject, one)
    square = one.site.logits.shape[0] == one.site.logits.shape[1]
    count = one.words.shape[1] - (not one.counts[:, -1].any())
    words, wanted = one.words[:, :count], next_ids(subject, one)[:, :count]
    orders = (words, wanted.T), (words.T, wanted)
    if not square and any(words_agree(*pair) for pair in orders):
        return (
            "The loss asks for the words of other positions: logits and "
            "labels are flattened in another order. Both are (B, T): look "
            "for a transpose, or a view in the place of one."
        )
    for i, source in enumerate(subject.inputs[:-1]):
        there = source[:, :count].cpu()
        if there.shape == words.shape and words_agree(words, there):
            return f"The loss asks for the words of the {subject.side(i)}."
    return of_row(words, wanted)


def of_row(words: Tensor, wanted: Tensor) -> str:
    """Say whether each row is asked for the words of another one."""
    others = [[words_agree(x, y) for y in wanted] for x in words]
    if not all(any(row) for row in others):
        return ""
    return (
        f"The loss asks sequence 0 for the words of {others[0].index(True)}. "
        "Look for what moves or sorts rows of labels, and not those of logits."
    )


def words_agree(words: Tensor, right: Tensor) -> bool:
    """Whether the words asked for are those of a row, and enough are known."""
    words, right = words.flatten(), right.flatten()
    known = (words >= 0) & (right >= 0)
    return bool(known.sum() > 2 and words[known].equal(right[known]))


def wrapped_targets(subject: Subject, one: WantedWords) -> str:
    """Say that the last positions are asked for the first words, or ""."""
    last, first = one.words[:, -1], one.site.read[:, 0]
    known = (next_ids(subject, one)[:, -1] >= 0).any()
    chance = one.site.logits.shape[-1] ** -float(len(first))
    several = len(first.unique()) > 1 and chance <= 1e-3
    if known or not several or not last.equal(first):
        return ""
    return (
        "The loss asks the last position of each row for its first word: "
        "torch.roll puts it there. Leave the last logits out. " + SHIFT_HINT
    )


END_HINT = (
    ", the first one after the words. That is right only where [PAD] is the "
    "end of a text as well."
)


@check
def padding_in_loss(subject: Subject) -> Verdict:
    """See whether [PAD] has a part in the loss: as a label, or in the number
    that the sum is divided by."""
    found, pad = over_words(subject), subject.ids[0]
    if pad is None or not is_id(subject.inputs[-1], pad).any():
        raise NotJudgedError(no_padding(subject))
    for one in found:
        wrong = pads_asked(subject, one)
        inner = wrong & (ids_at(one, 0) == pad)
        if wrong.any():
            b, t = (inner if inner.any() else wrong).nonzero()[0].tolist()
            says = f"Sequence {b}: the loss asks position {t} for [PAD]"
            if not inner.any():
                return False, says + END_HINT, one.pulls, UNUSUAL
            says += ". Look at ignore_index, or at the mask of the loss."
            return False, says, one.pulls
    if says := wrong_denominator(found) or for_nothing(subject, found):
        return False, says, found[0].pulls, UNUSUAL
    return True, "No position is asked for [PAD].", found[0].pulls


def pads_asked(subject: Subject, one: WantedWords) -> Tensor:
    """Tell which positions are asked for padding: (B, T). If some that should
    be are not, what is asked for are no words."""
    pad, here = subject.ids[0], ids_at(one, 0)
    later = next_ids(subject, one)
    for there in (later.where(later >= 0, here), here):
        wrong, places = is_id(one.words, pad), one.counts & is_id(there, pad)
        if not (wrong & ~places).any() and wrong[places].all():
            return wrong
    return torch.zeros_like(one.counts)


def wrong_denominator(found: list[WantedWords]) -> str:
    """Say that a loss divides by all positions, though some count, or ""."""
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


def for_nothing(subject: Subject, found: list[WantedWords]) -> str:
    """Say of a loss that it is no number where a row is padding alone."""
    *others, target = subject.inputs
    if not any(one.counts[1:].any() for one in found):
        return ""
    empty = target.clone()
    empty[:1] = target[is_id(target, subject.ids[0])][0]
    given = with_sequences(subject, (*others, empty))
    even = {one.site.at: uniform(one.site) for one in found}
    with suppress(FailedError):
        loss, _ = loss_of_logits(subject, even, *given)
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
    if share_at(subject, found, 1) < 1:
        raise NotJudgedError("It asks for other words: see `next_word`.")
    one = found[0]
    wanted = next_ids(subject, one)
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
    """Whether the first words of rows are missing, and others are left."""
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
        says += f"none of sequence {rows[0]}. Look at how rows are chosen."
        return says
    if count > 1 and (missing == real & (wanted == word)).all():
        return f"{says}those of id {word}. Look at ignore_index."
    if not (missing & (real.flip(1).cumsum(1).flip(1) > 1)).any():
        return f"{says}the last of rows. Look at where rows are cut."
    if not missing[:, 1:].any():
        return f"{says}the second of rows. Look at where rows are cut."
    return f"{says}the first is id {word}, after position {t} of sequence {b}."

"""Losses: what the reader's own training loss asks of the model."""

import math
from typing import Any

import torch
from torch import Tensor

from tformer_lite.properties.finding import UNUSUAL, Verdict, check
from tformer_lite.properties.labels import (
    UNSEEN,
    Asked,
    asked,
    following,
    labels,
    loss_at,
    moved,
    placed,
    share,
    speaks,
    staged,
)
from tformer_lite.properties.puppets import played
from tformer_lite.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    once,
)

ALIKE = "All words are alike: give rows of different words."
NEITHER = "It asks for words that are not near by in the rows that were read."
SURE = 30.0  # how much larger the logit of a word is of which one is sure
CUT = "Compare logits[:, :-1] with ids[:, 1:]."
AXES = "words and positions mixed: a view moves nothing, a transpose does"
FLAT = (
    "From all wrong to all right, the loss falls by no more than 1 a word: "
    "softmax is taken twice, or the logarithm is missing. Give cross_entropy "
    "logits, and nll_loss log_softmax of them."
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
        seen = staged(subject)
    except FailedError as error:
        return False, f"The loss fails: {error}", torch.zeros(1, 1)
    wrong, loss = no_number(subject, seen.loss), seen.loss
    shown = torch.as_tensor(loss).reshape(1, -1)
    if wrong:
        return False, wrong, shown
    try:
        found = asked(subject)
    except FailedError as error:
        raise NotJudgedError(f"With other logits it fails: {error}") from error
    if found:
        says = "The loss is a number, and its gradient reaches the logits."
        return True, says, found[0].pulls
    if seen.learns or not seen.given + seen.others:
        says = "No logits were found that it reads, one row a position."
        raise NotJudgedError(says)
    if moved(subject):
        says = (
            "The loss moves with the logits and has no gradient. Look for "
            "argmax, .detach(), .item() and torch.no_grad()."
        )
        return False, says, shown
    return False, "The loss does not depend on what the model gives.", shown


def no_number(subject: Subject, loss: Any) -> str:
    """Say why a loss is no number that a gradient could be of, or ""."""
    if isinstance(loss, (float, int)):
        kind = type(loss).__name__
        return f"The loss is a {kind} without a gradient: leave out .item()."
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        shape = tuple(getattr(loss, "shape", ()))
        what = f"a tensor {shape}" if shape else type(loss).__name__
        raise NotJudgedError(f"The loss gave {what}: it should give a scalar.")
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
        raise NotJudgedError("The future may be heard here: causal=False.")
    found = labels(subject)
    seen = found[0].pulls
    if other_axis(subject, found):
        raise NotJudgedError("It is over another axis: see `loss_softmax`.")
    shares = {k: share(subject, found, k) for k in (1, *OFFSETS)}
    if shares[1] == shares[0] == 1:
        raise NotJudgedError(ALIKE)
    offset = next((k for k, x in shares.items() if x == 1), None)
    if offset in OFFSETS:
        says = f"The loss asks each position for the {OFFSETS[offset]}."
        return False, f"{says} {CUT}", seen
    if wrong := turned(found) or mixed_up(subject, found, offset):
        return False, wrong, seen
    if offset == 1:
        says = "The loss asks each position for the word that comes next."
        return True, says, seen
    if shares[1] < 0.5:
        raise NotJudgedError(NEITHER)
    says = (
        f"The loss asks {shares[1]:.0%} of the positions for the word that "
        "comes next, and the others for another one."
    )
    return False, says, seen, UNUSUAL


def turned(found: list[Asked]) -> str:
    """Say of a loss that it has the wrong sign, or ""."""
    if any((x.pulls >= 0)[x.words >= 0].any() for x in found):
        return ""
    return (
        "The loss falls when the words that it is given as labels get less "
        "likely. Look at its sign."
    )


def mixed_up(subject: Subject, found: list[Asked], offset: int | None) -> str:
    """Say where the words are those of another row or position, or ""."""
    one = found[0]
    if len(found) > 1:
        return ""
    if offset == 1:
        return around(subject, one)
    square = one.site.logits.shape[0] == one.site.logits.shape[1]
    count = one.words.shape[1] - (not one.counts[:, -1].any())
    words, wanted = one.words[:, :count], following(subject, one)[:, :count]
    orders = (words, wanted.T), (words.T, wanted)
    if not square and any(agree(*pair) for pair in orders):
        return (
            "The loss asks for the words of other positions: logits and "
            "labels are flattened in another order. Both are (B, T): look "
            "for a transpose, or a view in the place of one."
        )
    others = [[agree(x, y) for y in wanted] for x in words]
    if all(any(row) for row in others):
        b = others[0].index(True)
        return (
            f"The loss asks row 0 for the words of row {b}. Look for what "
            "moves or sorts rows of labels, and not those of logits."
        )
    return ""


def agree(words: Tensor, right: Tensor) -> bool:
    """Whether all words that are asked for are those of a row, and enough
    are known."""
    words, right = words.flatten(), right.flatten()
    known = (words >= 0) & (right >= 0)
    return bool(known.sum() > 1 and words[known].equal(right[known]))


def around(subject: Subject, one: Asked) -> str:
    """Say of a loss that it asks the last positions for the first words, or
    ""."""
    last, first = one.words[:, -1], one.site.read[:, 0]
    unknown = following(subject, one)[:, -1] < 0
    if not last.equal(first) or not unknown.all() or len(first.unique()) < 2:
        return ""
    return (
        "The loss asks the last position of each row for its first word: "
        "torch.roll puts it there. Leave the last logits out. " + CUT
    )


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
    if logits and sure - large > rise / 2:
        says = (
            "The loss has no softmax: it falls without limit as all logits "
            "grow. nll_loss and kl_div want log_softmax of them first."
        )
        return False, says, seen
    size = found[0].site.logits.shape[-1]
    if rise < 1.1 * (half - sure) and is_flat((even - sure) / rise, size):
        return False, FLAT, seen
    if logits and left(tilted(subject), -1) > 0.1:
        raise NotJudgedError("It is no cross-entropy: it has no softmax.")
    says = "There is one softmax before the logarithm, and it is over words."
    return True, says, seen


def other_axis(subject: Subject, found: list[Asked]) -> str:
    """Say what the softmax of a loss runs over where it is not words."""
    whole = tilted(subject)
    if speaks(found[0].site) != "logits" or left(whole, -1) < 0.1:
        return ""
    for x in (whole, whole[:, :-1]):  # the last one may have no label
        b, t, size = x.shape
        axes = {
            "positions, not words: look at its dim": left(x, 1),
            "rows, not words: look at its dim": left(x, 0),
            AXES: min(
                left(x.reshape(b, size, t), 1),
                left(x.reshape(size, b * t), 0),
            ),
        }
        for name, rest in axes.items():
            if rest < 1e-3:
                return name
    return ""


def left(pulls: Tensor, axis: int) -> float:
    """Give the largest sum of a gradient over an axis."""
    return pulls.sum(axis).abs().max().item()


def is_flat(share: float, size: int) -> bool:
    """Whether a loss falls as that of probabilities does, from even guesses
    to sure ones, as a share of what it can: for cross_entropy, which has a
    softmax of its own, and for nll_loss, which has none."""
    twice = math.log(size) + 1 - math.log(size - 1 + math.e)
    return twice - 0.3 / size - 0.005 < share < 1


def sure_losses(subject: Subject, found: list[Asked]) -> list[float]:
    """Give the losses where one is sure of the right words; half as sure of
    wrong ones; sure of wrong ones; of none; and sure of the right ones, with
    all logits larger."""

    def losses(move: int, size: float, more: float = 0.0) -> float:
        made = [sure_of(one, move, size) + more for one in found]
        return loss_at(subject, found, made)

    few = (0, SURE), (1, SURE / 2), (1, SURE), (0, 0.0), (0, SURE, SURE)
    return [losses(*one) for one in few]


def sure_of(one: Asked, move: int, size: float) -> Tensor:
    """Make log-probabilities of 0 for the words that are asked for, or those
    that stand some places on in the vocabulary, and of less for others; of
    no size, the same for all."""
    count = one.site.logits.shape[-1]
    if not size:
        return torch.full((*one.words.shape, count), -math.log(count))
    words = (one.words.clamp(0) + move) % count
    made = torch.full((*words.shape, count), -size)
    return made.scatter(-1, words[..., None], 0.0)


@once
def tilted(subject: Subject) -> Tensor:
    """Give the gradient at random log-probabilities, of size 1: (B, T, V).
    Over an axis along which a softmax runs, it sums to 0."""
    found, draw = labels(subject), torch.Generator().manual_seed(0)
    noise = [
        torch.randn(*x.words.shape, x.site.logits.shape[-1], generator=draw)
        for x in found
    ]
    made = placed(found, [x.log_softmax(-1) for x in noise])
    _, (pull, *_) = played(subject, made)
    if pull is None:
        raise NotJudgedError(UNSEEN)
    pull = found[0].site.sorted(pull).float().cpu().nan_to_num()
    return pull / pull.abs().max()

"""Softmax: the loss has one, over the words, before the logarithm."""

import math
from itertools import permutations

import torch
from torch import Tensor

from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.labels import (
    UNSEEN,
    Asked,
    labels,
    loss_at,
    placed,
    speaks,
)
from shapewatch.properties.puppets import played
from shapewatch.properties.subject import NotJudgedError, Subject, once

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
    size = found[0].site.logits.shape[-1]
    if rise < 1.1 * (half - sure):
        if not is_flat((even - sure) / rise, size):
            says = "It is no cross-entropy: it has a largest value."
            raise NotJudgedError(says)
        says, level = why_flat(sure, wrong)
        return False, says, seen, level
    if logits and left(tilted(subject), -1) > 0.1:
        raise NotJudgedError("It is no cross-entropy: it has no softmax.")
    says = "There is one softmax before the logarithm, and it is over words."
    return True, says, seen


def over_words(subject: Subject) -> list[Asked]:
    """Find what a loss asks for whose softmax is over words."""
    found = labels(subject)
    if other_axis(subject, found):
        says = "Its softmax runs over another axis: see `loss_softmax`."
        raise NotJudgedError(says)
    return found


def other_axis(subject: Subject, found: list[Asked]) -> str:
    """Say what the softmax of a loss runs over where it is not words."""
    whole = tilted(subject)
    if speaks(found[0].site) != "logits" or left(whole, -1) < 0.1:
        return ""
    for x in (whole, whole[:, :-1]):  # the last one may have no label
        axes = {
            "positions, not words: look at its dim": left(x, 1),
            "rows, not words: look at its dim": left(x, 0),
            AXES: scrambled(x),
        }
        for name, rest in axes.items():
            if rest < 1e-3:
                return name
    return ""


def scrambled(x: Tensor) -> float:
    """Give the least that is left of a gradient (B, T, V) over V numbers that
    a view took for words, as it was or with axes that had changed places."""
    rest, (b, _, size) = list[float](), x.shape
    for order in permutations(range(3)):
        moved = x.permute(order)
        rest += [
            left(moved.reshape(b, size, -1), 1),
            left(moved.reshape(size, -1), 0),
        ]
        if order[-1] != 2:
            rest += [left(moved.reshape(-1, size), 1)]
    return min(rest)


def left(pulls: Tensor, axis: int) -> float:
    """Give the largest sum of a gradient over an axis."""
    return pulls.sum(axis).abs().max().item()


def is_flat(share: float, size: int) -> bool:
    """Whether a loss falls as that of probabilities does, from even guesses
    to sure ones, as a share of what it can: for cross_entropy, which has a
    softmax of its own, and for nll_loss, which has none."""
    twice = math.log(size) + 1 - math.log(size - 1 + math.e)
    return twice - 0.3 / size - 0.005 < share < 1


def why_flat(sure: float, wrong: float) -> tuple[str, str]:
    """Say why a loss is flat, and of which level that is: minus the
    probability, 1 minus it, or a cross-entropy of it."""
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


def sure_losses(subject: Subject, found: list[Asked]) -> list[float]:
    """Give the losses where one is sure of the right words; half as sure of
    wrong ones; sure of wrong ones; of none; and sure of wrong ones, with the
    logits of all words larger."""

    def losses(move: int, size: float, more: float = 0.0) -> float:
        made = [sure_of(one, move, size) + more for one in found]
        return loss_at(subject, found, made)

    few = (0, SURE), (1, SURE / 2), (1, SURE), (0, 0.0), (1, SURE, 2 * SURE)
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

"""Losses: what the reader's own training loss asks of the model."""

from typing import Any

import torch
from torch import Tensor

from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.labels import (
    Asked,
    asked,
    following,
    moved,
    placed,
    share,
    staged,
    standing,
)
from shapewatch.properties.puppets import Scene, played, reaches_weights
from shapewatch.properties.softmax import over_words
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
)

ALIKE = "All words are alike: give rows of different words."
NEITHER = "It asks for words that are not near by in the rows that were read."
CALLED = ". It is called as loss(model, *inputs), as a training step is."
CUT = "Compare logits[:, :-1] with ids[:, 1:]."
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
        seen = staged(subject)
    except FailedError as error:
        hint = CALLED if isinstance(error.__cause__, TypeError) else ""
        return False, f"The loss fails: {error}{hint}", torch.zeros(1, 1)
    wrong, loss = no_number(subject, seen.loss), seen.loss
    shown = torch.as_tensor(loss).reshape(1, -1)
    if wrong:
        return False, wrong, shown
    try:
        found = asked(subject)
    except FailedError as error:
        raise NotJudgedError(f"With other logits it fails: {error}") from error
    if not found:
        return False, why_unlearnt(subject, seen), shown
    says = "The loss is a number, and its gradient reaches the logits."
    return True, says, found[0].pulls


def why_unlearnt(subject: Subject, seen: Scene) -> str:
    """Say why no gradient reaches any logits; NotJudgedError, where one
    reaches the model in another way, or nobody can tell."""
    learns, places = reaches_weights(subject), seen.given + seen.others
    if learns or (learns is None and not places):
        says = "No logits were found that it reads, one row a position."
        raise NotJudgedError(says)
    if not places:
        return "No gradient of the loss reaches a parameter of the model."
    if not moved(subject):
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
        return of_hidden_words(over_words(subject))
    found = over_words(subject)
    seen = found[0].pulls
    shares = {k: share(subject, found, k) for k in (1, *OFFSETS)}
    if shares[1] == shares[0] == 1:
        raise NotJudgedError(ALIKE)
    offset = next((k for k, x in shares.items() if x == 1), None)
    if offset in OFFSETS:
        says = f"The loss asks each position for the {OFFSETS[offset]}."
        return False, f"{says} {CUT}", seen
    wrong = turned(found) if offset == 1 else ""
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


def too_even(subject: Subject, found: list[Asked]) -> bool:
    """Whether a loss rises as the right words get likelier than 60%."""
    made = []
    for one in found:
        size = one.site.logits.shape[-1]
        even = torch.full((*one.words.shape, size), 0.4 / max(size - 1, 1))
        words = one.words.clamp(0)[..., None]
        made.append(even.scatter(-1, words, 0.6).log())
    _, pulls = played(subject, placed(found, made))
    for one, pull in zip(found, pulls):
        if pull is None:
            return False
        own = (
            one.site.sorted(pull)
            .cpu()
            .gather(-1, one.words.clamp(0)[..., None])
        )
        if not (own[..., 0][one.words >= 0] > 0).all():
            return False
    return True


def read_already(found: list[Asked]) -> str:
    """Say that a loss asks for words that are read where they stand, or ""."""
    asked = [one.words >= 0 for one in found]
    same = [one.words == standing(one, 0) for one in found]
    count = sum(int(x.sum()) for x in asked)
    if count < 4 or not all(bool(y[x].all()) for x, y in zip(asked, same)):
        return ""
    return (
        f"The loss asks {count} positions for the words that they have read. "
        "Are those that it asks for hidden in what the model is given?"
    )


def of_hidden_words(found: list[Asked]) -> Verdict:
    """Judge a loss of a model that may hear the future: it should not ask
    for what it reads."""
    if says := read_already(found):
        return False, says, found[0].pulls, UNUSUAL
    raise NotJudgedError("The future may be heard here: causal=False.")


def turned(found: list[Asked]) -> str:
    """Say of a loss that it has the wrong sign, or ""."""
    if any((x.pulls >= 0)[x.words >= 0].any() for x in found):
        return ""
    return (
        "The loss falls when the words that come next get less likely. Look "
        "at its sign."
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
    for i, source in enumerate(subject.inputs[:-1]):
        asked_there = source[:, :count].cpu()
        if asked_there.shape == words.shape and agree(words, asked_there):
            return f"The loss asks for the words of the {subject.sides[i]}."
    return of_row(words, wanted)


def of_row(words: Tensor, wanted: Tensor) -> str:
    """Say whether each row is asked for the words of another one."""
    others = [[agree(x, y) for y in wanted] for x in words]
    if not all(any(row) for row in others):
        return ""
    return (
        f"The loss asks row 0 for the words of row {others[0].index(True)}. "
        "Look for what moves or sorts rows of labels, and not those of logits."
    )


def agree(words: Tensor, right: Tensor) -> bool:
    """Whether all words that are asked for are those of a row, and enough
    are known."""
    words, right = words.flatten(), right.flatten()
    known = (words >= 0) & (right >= 0)
    return bool(known.sum() > 2 and words[known].equal(right[known]))


def around(subject: Subject, one: Asked) -> str:
    """Say of a loss that it asks the last positions for the first words, or
    ""."""
    last, first = one.words[:, -1], one.site.read[:, 0]
    known = (following(subject, one)[:, -1] >= 0).any()
    chance = one.site.logits.shape[-1] ** -float(len(first))
    if known or not last.equal(first) or chance > 1e-3 or is_same(first):
        return ""
    return (
        "The loss asks the last position of each row for its first word: "
        "torch.roll puts it there. Leave the last logits out. " + CUT
    )


def is_same(x: Tensor) -> bool:
    """Whether all numbers are the same."""
    return len(x.unique()) < 2

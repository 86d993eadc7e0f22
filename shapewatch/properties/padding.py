"""Padding: it is masked on either side of a row, and nothing else is."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import torch
from torch import Tensor

from shapewatch.properties.attention_parts import all_attentions
from shapewatch.properties.dependence import part_of
from shapewatch.properties.finding import (
    UNUSUAL,
    Verdict,
    check,
    whatever_weights,
)
from shapewatch.properties.numbers import flat_rows, unpadded_rows
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.perturbation import (
    depends_on,
    first,
    first_cause,
    output_spread,
    raw_output,
    reach,
    rounding_tolerance,
    sampled_text,
)
from shapewatch.properties.subject import (
    NotJudgedError,
    Subject,
    with_model,
)

MASKED_WELL = "What stands at padding moves nothing."
BY_POSITION = (
    "though no position attends to it: it shifts the numbers of the words. "
    "Give position numbers that leave it out, such as position_ids = "
    "attention_mask.cumsum(-1) - 1, or pad on the right."
)
AT_BORDER = (
    "which a layer reads at the end of the words before they become fewer, "
    "as a convolution does. Set padding to 0 before each."
)
PADDING_HINT = (
    "which should be masked. Look at the padding mask: is it read, and used "
    "in every attention layer and in every sum over positions?"
)


@check
def padding_invariance(subject: Subject) -> Verdict:
    """Check that padding changes no real output, whatever its ids are and on
    whichever side it stands. Unknown words are not padding, so outputs must
    depend on them.

    Padding only makes rows of a batch equally long: it has the id `pad`, or a
    mask (B, T) that is given says where it stands.

    - Changes: the vectors of padding and of unknown words, by noise; and
      padding is cut off.
    - Looks at: the outputs of words.
    - Says: which output changes with which padding, and in which module first;
      or that none depends on an unknown word. Unusual: padding on the left
      shifts the positions of words.
    """
    verdicts, reasons = list[Verdict](), list[str]()
    for ask in (moved_by_padding, without_padding, unknown_dependence):
        try:
            verdict = ask(subject)
        except NotJudgedError as reason:
            reasons.append(str(reason))
            continue
        if not verdict[0]:
            return verdict
        verdicts.append(verdict)
    if not verdicts:
        raise NotJudgedError(reasons[0])
    _, says, moves, *_ = verdicts[0]
    more = (x[1].removeprefix(MASKED_WELL).strip() for x in verdicts[1:])
    return True, " ".join([says, *filter(None, more)]), moves


def no_padding(subject: Subject) -> str:
    """Say that no padding is there, and what to give."""
    if subject.ids[0] is None:
        return "There is no padding: give padded rows, and its id as pad=."
    return f"No row has the id of padding, {subject.ids[0]}: pad some."


def moved_by_padding(subject: Subject) -> Verdict:
    """Judge whether what stands at padding moves a real output."""
    real = subject.real
    padded = [which for which, x in enumerate(real) if not x.all()]
    if not padded:
        raise NotJudgedError(no_padding(subject))
    for which in padded:
        moves = reach(subject, which)
        moved = (moves > 0) & ~real[which][:, None] & real[-1][:, :, None]
        if moved.any():
            b, t, s = first(moved)
            words = real[which][b].nonzero()[:, 0].tolist()
            module = first_cause(subject, which, b, s, words)
            says = (
                f"Sequence {b}: output {t} moves when {subject.side(which)} "
                f"position {s} does, which is padding{module}. Look at the "
                "padding mask: its id, its axis, and where it is used."
            )
            return False, says, moves[b]
    says = MASKED_WELL + sampled_text(subject, padded[0])
    return True, says, reach(subject, padded[0])[0]


@whatever_weights
def unknown_dependence(subject: Subject) -> Verdict:
    """Judge whether outputs depend on unknown words."""
    if not any(x.any() for x in subject.unknown):
        raise NotJudgedError("There is no unknown word: give unknown=.")
    for which, x in enumerate(subject.unknown):
        moved = reach(subject, which) > 0
        could = subject.real[-1][:, :, None].expand_as(moved)
        if which == subject.last:  # only those who come later
            could = could.tril(-1)
        pushed = ~reach(subject, which)[:, 0].isnan()
        wrong = x & pushed & could.any(1) & ~(moved & could).any(1)
        if wrong.any():
            b, s = first(wrong)
            says = (
                f"Sequence {b}: no output depends on {subject.side(which)} "
                f"position {s}, an unknown word. Look at the padding mask: "
                "does it hide the id of unknown words?"
            )
            return False, says, reach(subject, which)[b]
    return True, "Outputs depend on unknown words.", reach(subject, 0)[0]


class PaddedRow(NamedTuple):
    """A row of the batch, with padding and without: what the model is given,
    of one row each. Words of the sequence `which` begin at `start`."""

    b: int
    which: int
    start: int
    words: tuple
    padded: tuple


def without_padding(subject: Subject) -> Verdict:
    """Judge whether a row gives the same without its padding."""
    moved = list[Tensor]()
    for row in padded_rows(subject):
        with suppress(FailedError):  # it may be as long as can be
            moved.append(moves := moves_of_padding(subject, row))
            if not (moves > 10 * rounding_tolerance(subject)).any():
                continue
            t = int(moves[0].argmax()) + row.start
            side = "left" if row.start else "right"
            says = f"Sequence {row.b}: output {t} changes when padding "
            says += f"stands on the {side} of the {subject.side(row.which)}, "
            if row.start and not depends_on_padding(subject, row):
                return False, says + BY_POSITION, moves, UNUSUAL
            if heard_at_border(subject, row):
                return False, says + AT_BORDER, moves, UNUSUAL
            return False, says + PADDING_HINT, moves
    if not moved:
        raise NotJudgedError("There is no padding, and no mask for it.")
    return True, MASKED_WELL, moved[0]


def moves_of_padding(subject: Subject, row: PaddedRow) -> Tensor:
    """How far the outputs of the words are from those without padding, as a
    share of the outputs' size: (1, T), 0 at what is no word."""
    beside = subject.call(subject.outputs_of, row.padded)
    alone = subject.call(subject.outputs_of, row.words)
    of_one = with_model(subject, subject.model, row.words)
    if row.which == subject.last:
        beside = beside[:, row.start : row.start + alone.shape[1]]
    by_word = alone.shape[:2] == of_one.inputs[-1].shape[:2]
    if beside.shape != alone.shape or not (by_word or row.start == 0):
        raise FailedError("There is no row for each word.")
    far = flat_rows((beside - alone).abs()).amax(-1) / output_spread(subject)
    return far.nan_to_num(0.0) * unpadded_rows(of_one, alone)


def heard_at_border(subject: Subject, row: PaddedRow) -> bool:
    """Whether outputs are fewer than words, as after a strided convolution,
    and in each attention as many keys are attended to as without padding."""
    counts = []
    for given in row.padded, row.words:
        other = with_model(subject, subject.model, given)
        if raw_output(other).shape[:2] == other.inputs[-1].shape[:2]:
            return False
        every = (x.weights > 0 for x in all_attentions(other))
        counts.append([int(x.flatten(0, -2).any(0).sum()) for x in every])
    return counts[0] == counts[1]


def depends_on_padding(subject: Subject, row: PaddedRow) -> bool:
    """Whether outputs of words depend on padding, or give weight to it."""
    other = with_model(subject, subject.model, row.padded)
    length = other.inputs[row.which].shape[1]
    count = row.words[subject.places[row.which]].shape[1]
    words = torch.zeros(length, dtype=torch.bool)
    words[row.start : row.start + count] = True
    asks = words if row.which == other.last else torch.tensor(True)
    hidden = (~words).nonzero()[:, 0].tolist()
    with suppress(NotJudgedError, FailedError):
        weights = (x.weights for x in all_attentions(other))
        within = (x for x in weights if x.shape[-2:] == (length, length))
        if any(x[..., words, :][..., ~words].max() > 1e-6 for x in within):
            return True
        return bool((depends_on(other, row.which, hidden) & asks).any())
    return False


def padded_rows(subject: Subject) -> Iterator[PaddedRow]:
    """Give each row that begins or ends with padding."""
    for which in range(len(subject.inputs)):
        real = subject.real[which]
        for b in real.any(1).nonzero()[:, 0].tolist():
            words = real[b].nonzero()[:, 0]
            start, end = int(words[0]), int(words[-1]) + 1
            if end - start < real.shape[1]:
                with suppress(FailedError):
                    alone = part_of(subject, which, slice(start, end), b)
                    padded = part_of(subject, which, slice(None), b)
                    yield PaddedRow(b, which, start, alone, padded)

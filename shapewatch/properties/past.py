"""The past: each position depends on itself and on the one before it."""

import re
from collections.abc import Iterator
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from shapewatch.properties.attention_parts import (
    AttentionParts,
    all_attentions,
    differ,
)
from shapewatch.properties.finding import (
    UNUSUAL,
    Verdict,
    check,
    whatever_weights,
)
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.patches import is_image
from shapewatch.properties.perturbation import (
    FAINT,
    another_batch,
    evenly_spaced,
    first,
    gives_one_row,
    judged_by_position,
    most_exact,
    reach,
    sampled_text,
)
from shapewatch.properties.subject import NotJudgedError, Subject, once
from shapewatch.tracing.record.tensors import tensors

NO_MIXING = "No position depends on another one, and there is no attention."
DOCUMENTS = re.compile("(^|_)(doc|document|pack|sequence)")
MEANT_SO = "Some models do this on purpose."


@check
@whatever_weights
def past(subject: Subject) -> Verdict:
    """Check that each position depends on itself and on the one before it,
    and that attention reads the values of both.

    A mask that hides too much changes no shape, and `causality` does not see
    it; nor does it see keys and values in the row of another position.

    - Changes: one position at a time, by noise; and within each attention,
      one word at a time, which becomes another.
    - Looks at: which outputs change; which queries, keys and values do; and
      how much weight these queries give to these values.
    - Says: which position does not depend on which, and where keys or values
      stand in the row of another position. Unusual: masks hide neighbours, or
      a position from itself, or one id alone has no effect.
    """
    judged_by_position(subject)
    if subject.inputs[-1].shape[1] == 1:
        raise NotJudgedError("There is only one position, and none before it.")
    if not mixes(subject):
        raise NotJudgedError(NO_MIXING)
    each = (attended_rows(subject, n) for n in range(subject.last + 1))
    moves, attended = reach(subject, subject.last), [*chain(*each)]
    if says := next(filter(None, map(misplaced_rows, attended)), ""):
        return False, says, moves[0]
    if wrong := across_documents(subject):
        return wrong
    for back in 0, 1:
        if (unmoved := unmoved_places(subject, back)).any():
            return unmoved_position(subject, unmoved, back)
    if path := next((x.path for x in attended if x.hides_itself()), ""):
        says = f"In {path}, no position attends to itself: the mask hides it, "
        says += f"as triu(0) does, and triu(1) does not. {MEANT_SO}"
        return False, says, moves[0], UNUSUAL
    says = "Each position depends on itself, and on the one before it"
    says += ", in its document." if documents(subject).any() else "."
    return True, says + sampled_text(subject, subject.last), moves[0]


@once
def documents(subject: Subject) -> Tensor:
    """Number the documents that are packed in each row, (B, T): a mask that
    is given cuts between them, or numbers of positions start again."""
    ids = subject.inputs[-1]
    b, t = ids.shape[:2]
    cut = torch.zeros(b, t - 1, dtype=torch.bool)
    for name, x in zip(subject.names, subject.given):
        if not isinstance(x, Tensor) or x is ids or x.shape[:1] != (b,):
            continue
        if x.ndim > 2 and x.shape[-2:] == (t, t):
            hides = x < -1e3 if x.is_floating_point() else x == 0
            sees = ~hides.reshape(b, -1, t, t).all(1)
            later = (sees[:, s:, :s].flatten(1).any(1) for s in range(1, t))
            cut |= ~torch.stack([*later], 1)
        elif x.shape == (b, t) and "position" in name:
            cut |= x.diff() < 0
        elif x.shape == (b, t) and DOCUMENTS.search(name):
            cut |= x.diff() != 0
    return pad(cut.long().cumsum(1), (1, 0))


def across_documents(subject: Subject) -> Verdict | None:
    """Say which position depends on one of an earlier document."""
    cut, moves = documents(subject), reach(subject, subject.last)
    wrong = (moves > 0).tril() & (cut[:, :, None] != cut[:, None])
    wrong &= subject.real[-1][:, :, None] & subject.real[-1][:, None]
    if not wrong.any():
        return None
    b, t, s = first(wrong)
    says = f"Sequence {b}: position {t} depends on position {s}, which is of "
    says += "another document. Documents in one row are kept apart by a mask "
    says += "of blocks, or by what attention makes of positions that start "
    says += "again: is it read? Some models see all that is packed."
    return False, says, moves[b], UNUSUAL


def unmoved_places(subject: Subject, back: int) -> Tensor:
    """Which positions move no output so far behind them: (B, T - back)."""
    real = subject.real[-1]
    wrong = reach(subject, subject.last).diagonal(-back, 1, 2) == 0
    wrong &= real[:, back:] & real[:, : wrong.shape[1]]
    cut = documents(subject)
    wrong &= cut[:, back:] == cut[:, : wrong.shape[1]]
    if not wrong.any():
        return wrong
    exact = most_exact(subject)  # sharp weights leave next to nothing of some
    moves = reach(exact, subject.last, 0.0)
    return wrong & (moves.diagonal(-back, 1, 2) == 0)


def unmoved_position(subject: Subject, wrong: Tensor, back: int) -> Verdict:
    """Say which position does not depend on the one so far back."""
    b, s = first(wrong)
    ids, moves = subject.inputs[-1], reach(subject, subject.last)[b]
    if hint := like_padding(ids[:, : wrong.shape[1]], wrong):
        if any(map(is_image, tensors([*subject.given]))):
            raise NotJudgedError(
                f"An image may replace it: position {s} {hint}"
            )
        return False, f"Sequence {b}: position {s} {hint}", moves, UNUSUAL
    some = bool((moves[s + back, : s + back] > 0).any())
    whom = f"position {s}" if some else "any position before it"
    says = f"Sequence {b}: position {s + back} does not depend on "
    says += whom if back else "itself"
    if back and masks_hide_neighbours(attended_rows(subject, subject.last)):
        return False, f"{says}: masks hide it. {MEANT_SO}", moves, UNUSUAL
    says += ". Look at the mask, and whether attention runs over positions."
    return False, says, moves


def mixes(subject: Subject) -> bool:
    """Whether there is attention, or outputs depend on other positions."""
    if all_attentions(subject):
        return True
    if gives_one_row(subject):  # such as a mean of words
        return False
    *moves, last = (reach(subject, n) for n in range(subject.last + 1))
    moves.append(last * (1 - torch.eye(last.shape[1])))
    return any(bool((x > 0).any()) for x in moves)


class AttendedRows(NamedTuple):
    """What an attention attends to: the rows of its queries (P, T), keys and
    values (P, S) that depend on the words at some `places`, and the keys that
    each query `attends` to, in some head: (T, S)."""

    path: str
    places: list[int]
    q: Tensor
    k: Tensor
    v: Tensor
    attends: Tensor

    @property
    def pairs(self) -> Tensor:
        """Which places attend to values of which: (P, P)."""
        q, weights, v = (1.0 * x for x in (self.q, self.attends, self.v))
        return q @ weights @ v.mT > 0

    @property
    def moved(self) -> Tensor:
        """Which places have no value in the row of the same number, nor of
        the same number from the end, where earlier keys stand before: (P)."""
        t = self.q.shape[-1]
        return ~(self.q & (self.v[:, :t] | self.v[:, -t:])).any(1)

    def hides_itself(self) -> bool:
        """Whether no position attends to itself; the first has no choice."""
        asks = self.q.any(1) & (torch.tensor(self.places) > 0)
        itself = self.pairs.diagonal()[asks]
        return len(itself) > 1 and not itself.any()


@once
def attended_rows(subject: Subject, which: int) -> list[AttendedRows]:
    """Ask each attention within an input, by other words at some places."""
    x, real = subject.inputs[which][:1], subject.real[which][0]
    words, other = real.nonzero()[:, 0].tolist(), x[0].clone()
    other[words] = x[0, words].roll(1, 0)
    unlike = [s for s in words if not x[0, s].equal(other[s])]
    some = evenly_spaced(unlike, max(2, subject.positions // 2))
    places = sorted({*some} | {s - 1 for s in some} & {*unlike})
    batch = x.repeat(len(places) + 1, *[1] * (x.ndim - 1))
    for row, s in zip(batch, places):
        row[s] = other[s]
    asked = another_batch(subject, which, batch)
    try:
        every = zip(all_attentions(asked), own_operands(subject, which))
        within = [parts for parts, of_side in every if all(of_side)]
    except (NotJudgedError, FailedError):
        return []
    causal = subject.causal and which == subject.last
    attended = (rows_of_places(parts, places, causal) for parts in within)
    t = x.shape[1]
    return [rows for rows in attended if rows and rows.q.shape[1] >= t]


def own_operands(subject: Subject, which: int) -> Iterator[list[bool]]:
    """Say which of queries, keys and values depend on just this input."""
    runs = [all_attentions(subject, i) for i in range(subject.last + 1)]
    for parts, *others in zip(all_attentions(subject), *runs):
        moves = zip(*(differ(parts, x) for x in others))
        yield [
            (x[which] or not any(x)) and not any(x[which + 1 :]) for x in moves
        ]


def rows_of_places(
    parts: AttentionParts, places: list[int], causal: bool
) -> AttendedRows | None:
    """See which rows of an attention differ from those of a batch's last.
    Where the future is hidden, a place has those that the next does not
    reach: no row of its own is among these."""
    rows = len(places) + 1
    operands = [x.matrix for x in (parts.q, parts.k, parts.v)]
    every, (t, s) = [*operands, parts.weights], parts.weights.shape[-2:]
    if t > s or any(x[..., 0, 0].numel() % rows for x in every):
        return None
    *vectors, weights = (x.reshape(rows, -1, *x.shape[-2:]) for x in every)
    apart = [(x[:-1] - x[-1:]).abs().amax((1, 3)) for x in vectors]
    moved = [x > FAINT * y.abs().max() for x, y in zip(apart, vectors)]
    if causal:
        moved = [torch.cat((x[:-1] & ~x[1:], x[-1:])) for x in moved]
    (q, k, v), attends = moved, (weights[-1] > 0).any(0)
    return AttendedRows(parts.path, places, q, k, v, attends)


def misplaced_rows(rows: AttendedRows) -> str:
    """Say which keys or values stand where those of others should; or ""."""
    apart = rows.k.any(1) & rows.v.any(1) & ~(rows.k & rows.v).any(1)
    if apart.any():
        i = int(apart.nonzero()[0])
        return (
            f"In {rows.path}, the value of position {rows.places[i]} is not "
            "at the position of its key. Look for code that moves one of "
            "them along positions: a roll, a flip, a view."
        )
    pairs = rows.pairs
    unmoved = rows.q.any(1) & ~pairs.diagonal()
    if (rows.moved & unmoved).any():
        i = int(unmoved.nonzero()[-1])
        return (
            f"In {rows.path}, position {rows.places[i]} attends to "
            f"{values_text(rows.places, pairs[i].tolist())}: its own is not "
            "among them. Look at the axis that keys and values are repeated "
            "along, and for a roll."
        )
    return ""


def values_text(places: list[int], attended: list[bool]) -> str:
    """Say which of some places' values are attended to."""
    runs = groupby(zip(places, attended), itemgetter(1))
    some = [[place for place, _ in run] for used, run in runs if used]
    ends = (dict.fromkeys((run[0], run[-1])) for run in some)
    texts = [" to ".join(map(str, pair)) for pair in ends]
    return f"values of positions {', '.join(texts) or '(none)'} only"


def masks_hide_neighbours(every: list[AttendedRows]) -> bool:
    """Whether no attention shows each position the one before it, though
    some show earlier ones."""
    for rows in every:
        near = [t - s == 1 for s, t in pairwise(rows.places)]
        if rows.pairs.diagonal(-1)[near].all() or rows.moved.any():
            return False
    return any(rows.pairs.tril(-1).any() for rows in every)


def like_padding(ids: Tensor, there: Tensor) -> str:
    """Say that just one id stands at some positions (B, T); or ""."""
    word = ids[there].flatten()[0].item()
    if ids.is_floating_point() or not (ids == word).equal(there):
        return ""
    return (
        f"has no effect, nor does any other word with the id {word}; all "
        f"others do. If it is padding, give pad={word}; if not, look at the "
        "mask."
    )

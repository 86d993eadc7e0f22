"""Order: whether two words that change places make a difference."""

import re
from collections.abc import Iterator
from itertools import combinations, compress, pairwise
from typing import Any

from torch import Tensor

from shapewatch.properties.attention_parts import (
    AttentionParts,
    all_attentions,
    joined_inputs,
)
from shapewatch.properties.closeness import are_close
from shapewatch.properties.finding import (
    BROKEN,
    UNUSUAL,
    Verdict,
    check,
    whatever_weights,
)
from shapewatch.properties.past import NO_MIXING, mixes, own_operands
from shapewatch.properties.perturbation import (
    FAINT,
    another_batch,
    distance,
    most_exact,
    rounding_tolerance,
)
from shapewatch.properties.positions import all_alike, by_rows
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.properties.versions import same_word, with_random_weights

NOT_MOVED = (
    "When {side} positions {p} and {q} change places, no other output moves. "
    "Look at the positions: are they added, and does each have its own?"
)
IN_VECTORS = " They may be in the vectors already."
MOST_PAIRS = 32  # how many pairs are tried
POSITION_NAMES = re.compile(
    r"pos|rotary|rope|alibi|freq|wpe|place|\bpe\b", re.I
)
PositionPairs = list[tuple[int, int]]


@check
@whatever_weights
def order_sensitivity(subject: Subject) -> Verdict:
    """Check that exchanging two words changes the other outputs.

    Attention alone gives the same for words in any order: positions have to
    tell them apart.

    - Changes: two words of an input swap places; then other pairs do.
    - Looks at: the outputs of other positions, and at what the first
      attention mixes for them.
    - Says: which words may swap places unnoticed, and whether all may.
      Unusual: the model has no table of positions at all, and may be meant so.
    """
    judged = {}
    for which, p, q, moves in exchanges(subject):
        side = subject.side(which)
        if moves.any():
            judged[side] = moves
        elif not mixes(subject):
            raise NotJudgedError(NO_MIXING)
        if has_no_positions(subject, side):
            continue
        if moves.any() and (wrong := swappable_neighbours(subject, which)):
            return False, wrong[0], moves, wrong[1]
        if not moves.any():
            says = NOT_MOVED.format(side=side, p=p, q=q)
            if may_have_positions(subject, which):
                return False, says + IN_VECTORS, moves, UNUSUAL
            return False, says, moves
    if not judged:
        raise NotJudgedError("No positions are needed, or no words differ.")
    says = " and the ".join(judged)
    says = f"The outputs depend on the order of the {says}."
    return True, says, next(iter(judged.values()))


def may_have_positions(subject: Subject, which: int) -> bool:
    """Whether an input is vectors, and no part is called as positions are."""
    vectors = subject.inputs[which].is_floating_point()
    return vectors and not has_named_positions(subject.model)


def exchanges(subject: Subject) -> Iterator[tuple[int, int, int, Tensor]]:
    """Let two words of an input, before its last, change places: which it is,
    their positions, how far other outputs of the first row move (1, T)."""
    for which, x in enumerate(subject.inputs):
        real = subject.real[which][0].nonzero()[:-1, 0].tolist()
        pairs = combinations(real, 2)
        unlike = [y for y in pairs if not are_close(*x[0, [*y]])]
        for p, q in unlike[:1]:
            inputs = [x.clone() for x in subject.inputs]
            joined = joined_inputs(subject)
            for i in joined if which in joined else [which]:
                inputs[i][:, [p, q]] = subject.inputs[i][:, [q, p]]
            start = (q + 1) * (which == subject.last)
            moves = distance(subject, subject.run(*inputs))[:1]
            if moves[:, start:].max() < rounding_tolerance(subject):
                exact = most_exact(subject)  # small weights hardly rotate
                given = [x.to(y.dtype) for x, y in zip(inputs, exact.inputs)]
                moves = distance(exact, exact.run(*given), FAINT / 100)[:1]
            moves[:, :start] = 0
            yield which, p, q, moves


def has_no_positions(subject: Subject, side: str) -> bool:
    """Whether no positions are asked for on a side: the model's config says
    so, or it reads features, as of a picture, which know their own."""
    config = getattr(subject.model, "config", None)
    names = ("src_positions",) * (side == "source") + ("positions",)
    given = [getattr(config, name, None) for name in names]
    features = side == "source" and subject.inputs[0].is_floating_point()
    return features or next(filter(None, given), "") == "none"


def swappable_neighbours(
    subject: Subject, which: int
) -> tuple[str, str] | None:
    """Say which neighbours could change places, and how bad that is."""
    tried, unmoved = swappable_pairs(subject, which)
    if unmoved:  # weights may be small
        again = swappable_pairs(with_random_weights(subject, 0), which)[1]
        unmoved = [pair for pair in unmoved if pair in again]
    if not unmoved:
        return None
    if len(unmoved) == len(tried):
        placed = placed_later(subject, which)
        return None if placed else no_positions(subject, which)
    (p, q), side = unmoved[0], subject.side(which)
    says = (
        f"When {side} positions {p} and {q} change places, the first "
        "attention layer gives the same, though not for others. Do they "
        "share one position, through a division or a limit?"
    )
    return says, BROKEN


def no_positions(subject: Subject, which: int) -> tuple[str, str]:
    """Say that no position is added anywhere."""
    model: Any = subject.model
    says = (
        f"The {subject.side(which)} has no positions: when words change "
        "places, the first attention layer gives the same, and only the "
        "causal mask shows later layers their order. "
    )
    if has_named_positions(model):
        return says + "Look at the positions: are they added?", BROKEN
    return says + "Some models do this on purpose.", UNUSUAL


def has_named_positions(model: Any) -> bool:
    """Whether a part or a tensor is called so, as positions are."""
    names = [*getattr(model, "named_modules", list)()]
    names += [*getattr(model, "named_buffers", list)()]
    names += [*getattr(model, "named_parameters", list)()]
    return any(POSITION_NAMES.search(name) for name, _ in names)


def unlike_words(subject: Subject, which: int) -> PositionPairs:
    """List pairs of positions that have other words, most of them near."""
    ids, real = subject.inputs[which][0], subject.real[which][0]
    places = real.nonzero()[:, 0].tolist()
    pairs = [*pairwise(places), *((places[0], q) for q in places[2:])]
    return [y for y in pairs if not are_close(*ids[[*y]])][:MOST_PAIRS]


def swappable_pairs(
    subject: Subject, which: int
) -> tuple[PositionPairs, PositionPairs]:
    """Find pairs of words, and those whose exchange moves nothing."""
    ids, unlike = subject.inputs[which][0], unlike_words(subject, which)
    batch = ids.repeat(len(unlike) + 1, *[1] * ids.ndim)
    for row, (p, q) in zip(batch, unlike):
        row[[p, q]] = row[[q, p]]
    other = another_batch(subject, which, batch)
    parts = first_attention(other, len(ids))
    if parts is None:
        return [], []
    mixed, weights = (by_rows(other, x) for x in (parts.mixed, parts.weights))
    tried, unmoved = [], []
    for row, (p, q) in zip(mixed, unlike):
        asks = (weights[-1][..., [p, q]] > 0).all(-1).any(0)
        asks[[p, q]] = False
        if asks.any():
            tried.append((p, q))
            moved = (row - mixed[-1]).abs().amax((0, 2))[asks].max()
            unmoved += [(p, q)] * bool(moved <= FAINT * mixed.abs().max())
    return tried, unmoved


def first_attention(subject: Subject, t: int) -> AttentionParts | None:
    """Find the first attention of t positions with unlike rows."""
    rows = len(subject.inputs[0])
    for parts in all_attentions(subject):
        x = parts.weights
        if x.shape[-2:] == (t, t) and not x[..., 0].numel() % rows:
            values = parts.v.matrix.reshape(rows, -1)
            if (values != values[:1]).any():
                return parts
    return None


def placed_later(subject: Subject, which: int) -> bool:
    """Whether positions of an input come in later than in embeddings."""
    every = all_attentions(same_word(subject, 0))
    for parts, of_side in zip(every, own_operands(subject, which)):
        if parts.biases and all(of_side[:2]) and not even(parts.weights):
            return True
        operands = compress((parts.q, parts.k, parts.v), of_side)
        if not all_alike(*(x.matrix for x in operands)):
            return True
    return False


def even(weights: Tensor) -> bool:
    """Whether all weights above 0 of a position are alike: (..., T, S)."""
    most = weights.amax(-1, keepdim=True)
    return bool(((weights > 0.999 * most) | (weights == 0)).all())

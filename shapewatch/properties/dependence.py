"""Dependence: which outputs depend on which inputs, and on which they must
not."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapewatch.properties.attention import (
    attentions_of_trace,
    cross_attentions,
    flow_of,
)
from shapewatch.properties.finding import (
    UNUSUAL,
    Verdict,
    check,
    whatever_weights,
)
from shapewatch.properties.inputs import FailedError, NotJudgedError
from shapewatch.properties.numbers import between_two
from shapewatch.properties.perturbation import (
    FAINT,
    NoisyRun,
    baseline_output,
    depends_on,
    distance,
    evenly_spaced,
    few_outputs,
    first_cause,
    gives_one_row,
    judged_by_position,
    only_looked_up,
    reach,
    rounding_tolerance,
    rows_alone,
    run_distances,
    sampled_positions,
    sampled_text,
    with_noise_added,
)
from shapewatch.properties.positions import (
    swappable_neighbours,
    table_with_zeros,
)
from shapewatch.properties.subject import (
    Subject,
    TrainingModel,
    in_double,
    with_model,
    with_sequences,
)
from shapewatch.tracing.questions.attention import Flow

USED = "Look at the padding mask: is it used in every attention?"
NO_MIXING = "No position hears another one, and there is no attention."


@check
@whatever_weights
def past(subject: Subject) -> Verdict:
    """See whether each position hears itself, and one before it."""
    judged_by_position(subject)
    moves = reach(subject, subject.last)
    if moves.shape[1] == 1:
        raise NotJudgedError("There is one position only: nobody is before.")
    if not mixes(subject):
        raise NotJudgedError(NO_MIXING)
    real = subject.real[-1] & ~moves.diagonal(dim1=1, dim2=2).isnan()
    itself = moves.diagonal(dim1=1, dim2=2) > 0
    deaf = ~(earlier(subject, moves) & itself) & real
    if not deaf.any():
        says = "Each position hears itself, and an earlier one."
        return True, says + sampled_text(subject, subject.last), moves[0]
    b, t = first(deaf)
    if hint := like_padding(subject.inputs[-1], deaf):
        return False, f"Row {b}: position {t} {hint}", moves[b], UNUSUAL
    whom = "any position before it" if itself[b, t] else "itself"
    says = (
        f"Row {b}: position {t} does not hear {whom}. Look at the mask, and "
        "whether attention runs over positions."
    )
    return False, says, moves[b]


def like_padding(ids: Tensor, there: Tensor) -> str:
    """Say that one id, and no other, stands at some positions (B, T), as if
    it was padding; or ""."""
    found = ids[there].unique() if ids.ndim == 2 else ids[:0]
    if ids.is_floating_point() or len(found) != 1:
        return ""
    if not (ids == found).equal(there):
        return ""
    one = found.item()
    return (
        f"is not heard, nor is any other word of the id {one}, and all others "
        f"are. If it is padding, give pad={one}; if not, look at the mask."
    )


def earlier(subject: Subject, moves: Tensor) -> Tensor:
    """Which positions hear one before them: (B, T); nobody is before the
    first, which is not asked."""
    real = subject.real[-1]
    before = (moves.tril(-1) > 0).any(-1)
    before |= real.cumsum(1) - real.long() == 0
    for t in (
        sampled_positions(subject, subject.last) if moves.isnan().any() else ()
    ):
        if not before[:, t].all():  # it may hear those that were left out
            before[:, t] |= depends_on(subject, subject.last, slice(t))[:, t]
    return before


@check
def padding_invariance(subject: Subject) -> Verdict:
    """See whether what stands at padding moves a real output: it must not."""
    real = subject.real
    padded = [which for which, x in enumerate(real) if not x.all()]
    if not padded:
        says = "There is no padding: give padded rows, and its id as pad=."
        raise NotJudgedError(says)
    for which in padded:
        moves = reach(subject, which)
        heard = (moves > 0) & ~real[which][:, None] & real[-1][:, :, None]
        if heard.any():
            b, t, s = first(heard)
            words = real[which][b].nonzero()[:, 0].tolist()
            place = first_cause(subject, which, b, s, words)
            says = (
                f"Row {b}: output {t} moves when {subject.sides[which]} "
                f"position {s} does, which is padding{place}. Look at the "
                "padding mask: its id, its axis, and where it is used."
            )
            return False, says, moves[b]
    for b, t, which in filter(None, (longer(subject, x) for x in padded)):
        says = f"Row {b}: output {t} moves when one more padding stands at "
        says += f"the end of the {subject.sides[which]}. {USED}"
        return False, says, reach(subject, which)[b]
    seen = reach(subject, padded[0])[0]
    says = "What stands at padding moves nothing."
    return True, says + sampled_text(subject, padded[0]), seen


def longer(subject: Subject, which: int) -> list[int] | None:
    """Find the row and position of an output that moves when an input is one
    padding longer, and which input that is."""
    x, real = subject.inputs[which], subject.real[which]
    if len(subject.given) != len(subject.inputs) or real[:, -1].all():
        return None
    end = x[~real][:1].expand(len(x), 1)
    inputs = [*subject.inputs]
    inputs[which] = torch.cat([x, end], 1)
    try:
        after = subject.run(*inputs)[:, : subject.inputs[-1].shape[1]]
        moves = distance(subject, after) > 10 * rounding_tolerance(subject)
    except (FailedError, RuntimeError):  # it is as long as can be
        return None
    moves &= subject.real[-1]
    return [*first(moves), which] if moves.any() else None


@check
@whatever_weights
def unknown_words(subject: Subject) -> Verdict:
    """See whether unknown words are heard: they are words, not padding."""
    if not any(x.any() for x in subject.unknown):
        says = "There is no unknown word: give unknown=, and one."
        raise NotJudgedError(says)
    for which, x in enumerate(subject.unknown):
        heard = reach(subject, which) > 0
        could = subject.real[-1][:, :, None].expand_as(heard)
        if which == subject.last:  # only those who come later
            could = could.tril(-1)
        pushed = ~reach(subject, which)[:, 0].isnan()
        wrong = x & pushed & could.any(1) & ~(heard & could).any(1)
        if wrong.any():
            b, s = first(wrong)
            says = (
                f"Row {b}: nobody hears {subject.sides[which]} position {s}, "
                "an unknown word. Look at the padding mask: does it hide the "
                "id of unknown words?"
            )
            return False, says, reach(subject, which)[b]
    return True, "Unknown words are heard.", reach(subject, 0)[0]


@check
@whatever_weights
def source_dependence(subject: Subject) -> Verdict:
    """See whether each output hears the source, through an attention in
    which the target asks and the source answers."""
    if subject.last != 1:
        raise NotJudgedError("There is no source: the model has one input.")
    moves, b = reach(subject, 0), 0
    deaf = subject.real[-1] & ~(moves > 0).any(-1)
    if deaf.any() and moves.isnan().any():
        deaf &= ~depends_on(subject, 0, slice(None))
    if deaf.any():
        b, t = first(deaf)
        says = f"Row {b}: output {t} hears nothing of the source."
    elif not cross_attentions(subject):
        says = (
            "In no attention does the target ask, and the source answer with "
            "both keys and values."
        )
    else:
        return True, "Each output hears the source.", moves[0]
    says += " Look at who is handed to cross-attention, and as what."
    return False, says, moves[b]


@check
@whatever_weights
def order_sensitivity(subject: Subject) -> Verdict:
    """See whether words that change places are noticed elsewhere."""
    judged = {}
    for which, p, q, moves in exchanges(subject):
        side = subject.sides[which]
        if moves.any():
            judged[side] = moves
        elif not mixes(subject):
            raise NotJudgedError(NO_MIXING)
        elif not has_no_positions(subject, side):
            says = (
                f"When {side} positions {p} and {q} change places, no other "
                "output moves. Look at the positions: are they added, and "
                "does each have its own?"
            )
            return False, says, moves
        if moves.any() and not has_no_positions(subject, side):
            for verdict in filter(
                None, [swappable_neighbours(subject, which)]
            ):
                says, level = verdict
                return False, says, moves, level
    if says := table_with_zeros(subject.model):
        return False, says, torch.zeros(1, 1), UNUSUAL
    if not judged:
        raise NotJudgedError("No positions are asked for, or no words differ.")
    says = f"The order of the {' and the '.join(judged)} is heard."
    return True, says, next(iter(judged.values()))


def exchanges(subject: Subject) -> Iterator[tuple[int, int, int, Tensor]]:
    """Let two words of an input, before its last, change places: which it is,
    their positions, how far other outputs of the first row move (1, T)."""
    for which, x in enumerate(subject.inputs):
        real = subject.real[which][0].nonzero()[:-1, 0].tolist()
        pairs = combinations(real, 2)
        unlike = [(p, q) for p, q in pairs if not x[0, p].equal(x[0, q])]
        for p, q in unlike[:1]:
            inputs = [x.clone() for x in subject.inputs]
            inputs[which][:, [p, q]] = x[:, [q, p]]
            few = few_outputs(subject)
            moves = distance(few, few.run(*inputs))[:1]
            if 0 < moves.max() < rounding_tolerance(few):
                moves = moves_in_double(few, inputs)[:1]
            if which == subject.last:
                moves[:, : q + 1] = 0
            yield which, p, q, moves


def moves_in_double(subject: Subject, inputs: list[Tensor]) -> Tensor:
    """How far outputs move, (B, T), where it may be rounding alone."""
    with suppress(NotJudgedError, FailedError):
        subject = in_double(subject)
    return distance(subject, subject.run(*inputs))


def mixes(subject: Subject) -> bool:
    """Whether a model hears other positions, or has any attention at all. Of
    one that does neither, such as a feed-forward net, nothing is asked."""
    if attentions_of_trace(subject):
        return True
    if gives_one_row(subject):  # such as a mean of words
        return False
    moves = [reach(subject, which) for which in range(subject.last + 1)]
    own = torch.eye(moves[-1].shape[1])
    heard = [*moves[:-1], moves[-1] * (1 - own)]
    return any(bool((x > 0).any()) for x in heard)


def has_no_positions(subject: Subject, side: str) -> bool:
    """Whether the model's config asks for no positions on a side."""
    theirs = getattr(subject.config, "src_positions", None)
    own = getattr(subject.config, "positions", None)
    return ((side == "source" and theirs) or own) == "none"


@check
def batch_independence(subject: Subject) -> Verdict:
    """See whether each row gives alone what it gives in a batch."""
    if len(subject.inputs[0]) < 2:
        raise NotJudgedError("There is one row only: give two.")
    few = few_outputs(subject)
    moved = rows_alone(few)
    wrong = (moved > rounding_tolerance(few)) & subject.real[-1]
    if wrong.any():
        b, t = first(wrong)
        says = (
            f"Row {b}: output {t} is another one when the row is alone. Look "
            "for an axis that is taken for another: batch first or second, "
            "and what norms and softmax run over."
        )
        return False, says, moved
    return True, "Each row gives alone what it gives in a batch.", moved


def first(wrong: Tensor) -> list[int]:
    """Give the first place at which something is True."""
    return wrong.nonzero()[0].tolist()


LENGTHS = 8  # how many shorter inputs are tried
SHORTER_REFUSED = "Shorter inputs are refused."


@check
def causality(subject: Subject) -> Verdict:
    """See whether a position hears later ones: it must not.

    It is asked in four ways: later vectors are pushed; later ids become
    others; the input ends earlier; and, in training, with the same random
    numbers, the first two at once.

    Vaswani et al. (2017), section 3.2.3.
    """
    if not subject.causal:
        raise NotJudgedError("The future may be heard here: causal=False.")
    judged_by_position(subject)
    if subject.inputs[-1].shape[1] < 2:
        raise NotJudgedError("There is one position only: none is later.")
    seen, refused = [], []
    for way, sentence in CAUSAL_RUNS.items():
        try:
            moves = way(subject)
        except NotJudgedError as reason:
            refused.append(str(reason))
            continue
        future = moves.triu(1) * subject.real[-1][:, :, None] > 0
        if future.any():
            b, t, s = future.nonzero()[0].tolist()
            return False, sentence(subject, b, t, s), moves[b]
        seen.append(moves[0])
    if not seen:
        raise NotJudgedError(refused[0])
    says = ["No position hears a later one.", SHORTER_REFUSED]
    held = " ".join(says[: 1 + (SHORTER_REFUSED in refused)])
    return True, held + sampled_text(subject, subject.last), seen[0]


def with_pushed_vectors(subject: Subject) -> Tensor:
    """How far positions move when another one is pushed: (B, T, T)."""
    return reach(subject, subject.last)


def pushed_words(subject: Subject, b: int, t: int, s: int) -> str:
    """Say that a position moves when a later one is pushed."""
    place = first_cause(subject, subject.last, b, s, list(range(s)))
    return (
        f"Row {b}: position {t} moves when position {s}, a later one, "
        f"does{place}. Look at the causal mask, and at what mixes positions."
    )


def with_other_ids(subject: Subject) -> Tensor:
    """How far positions move when the ids from another one on are others:
    (B, T, T). Where these are only looked up, it is 0: their vectors are
    pushed."""
    few = few_outputs(subject)
    if only_looked_up(few, few.last):
        return as_columns(few, {})
    every = range(1, subject.inputs[-1].shape[1])
    steps = evenly_spaced(every, max(2, subject.positions // 2))
    runs = [NoisyRun(with_others(subject, s), []) for s in steps]
    return as_columns(few, dict(zip(steps, run_distances(few, runs))))


def other_ids_words(subject: Subject, b: int, t: int, s: int) -> str:
    """Say that a position moves when later ids are others."""
    return (
        f"Row {b}: position {t} moves when the ids from position {s} on, "
        "which are later, become others. Look at what reads ids besides the "
        "embedding: a mask, a bias, what is added to the logits."
    )


def with_shorter_inputs(subject: Subject) -> Tensor:
    """How far positions move when the input ends before another one:
    (B, T, T). Of the lengths, none is a power of two."""
    same = not between_two(subject).any()
    subject = few_outputs(subject)
    before, found = baseline_output(subject), {}
    if not same and not subject.run(seed=1).equal(before):
        raise NotJudgedError("Two runs in evaluation differ.")
    odd = [n for n in range(3, before.shape[1]) if n & (n - 1)]
    for n in odd[:: 1 + len(odd) // LENGTHS]:
        try:
            after = subject.call(subject.made, truncated_inputs(subject, n))
        except FailedError:
            continue
        if after.shape[:2] == before[:, :n].shape[:2]:
            whole = torch.cat([after, before[:, n:]], 1)
            found[n] = distance(subject, whole, rounding_tolerance(subject))
    if odd and not found:
        raise NotJudgedError(SHORTER_REFUSED)
    return as_columns(subject, found)


def shorter_words(subject: Subject, b: int, t: int, s: int) -> str:
    """Say that a position moves when later ones are not there."""
    return (
        f"Row {b}: position {t} is another one when the input ends before "
        f"position {s}. Look at what depends on the length: masks, positions, "
        "means."
    )


def in_training(subject: Subject) -> Tensor:
    """How far positions move in training, where the random numbers are the
    same, when all from another one on are pushed, and others: (B, T, T)."""
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function is never in training.")
    few, last, found = few_outputs(subject), subject.last, dict[int, Tensor]()
    model: Any = few.model
    trained = with_model(few, TrainingModel(model))
    before = baseline_output(trained, last)
    if before.equal(baseline_output(few, last)):  # it is the same function
        return as_columns(few, found)
    with with_noise_added(trained.inputs, [], last) as nudge:
        again = trained.run(*nudge.inputs)
    if not again.equal(before):
        raise NotJudgedError("In training, two runs differ.")
    for s in {1, before.shape[1] // 2, before.shape[1] - 1} - {0}:
        pushed = run_with_new_suffix(trained, s)
        found[s] = distance(trained, pushed, FAINT, last)
    return as_columns(subject, found)


def training_words(subject: Subject, b: int, t: int, s: int) -> str:
    """Say that a position moves in training when later ones do."""
    return (
        f"Row {b}: in training, position {t} moves when those from position "
        f"{s} on, which are later, do. Look at norms over positions, such as "
        "batch-norm, and at masks that are left out in training."
    )


def run_with_new_suffix(subject: Subject, s: int) -> Tensor:
    """Run with all positions from one on pushed, and their ids replaced."""
    others = with_others(subject, s)
    with with_noise_added(others, slice(s, None), subject.last) as nudge:
        return subject.run(*nudge.inputs)


def with_others(subject: Subject, s: int) -> list[Tensor]:
    """Give inputs whose last ids, from a position on, are other words that
    occur there; padding stays. Vectors stay as they are."""
    *rest, ids = subject.inputs
    real = subject.real[-1]
    known = ids[real].unique() if not ids.is_floating_point() else ids[:0]
    later = real & (torch.arange(ids.shape[1]) >= s)
    if len(known) < 2:
        raise NotJudgedError("There are no other ids.")
    nth = torch.searchsorted(known, ids.contiguous())
    others = known[(nth + 1) % len(known)]
    return [*rest, torch.where(later, others, ids)]


def truncated_inputs(subject: Subject, n: int) -> tuple:
    """Cut the last sequence to n positions; and of what is no sequence, such
    as a mask, all axes of just as many as it had."""
    *rest, last = subject.inputs
    length, cuts = last.shape[1], (*rest, last[:, :n].contiguous())

    def cut(x: Any) -> Any:
        if not isinstance(x, Tensor) or any(x is y for y in cuts):
            return x
        parts = (slice(n if m == length else None) for m in x.shape)
        return x[tuple(parts)].contiguous()

    return tuple(map(cut, with_sequences(subject, cuts)))


def as_columns(subject: Subject, found: dict[int, Tensor]) -> Tensor:
    """Put what was found for some positions into a matrix (B, T, T)."""
    none = torch.zeros(subject.inputs[-1].shape[:2])
    every = range(none.shape[1])
    return torch.stack([found.get(s, none) for s in every], -1)


CAUSAL_RUNS = {
    with_pushed_vectors: pushed_words,
    with_other_ids: other_ids_words,
    with_shorter_inputs: shorter_words,
    in_training: training_words,
}


@check
@whatever_weights
def source_coverage(subject: Subject) -> Verdict:
    """See whether each target position gives a weight to each real source
    position, in some head of each cross-attention."""
    crossed = cross_attentions(subject) if subject.last == 1 else []
    sizes = tuple(x.shape[1] for x in reversed(subject.inputs))
    found = [one for one in crossed if one.weights.shape[-2:] == sizes]
    if not found:
        raise NotJudgedError("No target asks a source in any attention.")
    real, asks = subject.real
    for one in found:
        weights = one.weights.reshape(len(real), -1, *sizes).amax(1)
        missed = (weights == 0) & real[:, None] & asks[:, :, None]
        if missed.any():
            b, t, s = first(missed)
            if hint := like_padding(subject.inputs[0], missed.any(1)):
                says = f"Row {b}: in {one.path}, source position {s} {hint}"
                return False, says, weights[b], UNUSUAL
            says = (
                f"Row {b}: in {one.path}, target position {t} gives no "
                f"weight to source position {s}. Look at the memory's mask: "
                "it hides padding, and nothing else."
            )
            return False, says, weights[b]
    return True, "Each target position hears the whole source.", weights[0]


COUNTS = {"ne", "eq", "cumsum", "arange", "lt", "gt", "le", "ge", "floordiv"}


class Lookups(TorchFunctionMode):
    """Note which ids are looked up in an embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Tensor] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") == "embedding":
            self.found += [x for x in args[:1] if isinstance(x, Tensor)]
        return function(*args, **(kwargs or {}))


@check
def distinct_words(subject: Subject) -> Verdict:
    """See whether each word of the vocabulary is looked up in a row of its
    own, and each word that is given in one that learns."""
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no table of words.")
    every = enumerate(subject.inputs)
    found = [(n, *table) for n, x in every for table in tables(subject, x)]
    if not found:
        raise NotJudgedError("No word is looked up in an embedding.")
    for n, _, path in found:
        if says := frozen(subject, n, path):
            return False, says, subject.inputs[n].float(), UNUSUAL
    n, size, _ = found[-1]
    words = filled_with_words(subject, n, size)
    looked = lookups(subject, n, words)
    for ids in looked:
        if says := words_sharing_a_row(subject, words, ids):
            return False, says, torch.stack([words, ids]).float(), UNUSUAL
    says = f"Of {size} words, those that were tried have rows of their own."
    return True, says, words.float()


def tables(subject: Subject, x: Tensor) -> list[tuple[int, str]]:
    """Find the embeddings that words are looked up in: how many rows they
    have, and in which module."""
    flow = flow_of(subject)
    return [
        (step.reads[1].shape[0], step.visit.path)
        for i, step in enumerate(flow.steps)
        if flow.names[i] == "embedding" and len(step.reads) == 2
        if step.reads[0].shape == x.shape and of_words(flow, i)
        if not x.is_floating_point() and step.reads[1].shape[0] > x.max()
    ]


def of_words(flow: Flow, i: int) -> bool:
    """Whether what is looked up comes from an input, and is not counted."""
    j = flow.sources[i][0]
    while j is not None:
        if flow.names[j] in COUNTS or not flow.sources[j]:
            return False
        j = flow.sources[j][0]
    return True


def frozen(subject: Subject, n: int, path: str) -> str:
    """Say that a word is given whose row never learns, or ""."""
    model: Any = subject.model
    row = getattr(model.get_submodule(path), "padding_idx", None)
    given = (subject.inputs[n] == row) & subject.real[n]
    if row is None or row == subject.ids[0] or not given.any():
        return ""
    b, t = given.nonzero()[0].tolist()
    known = "give" if subject.ids[0] is None else "and not"
    return (
        f"Row {b}: the word at position {t} is {row}, whose row of {path} "
        f"never learns: padding_idx={row}. If it is padding, {known} "
        f"pad={subject.ids[0] if known == 'and not' else row}; if not, leave "
        "padding_idx out."
    )


def filled_with_words(subject: Subject, n: int, size: int) -> Tensor:
    """Put words of the whole vocabulary where words are: (B, T)."""
    x, real = subject.inputs[n], subject.real[n]
    words = torch.linspace(0, size - 1, int(real.sum())).round().long()
    words[words == subject.ids[0]] = size - 1
    made = x.clone()
    made[real] = words.to(x)
    return made


def lookups(subject: Subject, n: int, words: Tensor) -> list[Tensor]:
    """List what is looked up of the shape of other words, where these are
    read; none, where that fails."""
    seen, inputs = Lookups(), [*subject.inputs]
    inputs[n] = words
    try:
        with seen:
            subject.run(*inputs)
    except FailedError:
        return []
    return [x for x in seen.found if x.shape == words.shape]


def words_sharing_a_row(subject: Subject, words: Tensor, ids: Tensor) -> str:
    """Say which words are looked up in one row, where most are not, or ""."""
    given = words.flatten().tolist()
    rows: dict[int, int] = {}
    odd = ""
    for word, row in zip(given, ids.flatten().tolist()):
        if rows.setdefault(row, word) != word and word != subject.ids[1]:
            odd = odd or f"Words {rows[row]} and {word} are both looked up "
    moved = (ids - words).flatten()
    if not odd or (moved == moved.mode().values).float().mean() < 0.5:
        return ""  # these are other words, or no words
    return f"{odd}in one row: look at what is done to the ids before."

"""A cache: a sequence in pieces gives what it gives as a whole."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor

from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.perturbation import few_outputs, rounding_tolerance
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    optional_inputs,
    parameter_names,
    select_output,
)

CACHE = re.compile("past|cache|presents?$")
SWITCH = re.compile("^(use|return|give)_(kv_?)?(cache|past|presents?)s?$")
PLACES = re.compile("^(position_ids|positions|places|pos)$")
FIRST_PLACE = re.compile("^(start|start_pos|offset|past_len(gth)?)$")
NO_CACHE = "The model takes no cache, and gives rows for all words each time."
PieceRun = Callable[..., Tensor]


@check
def cached_run(subject: Subject) -> Verdict:
    """See whether a sequence that is read in pieces, with the cache that the
    model takes and gives back, has the outputs that it has as a whole.

    Models that keep what they have read, and are given all ids each time,
    are asked, too: they give rows for the new ones only.
    """
    subject = few_outputs(subject)
    given = first_words(subject)
    if given[-1].shape[1] == 1:
        raise NotJudgedError("There is one word only: give more.")
    whole = whole_output(subject, given)
    found, reason = list[tuple[Tensor, PieceRun]](), NO_CACHE
    for way in piece_runs(subject):
        try:
            found.append((away_from(whole, subject, way, given), way))
        except FailedError as error:
            if way is not prefix_outputs:
                reason = f"It cannot go on from a cache: {error}"
    if not found:
        raise NotJudgedError(reason)
    least, way = min(found, key=lambda one: one[0].max().item())
    for ask, says, level in CACHE_RUNS:
        with suppress(FailedError):
            apart = away_from(whole, subject, partial(ask, way), given)
            wrong = (apart > 10 * rounding_tolerance(subject))[0].nonzero()
            if len(wrong):
                says = f"Row 0: output {int(wrong[0])} {says}"
                return False, says, apart, level
    says = "Read in pieces, with a cache, it gives what it gives whole."
    return True, says, least


def whole_output(subject: Subject, given: tuple) -> Tensor:
    """Give the outputs of a sequence alone, read at once: (1, T, ...)."""
    try:
        return subject.call(partial(row_outputs, subject), given)
    except FailedError as error:
        says = f"One row alone, without padding, fails: {error}"
        raise NotJudgedError(says) from error


def away_from(
    whole: Tensor, subject: Subject, ask: PieceRun, given: tuple
) -> Tensor:
    """How far each output is from that of the whole: (1, T)."""
    made = subject.call(partial(ask, subject), given)
    if made.shape != whole.shape:
        raise FailedError(f"It gives {tuple(made.shape)} in pieces.")
    return (made - whole).abs().flatten(2).amax(-1) / whole.std()


def after_another(way: PieceRun, subject: Subject, *given: Tensor) -> Tensor:
    """Read another sequence, and then this one, with a cache of its own."""
    if way is not prefix_outputs:  # who keeps words may be told to drop them
        way(subject, *(x.flip(1) for x in given), ends=cuts(given[-1])[-2:])
    return way(subject, *given)


def whole_after(way: PieceRun, subject: Subject, *given: Tensor) -> Tensor:
    """Read another sequence in pieces, and then this one as a whole."""
    if way is not prefix_outputs:
        way(subject, *(x.flip(1) for x in given), ends=cuts(given[-1])[-2:])
    return row_outputs(subject, *given)


def in_pairs(way: PieceRun, subject: Subject, *given: Tensor) -> Tensor:
    """Read a first part, and then two words at a time."""
    t = given[-1].shape[1]
    first = max(t // 2, t - 8, 1)
    return way(subject, *given, ends=[*range(first, t, 2), t])


AFTER_ANOTHER = (
    "is another one when another sequence was read before, though no cache of "
    "that was handed on. Look for keys and values that the model keeps."
)
CACHE_RUNS: tuple[tuple[Callable[..., Tensor], str, str], ...] = (
    (
        lambda way, subject, *given: way(subject, *given),
        "is another one when the words before it come from the cache. Look at "
        "the numbers of positions and at the mask, which go on where the "
        "cache ends, and at the axis that keys and values are joined along.",
        BROKEN,
    ),
    (after_another, AFTER_ANOTHER, BROKEN),
    (whole_after, AFTER_ANOTHER, BROKEN),
    (
        in_pairs,
        "is another one when two words at a time follow a cache, though one "
        "by one they give what they give whole. Does each see the other? Some "
        "models are meant to read one at a time.",
        UNUSUAL,
    ),
)


def piece_runs(subject: Subject) -> Iterator[PieceRun]:
    """Find the ways to read in pieces: with an optional input that is a
    cache, and what says where a piece begins; or, where there is none, all
    words again each time."""
    names = optional_inputs(subject.model)
    empty = [name for name, x in names.items() if x is None]
    cache = next(filter(CACHE.search, empty), "")
    for extra in position_arguments(names) if cache else ():
        yield partial(in_pieces, cache=cache, extra=extra)
    if not cache:
        yield prefix_outputs


def row_outputs(subject: Subject, *given: Tensor, **known: Any) -> Tensor:
    """Run, and give the outputs: (1, T, ...)."""
    result = subject.model(*given, **known)
    return select_output(subject.pick, result, given[-1]).clone()


def cuts(words: Tensor) -> list[int]:
    """Say where pieces end: the last words come one by one."""
    t = words.shape[1]
    return [*range(max(t - 3, 1), t + 1)]


def prefix_outputs(
    subject: Subject, *given: Tensor, ends: list[int] | None = None
) -> Tensor:
    """Read more and more words; join what was given of the new ones."""
    *rest, words = given
    every = ends or cuts(words)
    made = [row_outputs(subject, *rest, words[:, :end]) for end in every]
    return torch.cat(made, 1)


def in_pieces(
    subject: Subject,
    *given: Tensor,
    cache: str,
    extra: dict[str, str],
    ends: list[int] | None = None,
) -> Tensor:
    """Read a piece after the other, and hand on the cache."""
    *rest, words = given
    switches = [n for n in optional_inputs(subject.model) if SWITCH.match(n)]
    start, held, made = 0, None, []
    for end in ends or cuts(words):
        known: dict[str, Any] = dict.fromkeys(switches, True) | {cache: held}
        for name, how in extra.items():
            every = torch.arange(start, end)[None]
            known[name] = every if how == "all" else start
        piece = words[:, start:end]
        result = subject.model(*rest, piece, **known)
        held, start = cache_of(result, cache), end
        made.append(select_output(subject.pick, result, piece))
    return torch.cat(made, 1)


def position_arguments(names: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Say how a model may be told where a piece begins, if at all."""
    yield {}
    for how, pattern in (("all", PLACES), ("first", FIRST_PLACE)):
        yield from ({name: how} for name in names if pattern.match(name))


def first_words(subject: Subject) -> tuple[Tensor, ...]:
    """Take the first row of each input, without its padding."""
    names = parameter_names(subject.model, len(subject.given))
    others = names[len(subject.inputs) :]
    come_first = subject.places == [*range(len(subject.inputs))]
    if not (come_first and optional_inputs(subject.model).keys() >= {*others}):
        raise NotJudgedError("Some inputs cannot be cut into pieces.")
    pairs = zip(subject.inputs, subject.real)
    return tuple(x[:1, real[0]] for x, real in pairs)


def cache_of(result: Any, name: str) -> Any:
    """Find the cache by its name, or as the last thing that was given."""
    parts = vars(result) if hasattr(result, "__dict__") else {}
    parts = result if isinstance(result, dict) else parts
    others = result[1:] if isinstance(result, (tuple, list)) else ()
    found = parts.get(name, others[-1] if others else None)
    if found is None:
        raise ValueError("it gives no cache back")
    return found

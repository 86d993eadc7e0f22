"""Caches: a sequence in pieces gives what it gives as a whole."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from shapewatch.properties.few import few_outputs
from shapewatch.properties.finding import (
    BROKEN,
    UNUSUAL,
    Verdict,
    check,
)
from shapewatch.properties.inputs import defaults, parameter_names
from shapewatch.properties.reach import rounding
from shapewatch.properties.results import picked
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
)

CACHE = re.compile("past|cache|presents?$")
SWITCH = re.compile("^(use|return|give)_(kv_?)?(cache|past|presents?)s?$")
PLACES = re.compile("^(position_ids|positions|places|pos)$")
START = re.compile("^(start|start_pos|offset|past_len(gth)?)$")
NONE = "The model takes no cache, and gives rows for all words each time."
LAST = 3  # how many positions are read one by one
PAIRS = 8  # how many are read in pairs, at most
LOOK = (
    "Look at the numbers of positions and at the mask, which go on where the "
    "cache ends, and at the axis that keys and values are joined along."
)
BEFORE = (
    "is another one when another sequence was read before, though no cache of "
    "that was handed on."
)
DROP = "Look for keys and values that the model keeps."
AT_ONCE = (
    "is another one when two words at a time follow a cache, though one by "
    "one they give what they give whole. Does each see the other? Some models "
    "are meant to read one at a time."
)
Way = Callable[..., Tensor]


@check
def cached_run(subject: Subject) -> Verdict:
    """See whether a sequence that is read in pieces, with the cache that the
    model takes and gives back, has the outputs that it has as a whole.

    Models that keep what they have read, and are given all ids each time,
    are asked, too: they give rows for the new ones only.
    """
    subject = few_outputs(subject)
    given = first_words(subject)
    if len(cuts(given[-1])) == 1:
        raise NotJudgedError("There is one word only: give more.")
    try:
        whole = subject.call(partial(rows, subject), given)
        seen, reason = distances(subject, whole, given)
    except FailedError as error:
        says = f"One row alone, without padding, fails: {error}"
        raise NotJudgedError(says) from error
    if not seen:
        raise NotJudgedError(reason)
    way, least = min(seen, key=lambda one: one[1].max().item())
    if (at := parts(subject, least)) is not None:
        says = (
            f"Row 0: output {at} is another one when the words before it "
            f"come from the cache. {LOOK}"
        )
        return False, says, least
    for ask, says, level in ASKED_NEXT:
        apart = more(subject, partial(ask, subject, way), whole, given)
        if (at := parts(subject, apart)) is not None:
            return False, f"Row 0: output {at} {says}", apart, level
    says = "Read in pieces, with a cache, it gives what it gives whole."
    return True, says, least


def parts(subject: Subject, apart: Tensor) -> int | None:
    """Give the first output that is another one than of the whole."""
    wrong = (apart > 10 * rounding(subject))[0].nonzero()
    return int(wrong[0]) if len(wrong) else None


def distances(
    subject: Subject, whole: Tensor, given: tuple[Tensor, ...]
) -> tuple[list[tuple[Way, Tensor]], str]:
    """How far outputs in pieces are from those of the whole, (1, T), in each
    way that there is, up to one that is right; or why there is none."""
    found, reason = list[tuple[Way, Tensor]](), NONE
    for way in ways(subject):
        try:
            made = subject.call(partial(way, subject), given)
        except FailedError as error:
            if way is not growing:
                reason = f"It cannot go on from a cache: {error}"
            continue
        if made.shape == whole.shape:
            found.append((way, away(made, whole)))
            if parts(subject, found[-1][1]) is None:
                break
    return found, reason


def more(
    subject: Subject, ask: Way, whole: Tensor, given: tuple[Tensor, ...]
) -> Tensor:
    """How far outputs are from those of the whole, (1, T), where they are
    read otherwise; 0 where they cannot be read so."""
    try:
        made = subject.call(ask, given)
    except FailedError:
        made = whole
    return away(made if made.shape == whole.shape else whole, whole)


def away(made: Tensor, whole: Tensor) -> Tensor:
    """How far each row of outputs is from that of others: (1, T)."""
    return (made - whole).abs().flatten(2).amax(-1) / whole.std()


def several(subject: Subject, way: Way, *given: Tensor) -> Tensor:
    """Read one half, or all but the last words of many, and then two at a
    time."""
    t = given[-1].shape[1]
    first = max(t // 2, t - PAIRS, 1)
    return way(subject, *given, ends=[*range(first, t, 2), t])


def after_another(subject: Subject, way: Way, *given: Tensor) -> Tensor:
    """Read another sequence, and then this one, with a cache of its own."""
    read_another(subject, way, *given)
    return way(subject, *given)


def whole_after(subject: Subject, way: Way, *given: Tensor) -> Tensor:
    """Read another sequence in pieces, and then this one as a whole."""
    read_another(subject, way, *given)
    return rows(subject, *given)


def read_another(subject: Subject, way: Way, *given: Tensor) -> None:
    """Read another sequence in two pieces."""
    if way is not growing:  # who keeps words may be told when to drop them
        ends = cuts(given[-1])[-2:]
        way(subject, *(x.flip(1) for x in given), ends=ends)


ASKED_NEXT: tuple[tuple[Way, str, str], ...] = (
    (after_another, f"{BEFORE} {DROP}", BROKEN),
    (whole_after, f"{BEFORE} {DROP}", BROKEN),
    (several, AT_ONCE, UNUSUAL),
)


def ways(subject: Subject) -> Iterator[Way]:
    """Find the ways to read in pieces: with an optional input that is a
    cache, and what says where a piece begins; or, where there is none, all
    words again each time."""
    names = defaults(subject.model)
    empty = [name for name, x in names.items() if x is None]
    cache = next(filter(CACHE.search, empty), "")
    if not cache:
        yield growing
        return
    for extra in numbered(names):
        yield partial(in_pieces, cache=cache, extra=extra)


def rows(subject: Subject, *given: Tensor, **known: Any) -> Tensor:
    """Run, and give the outputs: (1, T, ...)."""
    result = subject.model(*given, **known)
    return picked(subject.pick, result, given[-1]).clone()


def cuts(words: Tensor) -> list[int]:
    """Say where pieces end: the last words come one by one."""
    t = words.shape[1]
    return [*range(max(t - LAST, 1), t + 1)]


def growing(
    subject: Subject, *given: Tensor, ends: list[int] | None = None
) -> Tensor:
    """Read more and more words; join what was given of the new ones."""
    *rest, words = given
    made = [
        rows(subject, *rest, words[:, :end]) for end in ends or cuts(words)
    ]
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
    switches = [n for n in defaults(subject.model) if SWITCH.match(n)]
    start, held, made = 0, None, []
    for end in ends or cuts(words):
        known: dict[str, Any] = dict.fromkeys(switches, True) | {cache: held}
        for name, how in extra.items():
            every = torch.arange(start, end)[None]
            known[name] = every if how == "all" else start
        piece = words[:, start:end]
        result = subject.model(*rest, piece, **known)
        held, start = cache_of(result, cache), end
        made.append(picked(subject.pick, result, piece))
    return torch.cat(made, 1)


def numbered(names: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Say how a model may be told where a piece begins: not at all, by all
    numbers of positions, or by the first."""
    yield {}
    for how, pattern in (("all", PLACES), ("first", START)):
        yield from ({name: how} for name in names if pattern.match(name))


def first_words(subject: Subject) -> tuple[Tensor, ...]:
    """Take the first row of each input, without its padding; what else may
    be given, such as a mask of padding, is left out."""
    names = parameter_names(subject.model, len(subject.given))
    others = names[len(subject.inputs) :]
    come_first = subject.places == [*range(len(subject.inputs))]
    if not (come_first and defaults(subject.model).keys() >= {*others}):
        raise NotJudgedError("Some inputs cannot be cut into pieces.")
    pairs = zip(subject.inputs, subject.real)
    return tuple(x[:1, real[0]] for x, real in pairs)


def cache_of(result: Any, name: str) -> Any:
    """Find the cache in what a model gave: by its name, or the last thing
    beside the outputs."""
    parts = vars(result) if hasattr(result, "__dict__") else {}
    parts = result if isinstance(result, dict) else parts
    others = result[1:] if isinstance(result, (tuple, list)) else ()
    found = parts.get(name, others[-1] if others else None)
    if found is None:
        raise ValueError("it gives no cache back")
    return found

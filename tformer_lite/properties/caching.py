"""Caches: a sequence in pieces gives what it gives as a whole."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from inspect import Parameter, signature
from typing import Any

import torch
from torch import Tensor

from tformer_lite.properties.finding import Verdict, check
from tformer_lite.properties.reach import rounding
from tformer_lite.properties.results import picked
from tformer_lite.properties.subject import (
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
LOOK = (
    "Look at the numbers of positions and at the mask, which go on where the "
    "cache ends, and at the axis that keys and values are joined along."
)


@check
def cached_run(subject: Subject) -> Verdict:
    """See whether a sequence that is read in pieces, with the cache that the
    model takes and gives back, has the outputs that it has as a whole.

    Models that keep what they have read, and are given all ids each time,
    are asked, too: they give rows for the new ones only.
    """
    given = first_words(subject)
    if len(cuts(given[-1])) == 1:
        raise NotJudgedError("There is one word only: give more.")
    try:
        seen, reason = distances(subject, given)
    except FailedError as error:
        says = f"One row alone, without padding, fails: {error}"
        raise NotJudgedError(says) from error
    if not seen:
        raise NotJudgedError(reason)
    least = min(seen, key=lambda one: one.max().item())
    wrong = (least > 10 * rounding(subject))[0]
    if not wrong.any():
        says = "Read in pieces, with a cache, it gives what it gives whole."
        return True, says, least
    says = (
        f"Row 0: output {wrong.nonzero()[0].item()} is another one when the "
        f"words before it come from the cache. {LOOK}"
    )
    return False, says, least


def distances(
    subject: Subject, given: tuple[Tensor, ...]
) -> tuple[list[Tensor], str]:
    """How far outputs in pieces are from those of the whole, (1, T), in each
    way that there is; or why there is none."""
    whole, found = subject.call(partial(rows, subject), given), []
    reason = NONE
    for way in ways(subject):
        try:
            made = subject.call(partial(way, subject), given)
        except FailedError as error:
            if way is not growing:
                reason = f"It cannot go on from a cache: {error}"
            continue
        if made.shape == whole.shape:
            apart = (made - whole).abs().flatten(2).amax(-1)
            found.append(apart / whole.std())
    return found, reason


def ways(subject: Subject) -> Iterator[Callable[..., Tensor]]:
    """Find the ways to read in pieces: with an optional input that is a
    cache, and what says where a piece begins; or, where there is none, all
    words again each time."""
    names = optional(subject)
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


def growing(subject: Subject, *given: Tensor) -> Tensor:
    """Read more and more words; join what was given of the new ones."""
    *rest, words = given
    made = [rows(subject, *rest, words[:, :end]) for end in cuts(words)]
    return torch.cat(made, 1)


def in_pieces(
    subject: Subject, *given: Tensor, cache: str, extra: dict[str, str]
) -> Tensor:
    """Read a piece after the other, and hand on the cache."""
    *rest, words = given
    switches = [n for n in optional(subject) if SWITCH.match(n)]
    start, held, made = 0, None, []
    for end in cuts(words):
        known: dict[str, Any] = dict.fromkeys(switches, True) | {cache: held}
        for name, how in extra.items():
            every = torch.arange(start, end)[None]
            known[name] = every if how == "all" else start
        piece = words[:, start:end]
        result = subject.model(*rest, piece, **known)
        held, start = cache_of(result, cache), end
        made.append(picked(subject.pick, result, piece))
    return torch.cat(made, 1)


def optional(subject: Subject) -> dict[str, Any]:
    """Name the optional inputs of a model, with what they are else."""
    model = subject.model
    try:
        asked = signature(getattr(model, "forward", model)).parameters
    except (TypeError, ValueError):
        return {}
    pairs = ((name, one.default) for name, one in asked.items())
    return {name: x for name, x in pairs if x is not Parameter.empty}


def numbered(names: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Say how a model may be told where a piece begins: not at all, by all
    numbers of positions, or by the first."""
    yield {}
    for how, pattern in (("all", PLACES), ("first", START)):
        yield from ({name: how} for name in names if pattern.match(name))


def first_words(subject: Subject) -> tuple[Tensor, ...]:
    """Take the first row of each input, without its padding."""
    if len(subject.given) != len(subject.inputs):
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

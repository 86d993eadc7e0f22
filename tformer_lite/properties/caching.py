"""Caches: a sequence in pieces gives what it gives as a whole."""

import re
from collections.abc import Iterator
from functools import partial
from inspect import Parameter, signature
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from tformer_lite.properties.finding import Verdict, check
from tformer_lite.properties.reach import rounding
from tformer_lite.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    output,
)

CACHE = re.compile("past|cache|presents?$")
SWITCH = re.compile("^(use|return|give)_(kv_?)?(cache|past|presents?)s?$")
PLACES = re.compile("^(position_ids|positions|places|pos)$")
START = re.compile("^(start|start_pos|offset|past_len(gth)?)$")
LAST = 3  # how many positions are read one by one
LOOK = (
    "Look at the numbers of positions and at the mask, which go on where the "
    "cache ends, and at the axis that keys and values are joined along."
)


@check
def cached_run(subject: Subject) -> Verdict:
    """See whether a sequence that is read in pieces, with the cache that the
    model takes and gives back, has the outputs that it has as a whole."""
    names = optional(subject)
    cache = next(
        (n for n in names if CACHE.search(n) and names[n] is None), ""
    )
    if not cache:
        raise NotJudgedError("The model has no optional input for a cache.")
    seen = []
    for extra in numbered(names):
        ask = partial(apart, subject, cache, extra)
        try:
            seen.append(subject.call(ask, first_words(subject)))
        except FailedError as error:
            reason = f"It cannot go on from a cache: {error}"
    if not seen:
        raise NotJudgedError(reason)
    moved = min(seen, key=lambda one: one.max().item())
    if moved.max() <= 10 * rounding(subject):
        says = "Read in pieces, with a cache, it gives what it gives whole."
        return True, says, moved
    t = (moved[0] > 10 * rounding(subject)).nonzero()[0].item()
    says = (
        f"Row 0: output {t} is another one when the words before it are in "
        f"the cache `{cache}`. {LOOK}"
    )
    return False, says, moved


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


def apart(
    subject: Subject, cache: str, extra: dict[str, str], *given: Tensor
) -> Tensor:
    """How far outputs in pieces are from those of the whole: (1, T)."""
    *rest, words = given
    whole = output(subject.model(*rest, words), words)
    t, held, made = words.shape[1], None, []
    cuts = [0, *range(max(t - LAST, 1), t + 1)]
    switches = [n for n in optional(subject) if SWITCH.match(n)]
    for start, end in pairwise(cuts):
        known: dict[str, Any] = dict.fromkeys(switches, True) | {cache: held}
        for name, how in extra.items():
            every = torch.arange(start, end)[None]
            known[name] = every if how == "all" else start
        piece = words[:, start:end]
        result = subject.model(*rest, piece, **known)
        held = cache_of(result, cache)
        made.append(output(result, piece))
    joined = torch.cat(made, 1)
    return (joined - whole).abs().flatten(2).amax(-1) / whole.std()


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

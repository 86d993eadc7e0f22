"""A cache: a sequence in pieces gives what it gives as a whole."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.inputs import optional_inputs
from shapewatch.properties.outputs import (
    FailedError,
    named_parts,
    select_output,
)
from shapewatch.properties.perturbation import rounding_tolerance
from shapewatch.properties.subject import NotJudgedError, Subject

CACHE = re.compile("past|cache|presents?$")
SWITCH = re.compile("^(use|return|give)_(kv_?)?(cache|past|presents?)s?$")
PLACES = re.compile("^(position_ids|positions|places|pos)$")
FIRST_PLACE = re.compile("^(start|start_pos|offset|past_len(gth)?)$")
NO_CACHE = "The model takes no cache, and gives rows for all words each time."
PieceRun = Callable[..., Tensor]


@check
def cached_run(subject: Subject) -> Verdict:
    """Check that a sequence that is read in pieces, with the model's cache,
    has the same outputs as when it is read as a whole.

    A cache saves work, and changes no number. The model takes it as an
    optional input and gives it back, or keeps it inside.

    - Changes: how a row is read: in pieces, the last words one by one; or
      after another row.
    - Looks at: the outputs, compared with those of the whole row.
    - Says: which output differs, and in which kind of run. Unusual: words read
      one by one are right, two at a time are not.
    """
    given = first_words(subject)
    if given[-1].shape[1] == 1:
        raise NotJudgedError("There is one word only: give more.")
    at_once = whole_output(subject, given)
    ways, reason = ways_in_pieces(subject, given, at_once)
    if not ways:
        raise NotJudgedError(reason)
    least, way = min(ways, key=lambda pair: pair[0].max().item())
    for run in CACHE_RUNS:
        with suppress(FailedError):
            ask, apart = partial(run.outputs, way), least
            if run is not CACHE_RUNS[0]:  # which was run to find the way
                apart = away_from(at_once, subject, ask, given)
            others = apart[0] > 10 * rounding_tolerance(subject)
            if others.any():
                n = int(others.nonzero()[0])
                says = f"Sequence 0: output {n} changes when {run.when}: "
                return False, f"{says}{run.look}", apart, run.level
    says = "In pieces, with a cache, the outputs are those of a whole run."
    return True, says, least


def ways_in_pieces(
    subject: Subject, given: tuple, at_once: Tensor
) -> tuple[list[tuple[Tensor, PieceRun]], str]:
    """Find the ways to read in pieces that run, each with how far outputs
    are from those of the whole; and a reason why there may be none."""
    ways, reason = [], NO_CACHE
    for way in piece_runs(subject):
        try:
            ways.append((away_from(at_once, subject, way, given), way))
            if ways[-1][0].max() <= 10 * rounding_tolerance(subject):
                break
        except FailedError as error:
            if way is not prefix_outputs:
                reason = f"It cannot go on from a cache: {error}"
    return ways, reason


def whole_output(subject: Subject, given: tuple) -> Tensor:
    """Give the outputs of a sequence alone, read at once: (1, T, ...)."""
    try:
        return subject.call(partial(row_outputs, subject), given)
    except FailedError as error:
        says = "Its first row without padding does not run alone."
        raise NotJudgedError(says) from error


def away_from(
    at_once: Tensor, subject: Subject, ask: PieceRun, given: tuple
) -> Tensor:
    """How far each output is from that of the whole: (1, T)."""
    outputs = subject.call(partial(ask, subject), given)
    if outputs.shape != at_once.shape:
        raise FailedError(f"It gives {tuple(outputs.shape)} in pieces.")
    return (outputs - at_once).abs().flatten(2).amax(-1) / at_once.std()


def pair_ends(words: Tensor) -> list[int]:
    """Say where pieces of two words end, behind a first one."""
    t = words.shape[1]
    return [*range(max(t // 2, t - 8, 1), t, 2), t]


def cuts(words: Tensor) -> list[int]:
    """Say where pieces end: the words after the first quarter come one by
    one, at most 16: so a window that is shorter fills up meanwhile."""
    t = words.shape[1]
    return [*range(max(t // 4, t - 16, 1), t + 1)]


class CacheRun(NamedTuple):
    """A run in pieces that have such `ends`, perhaps `after` one of another
    sequence; and a sentence on when outputs are other ones, and where to
    look; and how bad that is."""

    when: str
    look: str
    level: str = BROKEN
    ends: Callable[[Tensor], list[int]] = cuts
    after: bool = False

    def outputs(
        self, way: PieceRun, subject: Subject, *given: Tensor
    ) -> Tensor:
        """Give the outputs of such a run, (1, T, ...)."""
        how = getattr(way, "keywords", {})
        told = how.get("cache") or how.get("extra")  # or it drops words
        if self.after and told:
            others = [x.flip(1) for x in given]
            way(subject, *others, ends=cuts(given[-1])[-2:])
        return way(subject, *given, ends=self.ends(given[-1]))


CACHE_RUNS = (
    CacheRun(
        "the words before it come from the cache",
        "look at the numbers of positions and at the mask, which go on where "
        "the cache ends, and at the axis that keys and values are joined "
        "along.",
    ),
    CacheRun(
        "another sequence was read before, although its cache was not passed "
        "on",
        "look for keys and values that the model keeps.",
        after=True,
    ),
    CacheRun(
        "two words at a time follow a cache, though one at a time they match "
        "the whole run",
        "does each see the other? Some models are meant to read one at a "
        "time.",
        UNUSUAL,
        pair_ends,
    ),
)


def piece_runs(subject: Subject) -> Iterator[PieceRun]:
    """Find the ways to read in pieces: with an optional input that is a
    cache, and what says where a piece begins; or, where there is none, all
    words again each time."""
    names = optional_inputs(subject.model)
    empty = [name for name, x in names.items() if x is None]
    cache = next(filter(CACHE.search, empty), "")
    every = "", *filter(PLACES.match, names), *filter(FIRST_PLACE.match, names)
    for extra in every:
        way = partial(in_pieces, cache=cache, extra=extra)
        if cache or keeps_words(subject, way):
            yield way
    if not cache:
        yield prefix_outputs


def keeps_words(subject: Subject, way: PieceRun) -> bool:
    """Whether the last output depends on a piece that was read before, though
    no cache is handed on: the model has one."""
    *rest, words = first_words(subject)
    others, ask = words.clone(), partial(way, subject)
    others[:, :-1] = words[:, :-1].flip(1)
    with suppress(FailedError):
        every = (subject.call(ask, (*rest, x)) for x in (words, others))
        plain, other = (x[:, -1].nan_to_num() for x in every)
        return not plain.equal(other)
    return False


def row_outputs(subject: Subject, *given: Any) -> Tensor:
    """Run, and give the outputs: (1, T, ...)."""
    result = subject.answer(*given)
    return select_output(subject.pick, result, given[-1]).clone()


def prefix_outputs(
    subject: Subject, *given: Tensor, ends: list[int] | None = None
) -> Tensor:
    """Read more and more words; join what was given of the new ones."""
    *rest, words = given
    every = ends or cuts(words)[-4:]
    outputs = [row_outputs(subject, *rest, words[:, :end]) for end in every]
    return torch.cat(outputs, 1)


def in_pieces(
    subject: Subject,
    *given: Tensor,
    cache: str,
    extra: str,
    ends: list[int] | None = None,
) -> Tensor:
    """Read a piece after the other, and hand on the cache, by its name; and
    say with what is `extra` where a piece begins, or where its words are."""
    *rest, words = given
    switches = [n for n in optional_inputs(subject.model) if SWITCH.match(n)]
    start, held, outputs = 0, None, []
    for end in ends or cuts(words):
        named: dict[str, Any] = dict.fromkeys(switches, True)
        named |= {cache: held} if cache else {}
        if extra:
            every = torch.arange(start, end)[None]
            named[extra] = every if PLACES.match(extra) else start
        piece = words[:, start:end]
        result = subject.answer(*rest, piece, **named)
        held, start = cache_of(result, cache) if cache else None, end
        outputs.append(select_output(subject.pick, result, piece))
    return torch.cat(outputs, 1)


def first_words(subject: Subject) -> tuple[Tensor, ...]:
    """Take the first row of each input, without its padding."""
    others = {*subject.names[len(subject.inputs) :]}
    come_first = subject.places == [*range(len(subject.inputs))]
    if not (come_first and optional_inputs(subject.model).keys() >= others):
        raise NotJudgedError("Some inputs cannot be cut into pieces.")
    pairs = zip(subject.inputs, subject.real)
    return tuple(x[:1, real[0]] for x, real in pairs)


def cache_of(result: Any, name: str) -> Any:
    """Find the cache by its name, or as the last thing that was given."""
    others = result[1:] if isinstance(result, (tuple, list)) else ()
    cache = named_parts(result).get(name, [None, *others][-1])
    if cache is None:
        raise ValueError("it gives no cache back")
    return cache

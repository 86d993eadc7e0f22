"""Subjects: a model and its inputs, ready to be asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from functools import cached_property, wraps
from inspect import signature
from typing import Any, TypeVar

import torch
from torch import Tensor, nn, no_grad

from shapewatch.properties.inputs import (
    as_called,
    by_place,
    sequences,
)
from shapewatch.properties.results import (
    FailedError,
    NotJudgedError,
    Pick,
    error_line,
    for_positions,
    picked,
)
from shapewatch.tracing.record.state import State, seed_all

__all__ = [
    "FailedError",
    "NotJudgedError",
    "Subject",
    "error_line",
    "like",
    "once",
    "subject_of",
    "whole",
]
T = TypeVar("T")
POSITIONS = 16
UNK, PAD = 0, 1  # the ids of [UNK]: the second where padding has the first
LABELS = {"targets", "target", "labels", "y"}  # or a decoder's input


class Runner:
    """A model that is run, and found as it was each time."""

    model: Callable
    given: tuple
    loss: Callable | None
    inputs: tuple[Tensor, ...]
    places: list[int]
    ids: tuple[int | None, int | None]
    pick: Pick
    state: State
    tick: Callable[[], None]
    pools = False  # whether the last run gave one output for a sequence

    @cached_property
    def real(self) -> list[Tensor]:
        """Which positions of each input are not the id `pad`: (B, T)."""
        return [~is_id(x, self.ids[0]) for x in self.inputs]

    @cached_property
    def unknown(self) -> list[Tensor]:
        """Which positions of each input are the id `unknown`: (B, T)."""
        return [is_id(x, self.ids[1]) for x in self.inputs]

    def run(self, *inputs: Tensor, seed: int = 0) -> Tensor:
        """Run the model in evaluation, with random numbers of its own:
        -> (B, T, ...). Raises FailedError for whatever goes wrong."""
        given = whole(self, inputs or self.inputs)
        return self.call(self.made, given, seed)

    def made(self, *given: Tensor) -> Tensor:
        """Run the model just as it is: what it gives now."""
        result, rows = self.model(*given), given[self.places[-1]]
        found = picked(self.pick, result, rows)
        made = for_positions(found, rows)
        self.pools = made is not found
        return made.clone()

    def call(self, ask: Callable[..., T], inputs: tuple, seed: int = 0) -> T:
        """Call something that runs the model, without gradients; and a
        module, in evaluation. Then all is as it was, as far as a glance
        tells: whoever made the subject looks again, `with subject.state`."""
        self.tick()
        with kept(self.state), resting(self.model), failing():
            seed_all(seed)
            return ask(*inputs)


class Subject(Runner):
    """A model, what it reads, and what was found out about it.

    It reads a source and a target, or one sequence: ids (B, T) or vectors
    (B, T, C). What else it is given, such as masks and numbers of positions,
    is handed on as it is: `inputs` are the sequences, which stand at some
    `places`, and `given` is all, also what is `named`. A `pick` finds the
    output in what it gives; of an input, about so many `positions` are
    pushed. A training `loss` may ask for what it should give.
    """

    def __init__(
        self,
        model: Callable,
        inputs: tuple[Tensor, ...] = (),
        pad: int | None = None,
        unknown: int | None = None,
        causal: bool = True,
        places: list[int] | None = None,
        positions: int = POSITIONS,
        output: Pick = None,
        named: Mapping[str, Any] | None = None,
        loss: Callable | None = None,
    ):
        if positions < 2:
            says = f"{positions=} is too few: the first and the last are two"
            raise ValueError(says)
        self.causal, self.positions, self.pick = causal, positions, output
        self.tick: Callable[[], None] = nobody_waits
        self.ids, self.found = own_ids(model, pad, unknown), dict[tuple, Any]()
        self.model, self.given, names = by_place(model, inputs, named or {})
        if not self.given:
            raise TypeError("give the model's inputs, too: check(model, ids)")
        self.config = getattr(self.model, "config", None)
        self.loss = loss and as_called(loss, self.model)
        self.state = State(self.model, self.given, loss)
        self.reads(places or sequences(self.given, names), names)
        if not places and self.names[-1] in LABELS:
            self.reads(without_labels(self), names)

    def reads(self, places: list[int], names: list[str]) -> None:
        """Take the inputs at some places for sequences; all have a name, or
        "" where it is not known."""
        self.places, self.names = places, [names[i] for i in places]
        self.inputs = tuple(self.given[i] for i in places)
        self.last = len(places) - 1  # the output has its rows
        self.sides = sides(len(places))


def without_labels(subject: Subject) -> list[int]:
    """Tell which inputs are sequences, without a last one that has the shape
    of the one before it and changes no output: these are labels."""
    *rest, labels = subject.inputs
    if not rest or labels.shape != rest[-1].shape:
        return subject.places
    with suppress(FailedError):
        others = [*rest, labels.roll(1, 1).flip(0)]
        if subject.run(*others).equal(subject.run()):
            return subject.places[:-1]
    return subject.places


def sides(count: int) -> tuple[str, ...]:
    """Name so many sequences."""
    known = {1: ("input",), 2: ("source", "target")}
    return known.get(count, tuple(f"input {i}" for i in range(count)))


def like(
    subject: Subject,
    model: Callable,
    given: tuple | None = None,
    free: Iterable[Tensor] = (),
) -> Subject:
    """Ask another model the same: of the same inputs, or of others like
    them. What is `free` of it is not put back after a run."""
    other = copy(subject)
    other.model, other.found = model, {}
    other.config = getattr(model, "config", None)
    other.given = subject.given if given is None else given
    other.inputs = tuple(other.given[i] for i in other.places)
    for name in ("real", "unknown"):  # these are of the inputs
        vars(other).pop(name, None)
    beside, things = copy(subject.state), (model, other.given, subject.loss)
    beside.known = beside.known | {id(x): x for x in free}
    other.state = State(*things, beside=beside)
    return other


def whole(subject: Runner, inputs: tuple, given: tuple | None = None) -> tuple:
    """Put sequences where they stand among all that a subject is given, or
    others like that."""
    every = enumerate(subject.given if given is None else given)
    found = dict(every) | dict(zip(subject.places, inputs))
    return tuple(found.values())


def own_ids(
    model: Callable, pad: int | None, unknown: int | None
) -> tuple[int | None, int | None]:
    """Give the ids of [PAD] and [UNK]: the model's, unless they are said."""
    config = getattr(model, "config", None)
    own = getattr(config, "pad", getattr(model, "pad", None))
    pad = own if pad is None else pad
    if unknown is None and hasattr(config, "pad"):
        unknown = UNK if pad != UNK else PAD
    return pad, unknown


def subject_of(
    model: Callable, inputs: tuple, known: Mapping[str, Any]
) -> Subject:
    """Make a subject of what the caller of a check gives: a name that is no
    option is an input of the model."""
    options = {name: x for name, x in known.items() if name in OPTIONS}
    named = {name: x for name, x in known.items() if name not in OPTIONS}
    return Subject(model, inputs, named=named, **options)


OPTIONS = {*signature(Subject).parameters} - {
    "model",
    "inputs",
    "places",
    "named",
}


def nobody_waits() -> None:
    """Tell nobody that the model runs once more."""


@contextmanager
def kept(state: State) -> Iterator[None]:
    """Have things put back, quickly."""
    try:
        yield
    finally:
        state.put_back(counted=True)


@contextmanager
def resting(model: Callable) -> Iterator[None]:
    """Run without gradients; and a module, in evaluation: then each part is
    in training again that was."""
    parts = [*model.modules()] if isinstance(model, nn.Module) else []
    before = [(part, part.training) for part in parts]
    try:
        for part in parts[:1]:
            part.eval()
        with no_grad():
            yield
    finally:
        for part, training in before:
            if part.training is not training:
                part.training = training


@contextmanager
def failing() -> Iterator[None]:
    """Raise FailedError for whatever goes wrong."""
    try:
        yield
    except Exception as error:
        raise FailedError(error_line(error)) from error


def once(find: Callable[..., T]) -> Callable[..., T]:
    """Let what is found out about a subject be remembered."""

    @wraps(find)
    def remembered(subject: Subject, *which: Any) -> T:
        key = find.__name__, *which
        if key not in subject.found:
            subject.found[key] = find(subject, *which)
        return subject.found[key]

    return remembered


def is_id(x: Tensor, known: int | None) -> Tensor:
    """Which positions have an id: (B, T). No vector has one."""
    if x.is_floating_point() or known is None:
        return torch.zeros(x.shape[:2], dtype=torch.bool)
    return x == known

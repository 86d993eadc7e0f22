"""Subjects: a model and its inputs, ready to be asked; and the same model
otherwise: in training, in double precision, or with other weights."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy, deepcopy
from functools import cached_property, wraps
from inspect import signature
from typing import Any, TypeVar

import torch
from torch import Tensor, nn, no_grad
from torch.utils._pytree import tree_map_only

from shapewatch.properties.inputs import (
    FailedError,
    NotJudgedError,
    Pick,
    as_called,
    by_place,
    error_line,
    for_positions,
    select_output,
    sequences,
)
from shapewatch.tracing.record.state import State, seed_all

Result = TypeVar("T")
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
        given = with_sequences(self, inputs or self.inputs)
        return self.call(self.made, given, seed)

    def made(self, *given: Tensor) -> Tensor:
        """Run the model just as it is: what it gives now."""
        result, rows = self.model(*given), given[self.places[-1]]
        found = select_output(self.pick, result, rows)
        made = for_positions(found, rows)
        self.pools = made is not found
        return made.clone()

    def call(
        self, ask: Callable[..., Result], inputs: tuple, seed: int = 0
    ) -> Result:
        """Call something that runs the model, without gradients; and a
        module, in evaluation. Then all is as it was, as far as a glance
        tells: whoever made the subject looks again, `with subject.state`."""
        self.tick()
        with (
            restoring_state(self.state),
            in_evaluation(self.model),
            as_failures(),
        ):
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
        self.tick: Callable[[], None] = no_progress
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
        self.sides = side_names(len(places))


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


def side_names(count: int) -> tuple[str, ...]:
    """Name so many sequences."""
    known = {1: ("input",), 2: ("source", "target")}
    return known.get(count, tuple(f"input {i}" for i in range(count)))


def with_model(
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


def with_sequences(
    subject: Runner, inputs: tuple, given: tuple | None = None
) -> tuple:
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


def no_progress() -> None:
    """Tell nobody that the model runs once more."""


@contextmanager
def restoring_state(state: State) -> Iterator[None]:
    """Have things put back, quickly."""
    try:
        yield
    finally:
        state.put_back_counted()


@contextmanager
def in_evaluation(model: Callable) -> Iterator[None]:
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
def as_failures() -> Iterator[None]:
    """Raise FailedError for whatever goes wrong."""
    try:
        yield
    except Exception as error:
        raise FailedError(error_line(error)) from error


def once(find: Callable[..., Result]) -> Callable[..., Result]:
    """Let what is found out about a subject be remembered."""

    @wraps(find)
    def remembered(subject: Subject, *which: Any) -> Result:
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


class TrainingModel(nn.Module):
    """A model that is in training whenever it runs, without dropout: of some
    layers, such as experts, what drops out depends on the words. It has the
    parameters of the other one, and buffers of its own."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = module_copy(model, {id(p): p for p in model.parameters()})
        for part in self.model.modules():
            if isinstance(part, nn.modules.dropout._DropoutNd):
                part.p = 0.0

    def forward(self, *inputs: Tensor) -> Tensor:
        """Run in training: what the model makes of its inputs."""
        self.model.train()
        return self.model(*inputs)


def module_copy(model: nn.Module, shared: dict[int, Any]) -> nn.Module:
    """Copy a module, but for what is shared by its id; NotJudgedError when
    it cannot be copied."""
    try:
        return deepcopy(model, shared)
    except Exception as error:
        raise NotJudgedError("The model cannot be copied.") from error


@once
def same_word(subject: Subject, n: int) -> Subject:
    """Ask the same of inputs that have one word at all positions, or one
    vector: one of two words that stand in the first row."""
    alike = []
    for x, real in zip(subject.inputs, subject.real):
        known = x[0][real[0]]
        if known.ndim > 2 or not len(known):
            raise NotJudgedError("The inputs are not rows of words.")
        words = known if x.is_floating_point() else known.unique()
        alike.append(words[-1 - n % len(words)].expand_as(x).clone())
    return with_model(
        subject, subject.model, with_sequences(subject, tuple(alike))
    )


def in_double(subject: Subject) -> Subject:
    """Ask a copy of the model that reckons in double precision."""
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no precision of its own.")
    doubles = {
        id(p): nn.Parameter(p.to(torch.float64, copy=True), p.requires_grad)
        for p in subject.model.parameters()
        if type(p) is nn.Parameter and p.is_floating_point()
    }
    model = module_copy(subject.model, doubles).double()
    given = tree_map_only(Tensor, as_float64, subject.given)
    return with_model(subject, model, given, free=model.parameters())


def as_float64(x: Tensor) -> Tensor:
    """Give a tensor in double precision, unless its numbers are whole."""
    return x.double() if x.is_floating_point() else x


@once
def with_random_weights(subject: Subject, seed: int, *names: str) -> Subject:
    """Give the model random weights of a healthy size, all or some: matrices
    that keep the variance, gains and offsets that are not 0."""
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no weights.")
    model = module_copy(subject.model, {})
    draw = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        if names and name not in names:
            continue
        noise = torch.randn(p.shape, generator=draw).to(p)
        size = p.shape[-1] ** -0.5 if p.ndim > 1 else 0.5
        p.data = noise * size + (p.data if p.ndim < 2 else 0)
    return with_model(subject, model)

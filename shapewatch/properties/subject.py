"""Subjects: a model and what it is given, ready to be asked."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from copy import copy
from functools import wraps
from typing import Any, TypeVar

from torch import Tensor, nn, no_grad
from torch.utils._pytree import TreeSpec, tree_unflatten

from shapewatch.properties.inputs import (
    OPTIONS,
    inputs_in_order,
    is_id,
    no_inputs,
    own_ids,
    refuse_numberless,
    refuse_options,
    sequences,
)
from shapewatch.properties.inputs import accepts_names as accepts_names
from shapewatch.properties.masks import SaidPadding, paddings_said
from shapewatch.properties.outputs import (
    FailedError,
    Pick,
    error_line,
    for_positions,
    select_output,
)
from shapewatch.tracing.record.models import refuse_class
from shapewatch.tracing.record.shared import eagerly
from shapewatch.tracing.record.state import State, seed_all
from shapewatch.tracing.record.tensors import tensors

Result = TypeVar("Result")
POSITIONS = 16
LABELS = {"targets", "target", "labels", "y"}  # or a decoder's input
OF_SOURCE = re.compile("^(memory|encoder|context|src|source)")
NO_POSITIONS = "No input has positions: none is ids (B, T) or wider."


class NotJudgedError(Exception):
    """A check has nothing to judge; the message says why."""


class Sequences:
    """What a model is given, and which of it are sequences of words."""

    given: tuple
    places: list[int]
    ids: tuple[int | None, int | None]  # of padding, and of unknown words
    paddings: list[SaidPadding]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The sequences that the model reads."""
        return tuple(self.given[i] for i in self.places)

    @property
    def last(self) -> int:
        """The number of the input of which the output has the rows."""
        return len(self.places) - 1

    @property
    def real(self) -> list[Tensor]:
        """Which positions of each input are not padding, as masks and
        lengths say that are given, or else as the id does: (B, T)."""
        if any(x.ndim < 2 for x in self.inputs):
            raise NotJudgedError(NO_POSITIONS)
        real = [~is_id(x, self.ids[0]) for x in self.inputs]
        for said in self.paddings:
            length = real[said.which].shape[1]
            real[said.which] &= said.read(self.given[said.place], length)
        return real

    @property
    def unknown(self) -> list[Tensor]:
        """Which positions of each input are unknown words: (B, T)."""
        return [is_id(x, self.ids[1]) for x in self.inputs]

    def side(self, which: int) -> str:
        """Name a sequence as sentences call it."""
        names = {0: ("input",), 1: ("source", "target")}
        return names.get(self.last, {which: f"input {which}"})[which]


class ModelRunner(Sequences):
    """A model that is run, and found as it was each time."""

    model: Any
    form: TreeSpec | None = None  # in which all that is given is handed on
    pick: Pick
    state: State
    numbers: Callable[[], Any] = nullcontext  # in which precision it reckons
    pools = False  # whether the last run gave one output for a sequence

    def run(self, *inputs: Tensor, seed: int = 0) -> Tensor:
        """Run the model in evaluation, with random numbers of its own:
        -> (B, T, ...). Raises FailedError for whatever goes wrong."""
        return self.call(self.outputs_of, with_sequences(self, inputs), seed)

    def outputs_of(self, *given: Tensor) -> Tensor:
        """Run the model just as it is: what it gives now."""
        result, rows = self.answer(*given), given[self.places[-1]]
        output = select_output(self.pick, result, rows)
        by_position = for_positions(output, rows)
        self.pools = by_position is not output
        return by_position.clone()

    def answer(self, *given: Any, **more: Any) -> Any:
        """Call the model with all that is given, as its caller did; or with
        some of that, by place."""
        inputs, named = self.handed_on(given)
        return self.model(*inputs, **{**more, **named})

    def handed_on(self, given: tuple) -> tuple[tuple, dict[str, Any]]:
        """Tell what is given by place, and what by name."""
        if self.form is None or len(given) != self.form.num_leaves:
            return given, {}
        return tree_unflatten(given, self.form)

    def call(
        self, ask: Callable[..., Result], inputs: tuple, seed: int = 0
    ) -> Result:
        """Call something that runs the model, without gradients; and a
        module, in evaluation. Then all is as it was, as far as a glance
        tells: whoever made the subject looks again, `with subject.state`."""
        try:
            with eagerly(), in_evaluation(self.model), self.numbers():
                seed_all(seed)
                return ask(*inputs)
        except Exception as error:
            raise FailedError(error_line(error)) from error
        finally:
            self.state.put_back(counted=True)


class Subject(ModelRunner):
    """A model, what it reads, and what was found out about it.

    It reads a source and a target, or one sequence: ids (B, T) or vectors
    (B, T, C), which stand at some `places` of all that is `given`, such as
    masks and numbers of positions. A `pick` finds the output in what it
    gives; of an input, about so many `positions` are pushed; a training
    `loss` may ask for what it should give. ValueError for less than two
    positions, or nothing to judge by; TypeError for no inputs.
    """

    def __init__(
        self,
        model: Callable,
        inputs: tuple = (),
        named: Mapping[str, Any] | None = None,
        *,
        pad: int | None = None,
        unknown: int | None = None,
        causal: bool = True,
        positions: int = POSITIONS,
        output: Pick = None,
        loss: Callable | None = None,
    ):
        refuse_class(model)
        known: dict = {"pad": pad, "unknown": unknown, "causal": causal}
        known |= {"positions": positions, "output": output, "loss": loss}
        refuse_options(**known)
        self.causal, self.positions, self.pick = causal, positions, output
        self.remembered = dict[tuple, Any]()
        model = getattr(model, "_orig_mod", model)  # of a compiled one
        self.model, self.ids = model, own_ids(model, pad, unknown)
        row = inputs_in_order(model, inputs, named or {})
        self.given, self.names, self.form = row
        if not tensors([*self.given]):
            raise TypeError(no_inputs(self.given))
        self.loss: Any = loss
        self.state = State(self.model, self.given, loss)
        self.places = sequences(self.given, self.names)
        refuse_numberless(model, self.inputs)
        if self.names[self.places[-1]] in LABELS:
            self.places = without_labels(self)
        if self.last:
            self.places = output_last(self)
        self.paddings = paddings_said(*row[:2], self.places, self.ids[0])


def subject_of(
    model: Callable, inputs: tuple, keywords: Mapping[str, Any]
) -> Subject:
    """Make a subject; a name that is no option is an input of the model."""
    options = {name: x for name, x in keywords.items() if name in OPTIONS}
    named = {name: x for name, x in keywords.items() if name not in OPTIONS}
    return Subject(model, inputs, named, **options)


def with_model(
    subject: Subject,
    model: Callable,
    given: tuple | None = None,
    free: Iterable[Tensor] = (),
) -> Subject:
    """Ask another model the same: of the same inputs, or of others like
    them. What is `free` of it is not put back after a run."""
    other = copy(subject)
    other.model, other.remembered = model, {}
    other.given = subject.given if given is None else given
    beside = copy(subject.state)
    beside.known = beside.known | {id(x): x for x in free}
    other.state = State(model, other.given, subject.loss, beside=beside)
    return other


def with_sequences(subject: ModelRunner, inputs: Iterable[Tensor]) -> tuple:
    """Put sequences where they stand among all that is given."""
    row = [*subject.given]
    for i, x in zip(subject.places, inputs):
        row[i] = x
    return tuple(row)


def without_labels(subject: Subject) -> list[int]:
    """Leave out a last input that changes no output: these are labels."""
    *rest, labels = subject.inputs
    if not rest or labels.shape != rest[-1].shape:
        return subject.places
    with suppress(FailedError):
        others = [*rest, labels.roll(1, 1).flip(0)]
        if subject.run(*others).equal(subject.run()):
            return subject.places[:-1]
    return subject.places


def output_last(subject: Subject) -> list[int]:
    """Put the sequence last of which the output has the rows; where several
    have as many, and the last is called a source, another one."""
    fitting = []
    other = copy(subject)
    for i in reversed(subject.places):
        others = [j for j in subject.places if j != i]
        other.places = [*others, i]
        with suppress(FailedError):
            shape = other.call(other.outputs_of, subject.given).shape[:2]
            if shape == subject.given[i].shape[:2]:
                fitting.append(other.places)
        if fitting and not OF_SOURCE.match(subject.names[fitting[-1][-1]]):
            return fitting[-1]
    return fitting[0] if fitting else subject.places


@contextmanager
def in_evaluation(model: Callable) -> Iterator[None]:
    """Run without gradients and in evaluation, and put the modes back."""
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


def once(find: Callable[..., Result]) -> Callable[..., Result]:
    """Let what is found out about a subject be remembered."""

    @wraps(find)
    def ask_once(subject: Subject, *which: Any) -> Result:
        key = find.__name__, *which
        if key not in subject.remembered:
            subject.remembered[key] = find(subject, *which)
        return subject.remembered[key]

    return ask_once

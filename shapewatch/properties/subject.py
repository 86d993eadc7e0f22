"""Subjects: a model and what it is given, by place or by name, ready to be
asked; and the same model in training, in double precision, or with other
weights."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from copy import copy, deepcopy
from difflib import SequenceMatcher
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

import torch
from torch import Tensor, nn, no_grad
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import (
    MappingKey,
    SequenceKey,
    TreeSpec,
    tree_flatten_with_path,
    tree_map_only,
    tree_unflatten,
)

from shapewatch.tracing.record.models import refuse_class
from shapewatch.tracing.record.shared import eagerly
from shapewatch.tracing.record.state import State, seed_all
from shapewatch.tracing.record.tensors import tensors

Result = TypeVar("Result")
Pick = str | Callable[[Any], Tensor] | None
POSITIONS = 16
OPTIONS = {"pad", "unknown", "causal", "positions", "output", "loss"}
UNK, PAD = 0, 1  # the ids of [UNK]: the second where padding has the first
LABELS = {"targets", "target", "labels", "y"}  # or a decoder's input
SEQUENCE = re.compile("ids|src|tgt|source|target|tokens|words|^[xy]$")
NO_SEQUENCE = re.compile("mask|type|segment|position|pos_|_pos|label")


class NotJudgedError(Exception):
    """A check has nothing to judge; the message says why."""


class FailedError(Exception):
    """The model could not be run; the message says how it failed."""


class Sequences:
    """What a model is given, and which of it are sequences of words."""

    given: tuple
    places: list[int]
    ids: tuple[int | None, int | None]  # of padding, and of unknown words

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
        """Which positions of each input are not padding: (B, T)."""
        return [~is_id(x, self.ids[0]) for x in self.inputs]

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
        return self.call(self.made, with_sequences(self, inputs), seed)

    def made(self, *given: Tensor) -> Tensor:
        """Run the model just as it is: what it gives now."""
        result, rows = self.answer(*given), given[self.places[-1]]
        found = select_output(self.pick, result, rows)
        made = for_positions(found, rows)
        self.pools = made is not found
        return made.clone()

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
        if positions < 2:
            says = f"{positions=} is too few: the first and the last are two"
            raise ValueError(says)
        self.causal, self.positions, self.pick = causal, positions, output
        self.found = dict[tuple, Any]()
        model = getattr(model, "_orig_mod", model)  # of a compiled one
        self.ids = own_ids(model, pad, unknown)
        self.model = model
        self.given, self.names, self.form = in_a_row(
            model, inputs, named or {}
        )
        if not tensors([*self.given]):
            raise TypeError(no_inputs(self.given))
        self.loss: Any = loss
        self.state = State(self.model, self.given, loss)
        self.places = sequences(self.given, self.names)
        refuse_numberless(model, self.inputs)
        if self.names[self.places[-1]] in LABELS:
            self.places = without_labels(self)


def no_inputs(given: tuple) -> str:
    """Say what inputs are, where none is given that a check could change."""
    kinds = ", ".join(type(x).__name__ for x in given)
    if not kinds:
        return "give the model's inputs, too: report(model, ids)"
    return f"inputs are tensors, such as ids (B, T), and not: {kinds}"


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
    other.model, other.found = model, {}
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


def own_ids(
    model: Callable, pad: int | None, unknown: int | None
) -> tuple[int | None, int | None]:
    """Give the ids of [PAD] and [UNK]: the model's, unless they are said."""
    config = getattr(model, "config", None)
    model_pad = getattr(config, "pad", getattr(model, "pad", None))
    if pad is None and isinstance(
        model_pad, int
    ):  # and no module of that name
        pad = model_pad
    if unknown is None and hasattr(config, "pad"):
        unknown = UNK if pad != UNK else PAD
    return pad, unknown


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
    def remembered(subject: Subject, *which: Any) -> Result:
        key = find.__name__, *which
        if key not in subject.found:
            subject.found[key] = find(subject, *which)
        return subject.found[key]

    return remembered


def is_id(x: Tensor, wanted: int | None) -> Tensor:
    """Which positions have an id: (B, T). No vector has one."""
    if x.is_floating_point() or wanted is None:
        return torch.zeros(x.shape[:2], dtype=torch.bool)
    return x == wanted


def find_output(result: Any, rows: Any = None) -> Tensor:
    """Find the tensor in what a model gave: its `logits`, the first that has
    vectors for the positions of `rows`, or the first."""
    outputs = tensors(getattr(result, "logits", result))
    if not outputs:
        raise FailedError(f"It gave {type(result).__name__}, and no tensor.")
    shape = getattr(rows, "shape", ())[:2]
    fit = (x for x in outputs if x.ndim > 2 and x.shape[:2] == shape)
    return next(fit, outputs[0])


def select_output(pick: Pick, result: Any, rows: Any = None) -> Tensor:
    """Take the tensor that a name or a function picks of what a model gave;
    FailedError says what there is. Without a pick, see `find_output`."""
    if pick is None:
        return find_output(result, rows)
    if not isinstance(pick, str):
        output, what = pick(result), "What output= picks"
    elif pick in (parts := named_parts(result)):
        output, what = parts[pick], f"{pick!r}"
    else:
        raise FailedError(f"There is no {pick!r}. {gave_text(result)}")
    if isinstance(output, Tensor):
        return output
    kind = type(output).__name__
    raise FailedError(f"{what} is {kind}, and no tensor. {gave_text(result)}")


def for_positions(outputs: Tensor, rows: Tensor) -> Tensor:
    """Give each position of `rows` what a pooled model made of all of them:
    (B) or (B, K) -> (B, T, K). With K = T there might be a number for each
    position: that stays. An image has no positions yet."""
    of_rows = outputs.ndim in (1, 2) and len(outputs) == len(rows)
    if not of_rows or rows.ndim not in (2, 3):
        return outputs
    flat = outputs.reshape(len(outputs), -1)
    if flat.shape[1] == rows.shape[1]:
        return outputs
    return flat[:, None].expand(-1, rows.shape[1], -1)


def named_parts(result: Any) -> dict[str, Any]:
    """Give what has a name in what a model gave."""
    if isinstance(result, Mapping):
        return {str(name): part for name, part in result.items()}
    fields = getattr(result, "_fields", getattr(result, "__dict__", {}))
    plain = isinstance(result, Tensor)
    return {} if plain else {name: getattr(result, name) for name in fields}


def gave_text(result: Any) -> str:
    """Say what a model gave."""
    names = [name for name, x in named_parts(result).items() if x is not None]
    if names:
        return f"The model gave {', '.join(names)}."
    if isinstance(result, Tensor):
        return f"The model gave one tensor {tuple(result.shape)}."
    if isinstance(result, (tuple, list)):
        kinds = ", ".join(type(x).__name__ for x in result)
        return f"The model gave {kinds}: pick with output=lambda y: y[0]."
    return f"The model gave {type(result).__name__}."


def error_line(error: Exception) -> str:
    """Say in one line what went wrong."""
    if isinstance(error, FailedError):
        return str(error)
    first = str(error).split("\n")[0]
    return f"{type(error).__name__}: {first[:150]}"


def in_a_row(
    model: Any, inputs: tuple, named: Mapping[str, Any]
) -> tuple[tuple, list[str], TreeSpec | None]:
    """Put all that a model is given in a row, name each, and tell in which
    form the model is handed it; None where that is by place."""
    refuse_typos(model, named)
    if len(inputs) == 1 and isinstance(inputs[0], Mapping):
        every = {**inputs[0], **named}
        if accepts_names(model, every):
            inputs, named = (), every
    inputs = tuple(dict(x) if isinstance(x, Mapping) else x for x in inputs)
    if not named and not any(isinstance(x, dict) for x in inputs):
        return inputs, parameter_names(model, len(inputs)), None
    refuse_unknown(model, named)
    order = [*(parameters_of(model) or ()), *named]
    sorted_ones = dict(sorted(named.items(), key=lambda x: order.index(x[0])))
    leaves, form = tree_flatten_with_path((inputs, sorted_ones))
    places = parameter_names(model, len(inputs))
    names = [name_of_leaf(path, places) for path, _ in leaves]
    return tuple(leaf for _, leaf in leaves), names, form


def parameters_of(model: Callable) -> Mapping[str, Parameter] | None:
    """Give the parameters of a model; None where nobody says."""
    try:
        return signature(getattr(model, "forward", model)).parameters
    except (TypeError, ValueError):
        return None


def optional_inputs(model: Callable) -> dict[str, Any]:
    """Name the optional inputs of a model, with what they are else."""
    asked = (parameters_of(model) or {}).items()
    pairs = ((name, parameter.default) for name, parameter in asked)
    return {name: x for name, x in pairs if x is not Parameter.empty}


def accepts_names(model: Callable, named: Mapping[str, Any]) -> bool:
    """Whether a model may be called with these names."""
    asked = parameters_of(model)
    if asked is None:
        return True
    try:
        Signature([*asked.values()]).bind(**named)
    except TypeError:
        return False
    return True


def refuse_unknown(model: Callable, named: Mapping[str, Any]) -> None:
    """Raise TypeError for a name that a model has no input for."""
    asked = parameters_of(model)
    if asked is None:
        return
    kinds = {parameter.kind for parameter in asked.values()}
    unknown = [name for name in named if name not in asked]
    if unknown and Parameter.VAR_KEYWORD not in kinds:
        raise TypeError(
            f"{unknown[0]!r} is no option here, and no input of the model, "
            f"which has {', '.join(asked) or 'none'}"
        )


def refuse_typos(model: Callable, named: Mapping[str, Any]) -> None:
    """Raise TypeError for a name that is nearly an option's."""
    for name in named.keys() - (parameters_of(model) or {}).keys():
        for option in (*OPTIONS, "expect"):
            alike = SequenceMatcher(None, name, option).ratio() > 0.9
            if alike or sorted(name) == sorted(option):
                raise TypeError(
                    f"{name!r}: is {option!r} meant? If not, give the "
                    f"model's inputs in a dictionary: {{{name!r}: ...}}"
                )


def name_of_leaf(path: Iterable[Any], parameters: list[str]) -> str:
    """Name an input by its key, or by the parameter it is handed to."""
    names = [str(key.key) for key in path if isinstance(key, MappingKey)]
    places = [key.idx for key in path if isinstance(key, SequenceKey)]
    return names[-1] if names else parameters[places[1]]


def sequences(given: tuple, names: list[str]) -> list[int]:
    """Tell which inputs are sequences: ids or vectors, and no masks, kinds
    of tokens, or numbers of positions. Where none is, all that have two axes
    or more; where none has, all."""
    if len(given) == 1:
        return [0]
    named = enumerate(zip(given, names))
    words = [i for i, (x, name) in named if is_sequence(x, name)]
    wide = (i for i, x in enumerate(given) if getattr(x, "ndim", 0) > 1)
    return words or [*wide] or [*range(len(given))]


def refuse_numberless(model: Any, inputs: Iterable[Any]) -> None:
    """Raise ValueError for inputs that have no numbers, and for a model that
    rounds them by what else is there."""
    for x in tensors([*inputs]):
        if x.is_meta or not x.numel():
            raise ValueError(
                f"an input {tuple(x.shape)} on {x.device} has no numbers: "
                "give rows of words, on a device that has some"
            )
    for part in getattr(model, "modules", list)():
        if type(part).__module__.startswith("torch.ao.nn.quantized"):
            raise ValueError(
                f"a quantised {type(part).__name__} rounds by what else is in "
                "the batch, and has no gradients: ask the model that this "
                "one was made from"
            )


def failed_here(subject: ModelRunner) -> str:
    """Say why a model fails that could run elsewhere, and what to do; ""
    where nothing says so."""
    weights = {x.device for x in getattr(subject.model, "parameters", list)()}
    given = {x.device for x in tensors(subject.given)}
    if torch.device("meta") in weights:
        return (
            "the weights are on the meta device, which has no numbers: build "
            "the model on another one, or load them after to_empty(device=…)"
        )
    if weights and not given <= weights:
        here, other = (
            ", ".join(sorted(map(str, x))) for x in (given, weights)
        )
        return f"the inputs are on {here}, the weights on {other}: move one"
    return ""


def parameter_names(model: Callable, count: int) -> list[str]:
    """Name what a model's inputs are handed to; "" where nobody says."""
    kinds = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    asked = parameters_of(model) or {}
    names = [
        name for name, parameter in asked.items() if parameter.kind in kinds
    ]
    return (names + [""] * count)[:count]


def is_sequence(x: Any, name: str) -> bool:
    """Whether an input is ids (B, T) or vectors (B, T, C)."""
    if not isinstance(x, Tensor) or x.dtype == torch.bool or x.is_meta:
        return False
    if x.ndim not in (2, 3) or not x.numel() or NO_SEQUENCE.search(name):
        return False
    if x.is_floating_point():
        return x.ndim == 3 and bool(x.isfinite().all() and x.max() > 0)
    steps = x.diff(dim=1).abs()
    counted = bool(steps.numel() and steps.max() <= 1 and x[:, 0].max() <= 1)
    return x.ndim == 2 and (not counted or bool(SEQUENCE.search(name)))


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

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Run in training: what the model makes of its inputs."""
        self.model.train()
        return self.model(*inputs, **named)


def module_copy(model: nn.Module, shared: dict[int, Any]) -> nn.Module:
    """Copy a module, but for what is shared by its id; NotJudgedError when
    it cannot be copied."""
    try:
        return deepcopy(model, shared)
    except Exception as error:
        raise NotJudgedError("The model cannot be copied.") from error


@once
def same_word(subject: Subject, n: int) -> Subject:
    """Ask the same with one word, or vector, of the first row everywhere."""
    alike = []
    for x, real in zip(subject.inputs, subject.real):
        vectors = x[0][real[0]]
        if vectors.ndim > 2 or not len(vectors):
            raise NotJudgedError("The inputs are not rows of words.")
        words = vectors if x.is_floating_point() else vectors.unique()
        alike.append(words[-1 - n % len(words)].expand_as(x).clone())
    return with_model(subject, subject.model, with_sequences(subject, alike))


SMALLER = torch.float32, torch.float16, torch.bfloat16, torch.complex64
DOUBLES = dict(zip(SMALLER, (*[torch.float64] * 3, torch.complex128)))
CASTS = {"float", "half", "bfloat16"}


class DoubleNumbers(TorchFunctionMode):
    """Reckon in double precision, also where another one is asked for, or is
    the usual one; in this thread alone."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in CASTS and args:
            return args[0].double()
        more = {k: double_type(x) for k, x in (kwargs or {}).items()}
        result = function(*map(double_type, args), **more)
        if isinstance(result, Tensor):  # faster than to look for tensors in it
            return in_double_type(result)
        return tree_map_only(Tensor, in_double_type, result)


def in_double_type(x: Tensor) -> Tensor:
    """Give decimals in double precision."""
    return x.to(DOUBLES[x.dtype]) if x.dtype in DOUBLES else x


def double_type(x: Any) -> Any:
    """Give the double type for another type of decimals."""
    return DOUBLES.get(x, x) if isinstance(x, torch.dtype) else x


def in_double(subject: Subject) -> Subject:
    """Ask a copy of the model that reckons in double precision.

    NotJudgedError where it does not run so, or gives NaN that the model does
    not: what the cast does is no fault of the model.
    """
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no precision of its own.")
    doubles = {
        id(p): nn.Parameter(p.to(torch.float64, copy=True), p.requires_grad)
        for p in subject.model.parameters()
        if type(p) is nn.Parameter and p.is_floating_point()
    }
    model = module_copy(subject.model, doubles).double()
    given = tree_map_only(
        Tensor,
        lambda x: x.double() if x.is_floating_point() else x,
        subject.given,
    )
    double = with_model(subject, model, given, free=model.parameters())
    double.numbers = DoubleNumbers
    try:
        outputs = double.call(double.made, given)
    except FailedError as error:
        says = f"It does not run in double precision: {error}"
        raise NotJudgedError(says) from error
    if outputs.dtype in DOUBLES:
        raise NotJudgedError(
            f"Whatever it is cast to, it gives {outputs.dtype}."
        )
    if not outputs.isfinite().all() and subject.run().isfinite().all():
        raise NotJudgedError("In double precision it gives NaN or infinity.")
    return double


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


def with_moved_weights(double: Subject, share: float, seed: int) -> Subject:
    """Move all weights of a copy, and the vectors that it reads, at random,
    by a share of their size: where none is 0, each by a share of its own."""
    draw = torch.Generator().manual_seed(seed)

    def moved(x: Tensor) -> Tensor:
        if not x.is_floating_point():
            return x
        size = x.abs().where(x != 0, x.square().mean().sqrt())
        noise = torch.randn(x.shape, generator=draw).to(x)
        return x + share * noise * size.where(size > 0, 0.1)

    model = module_copy(double.model, {})
    for p in model.parameters():
        p.data = moved(p.data)
    given = tree_map_only(Tensor, moved, double.given)
    return with_model(double, model, given, free=model.parameters())

"""Subjects: a model and its inputs, ready to be asked."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

import torch
from torch import Tensor, nn, no_grad

from tformer_lite.model.modes import evaluating
from tformer_lite.text.datasets import running_example
from tformer_lite.text.tokenizers import PAD, UNK
from tformer_lite.tracing.record.state import State, seed_all
from tformer_lite.tracing.record.tensors import tensors

T = TypeVar("T")
SEQUENCE = re.compile("ids|src|tgt|source|target|tokens|words|^[xy]$")
NO_SEQUENCE = re.compile("mask|type|segment|position|pos_|_pos")


class NotJudgedError(Exception):
    """A check has nothing to judge; the message says why."""


class FailedError(Exception):
    """The model could not be run; the message says how it failed."""


class Subject:
    """A model, what it reads, and what was found out about it.

    It reads a source and a target, or one sequence: ids (B, T) or vectors
    (B, T, C). Models of this module bring the running example's. What else
    it is given, such as masks and numbers of positions, is handed on as it
    is: `inputs` are the sequences, which stand at some `places`, and `given`
    is all.
    """

    def __init__(
        self,
        model: Callable,
        inputs: tuple[Tensor, ...] = (),
        pad: int | None = None,
        unknown: int | None = None,
        causal: bool = True,
        places: list[int] | None = None,
        loss: Callable | None = None,
    ):
        self.model, self.causal, self.loss = model, causal, loss
        self.config = getattr(model, "config", None)
        self.ids, self.found = own_ids(model, pad, unknown), dict[tuple, Any]()
        self.given = inputs or example(model, self.ids[0])
        self.places = places or sequences(model, self.given)
        self.inputs = tuple(self.given[i] for i in self.places)
        self.last = len(self.inputs) - 1  # the output has its rows
        self.sides = sides(len(self.inputs))
        self.state = State(model, self.given, loss)

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
        return self.call(self.made, whole(self, inputs or self.inputs), seed)

    def made(self, *given: Tensor) -> Tensor:
        """Run the model just as it is: what it gives now."""
        return output(self.model(*given), given[self.places[-1]]).clone()

    def call(self, ask: Callable[..., T], inputs: tuple, seed: int = 0) -> T:
        """Call something that runs the model, without gradients; and a
        module, in evaluation. Then all is as it was."""
        with self.state, resting(self.model), failing():
            seed_all(seed)
            return ask(*inputs)


def sides(count: int) -> tuple[str, ...]:
    """Name so many sequences."""
    known = {1: ("input",), 2: ("source", "target")}
    return known.get(count, tuple(f"input {i}" for i in range(count)))


def whole(subject: Subject, inputs: tuple) -> tuple:
    """Put sequences where they stand among all that a subject is given."""
    found = dict(enumerate(subject.given)) | dict(zip(subject.places, inputs))
    return tuple(found.values())


def own_ids(
    model: Callable, pad: int | None, unknown: int | None
) -> tuple[int | None, int | None]:
    """Give the ids of [PAD] and [UNK]: the model's, unless they are said."""
    config = getattr(model, "config", None)
    own = getattr(config, "pad", getattr(model, "pad", None))
    pad = own if pad is None else pad
    if unknown is None and hasattr(config, "pad"):
        unknown = UNK if pad != UNK else PAD  # as `in_vocabulary` has it
    return pad, unknown


def resting(model: Callable) -> AbstractContextManager:
    """Run without gradients; and a module, in evaluation."""
    return evaluating(model) if isinstance(model, nn.Module) else no_grad()


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


def output(result: Any, rows: Any = None) -> Tensor:
    """Find the tensor in what a model gave: its `logits`, the first that has
    vectors for the positions of `rows`, or the first."""
    found = tensors(getattr(result, "logits", result))
    if not found:
        raise FailedError(f"It gave {type(result).__name__}, and no tensor.")
    shape = getattr(rows, "shape", ())[:2]
    fit = (x for x in found if x.ndim > 2 and x.shape[:2] == shape)
    return next(fit, found[0])


def sequences(model: Callable, given: tuple) -> list[int]:
    """Tell which inputs are sequences: ids or vectors, and no masks, kinds
    of tokens, or numbers of positions. All of them, where none is."""
    named = enumerate(zip(given, parameter_names(model, len(given))))
    found = [i for i, (x, name) in named if is_sequence(x, name)]
    return found if len(given) > 1 and found else [*range(len(given))]


def parameter_names(model: Callable, count: int) -> list[str]:
    """Name what a model's inputs are handed to; "" where nobody says."""
    try:
        asked = signature(getattr(model, "forward", model)).parameters
    except (TypeError, ValueError):
        return [""] * count
    kinds = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    names = [name for name, one in asked.items() if one.kind in kinds]
    return (names + [""] * count)[:count]


def is_sequence(x: Any, name: str) -> bool:
    """Whether an input is ids (B, T) or vectors (B, T, C)."""
    if not isinstance(x, Tensor) or x.dtype == torch.bool:
        return False
    if x.ndim not in (2, 3) or not x.numel() or NO_SEQUENCE.search(name):
        return False
    if x.is_floating_point():
        return x.ndim == 3 and bool(x.isfinite().all() and x.max() > 0)
    steps = x.diff(dim=1).abs()
    counted = bool(steps.numel() and steps.max() <= 1 and x[:, 0].max() <= 1)
    return x.ndim == 2 and (not counted or bool(SEQUENCE.search(name)))


def error_line(error: Exception) -> str:
    """Say in one line what went wrong."""
    if isinstance(error, FailedError):
        return str(error)
    first = str(error).split("\n")[0]
    return f"{type(error).__name__}: {first[:150]}"


def example(model: Callable, pad: int | None) -> tuple[Tensor, ...]:
    """Take the running example, with words that the model's vocabulary has;
    the target alone, for a model without an encoder."""
    config: Any = getattr(model, "config", None)
    if not hasattr(config, "vocab_size"):
        raise TypeError("give the model's inputs, too: check(model, ids)")
    sizes = config.src_vocab_size or config.vocab_size, config.vocab_size
    both = tuple(
        in_vocabulary(ids[:, : config.max_len], size, pad)
        for ids, size in zip(running_example()[:2], sizes)
    )
    return both if hasattr(model, "encode") else both[1:]


def in_vocabulary(ids: Tensor, vocab_size: int, pad: int | None) -> Tensor:
    """Let padding become the model's, and words that a vocabulary does not
    have others; the four specials stay."""
    if pad is not None:
        ones, others = ids == PAD, ids == pad
        ids = ids.masked_fill(ones, pad).masked_fill(others, PAD)
    words = 4 + (ids - 4) % max(vocab_size - 4, 1)
    return words.where(ids >= 4, ids).clamp(max=vocab_size - 1)

"""Subjects: a model and its inputs, ready to be asked."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial, wraps
from typing import Any, TypeVar

import torch
from torch import Tensor, nn, no_grad

from tformer_lite.model.modes import evaluating
from tformer_lite.text.datasets import running_example
from tformer_lite.text.tokenizers import PAD, UNK
from tformer_lite.tracing.record.state import State, seed_all
from tformer_lite.tracing.record.tensors import tensors

T = TypeVar("T")


class NotJudgedError(Exception):
    """A check has nothing to judge; the message says why."""


class FailedError(Exception):
    """The model could not be run; the message says how it failed."""


class Subject:
    """A model, what it reads, and what was found out about it.

    It reads a source and a target, or one sequence: ids (B, T) or vectors
    (B, T, C). Models of this module bring the running example's.
    """

    def __init__(
        self,
        model: Callable,
        inputs: tuple[Tensor, ...] = (),
        pad: int | None = None,
        unknown: int | None = None,
        causal: bool = True,
    ):
        self.model, self.causal = model, causal
        self.config = getattr(model, "config", None)
        own = getattr(self.config, "pad", getattr(model, "pad", None))
        pad = own if pad is None else pad
        if unknown is None and hasattr(self.config, "pad"):
            unknown = UNK if pad != UNK else PAD  # as `in_vocabulary` has it
        self.inputs = inputs or example(model, pad)
        self.last = len(self.inputs) - 1  # the output has its rows
        self.sides = ("source", "target") if self.last else ("input",)
        self.ids, self.found = (pad, unknown), dict[tuple, Any]()
        self.state = State(model, self.inputs)

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
        ran = partial(outputs, self.model)
        return self.call(ran, inputs or self.inputs, seed)

    def call(self, ask: Callable[..., T], inputs: tuple, seed: int = 0) -> T:
        """Call something that runs the model, without gradients; and a
        module, in evaluation. Then all is as it was."""
        with self.state, resting(self.model), failing():
            seed_all(seed)
            return ask(*inputs)


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
    def remembered(subject: Subject, *which: int) -> T:
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


def outputs(model: Callable, *inputs: Tensor) -> Tensor:
    """Run a model: -> (B, T, ...), as it is now, whatever is put back."""
    return output(model(*inputs)).clone()


def output(result: Any) -> Tensor:
    """Find the tensor in what a model gave: its `logits`, or the first."""
    found = tensors(getattr(result, "logits", result))
    if not found:
        raise FailedError(f"It gave {type(result).__name__}, and no tensor.")
    return found[0]


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

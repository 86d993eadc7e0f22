"""Subjects: a model and its inputs, ready to be asked."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from tformer_lite.model.modes import evaluating
from tformer_lite.text.datasets import running_example
from tformer_lite.text.tokenizers import PAD, UNK
from tformer_lite.tracing.record.tensors import tensors

T = TypeVar("T")


class NotJudgedError(Exception):
    """A check has nothing to judge; the message says why."""


class FailedError(Exception):
    """The model could not be run; the message says how it failed."""


class Subject:
    """A model, what it reads, and what is known of it.

    `inputs` are a source and a target, or one sequence: ids (B, T) or
    vectors (B, T, C). Models of this module bring their own: the running
    example's. `pad` and `unknown` are ids.
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
        self.pad = own if pad is None else pad
        self.inputs = inputs or example(model, self.pad)
        ours = unknown_id(self.pad) if hasattr(self.config, "pad") else None
        self.unknown = ours if unknown is None else unknown
        self.found: dict[tuple, Any] = {}

    @property
    def target(self) -> Tensor:
        """The sequence that the output's rows belong to."""
        return self.inputs[-1]

    def side(self, which: int) -> str:
        """Say which of two inputs one is."""
        names = ("input",), ("source", "target")
        return names[len(self.inputs) - 1][which]

    def once(self, key: tuple, make: Callable[[], T]) -> T:
        """Find something out, and remember it."""
        if key not in self.found:
            self.found[key] = make()
        return self.found[key]

    def is_real(self, x: Tensor) -> Tensor:
        """Which positions are no padding: (B, T)."""
        if x.is_floating_point() or self.pad is None:
            return torch.ones(x.shape[:2], dtype=torch.bool)
        return x != self.pad

    def is_unknown(self, x: Tensor) -> Tensor:
        """Which positions are unknown words: (B, T)."""
        if x.is_floating_point() or self.unknown is None:
            return torch.zeros(x.shape[:2], dtype=torch.bool)
        return x == self.unknown

    def run(self, *inputs: Tensor, seed: int = 0) -> Tensor:
        """Run the model in evaluation, with random numbers of its own:
        -> (B, T, ...). Raises FailedError for whatever goes wrong."""
        return output(self.call(self.model, inputs or self.inputs, seed))

    def call(
        self, function: Callable[..., T], inputs: tuple, seed: int = 0
    ) -> T:
        """Call something that runs the model, quietly."""
        with torch.random.fork_rng(devices=[]), quiet(self.model):
            torch.manual_seed(seed)
            try:
                return function(*inputs)
            except Exception as error:
                raise FailedError(error_line(error)) from error


def quiet(model: Callable) -> AbstractContextManager:
    """Run without gradients; and a module, in evaluation."""
    if isinstance(model, nn.Module):
        return evaluating(model)
    return torch.no_grad()


def output(result: Any) -> Tensor:
    """Find the tensor in what a model gave: its `logits`, or the first."""
    found = tensors(getattr(result, "logits", result))
    if not found:
        raise FailedError(f"It gave {type(result).__name__}, and no tensor.")
    return found[0]


def error_line(error: Exception) -> str:
    """Say in one line what went wrong."""
    first = str(error).split("\n")[0]
    return f"{type(error).__name__}: {first[:150]}"


def example(model: Callable, pad: int | None) -> tuple[Tensor, ...]:
    """Take the running example, with words that the model's vocabulary has;
    the target alone, for a model without an encoder."""
    config: Any = getattr(model, "config", None)
    if not hasattr(config, "vocab_size"):
        raise TypeError("give the model's inputs, too: check(model, ids)")
    src, tgt, *_ = running_example()
    if pad not in (None, PAD):  # its padding becomes the model's
        src, tgt = (swap_ids(ids, PAD, pad) for ids in (src, tgt))
    size = config.src_vocab_size or config.vocab_size
    pair = in_vocabulary(src, size), in_vocabulary(tgt, config.vocab_size)
    both = tuple(ids[:, : config.max_len] for ids in pair)
    return both if hasattr(model, "encode") else both[1:]


def unknown_id(pad: int | None) -> int:
    """Give the id that unknown words have in `example`."""
    return UNK if pad != UNK else PAD


def swap_ids(ids: Tensor, one: int, other: int) -> Tensor:
    """Let two ids change places."""
    ones, others = ids == one, ids == other
    return ids.masked_fill(ones, other).masked_fill(others, one)


def in_vocabulary(ids: Tensor, vocab_size: int) -> Tensor:
    """Let words that a vocabulary does not have become others, and the four
    specials stay."""
    words = 4 + (ids - 4) % max(vocab_size - 4, 1)
    return words.where(ids >= 4, ids).clamp(max=vocab_size - 1)

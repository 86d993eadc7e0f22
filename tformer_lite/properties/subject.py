"""Subjects: a model and its inputs, ready to be asked."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn, no_grad

from tformer_lite.model.modes import evaluating
from tformer_lite.text.datasets import running_example
from tformer_lite.text.tokenizers import PAD, UNK
from tformer_lite.tracing.record.tensors import tensors

T = TypeVar("T")


class NotJudgedError(Exception):
    """A check has nothing to judge; the message says why."""


class FailedError(Exception):
    """The model could not be run; the message says how it failed."""


class Inputs:
    """What a model reads: a source and a target, or one sequence.

    They are ids (B, T) or vectors (B, T, C); `pad` and `unknown` are ids.
    """

    def __init__(
        self, inputs: tuple[Tensor, ...], pad: int | None, unknown: int | None
    ):
        self.inputs, self.pad, self.unknown = inputs, pad, unknown

    @property
    def target(self) -> Tensor:
        """The sequence that the output's rows belong to."""
        return self.inputs[-1]

    def side(self, which: int) -> str:
        """Say which of two inputs one is."""
        return ("source", "target")[which] if self.inputs[1:] else "input"

    def is_real(self, x: Tensor) -> Tensor:
        """Which positions are no padding: (B, T)."""
        return ~self.is_id(x, self.pad)

    def is_id(self, x: Tensor, known: int | None) -> Tensor:
        """Which positions have an id, such as `pad` or `unknown`: (B, T)."""
        if x.is_floating_point() or known is None:
            return torch.zeros(x.shape[:2], dtype=torch.bool)
        return x == known


class Subject(Inputs):
    """A model, what it reads, and what was found out about it.

    Models of this module bring their own inputs: the running example's.
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
        ours = unknown_id(pad) if hasattr(self.config, "pad") else None
        unknown = ours if unknown is None else unknown
        super().__init__(inputs or example(model, pad), pad, unknown)
        self.found: dict[tuple, Any] = {}

    def once(self, key: tuple, make: Callable[[], T]) -> T:
        """Find something out, and remember it."""
        if key not in self.found:
            self.found[key] = make()
        return self.found[key]

    def run(self, *inputs: Tensor, seed: int = 0) -> Tensor:
        """Run the model in evaluation, with random numbers of its own:
        -> (B, T, ...). Raises FailedError for whatever goes wrong."""
        return output(self.call(self.model, inputs or self.inputs, seed))

    def call(
        self, function: Callable[..., T], inputs: tuple, seed: int = 0
    ) -> T:
        """Call something that runs the model, without gradients; and a
        module, in evaluation."""
        m = self.model
        quiet = evaluating(m) if isinstance(m, nn.Module) else no_grad()
        with torch.random.fork_rng(devices=[]), quiet:
            torch.manual_seed(seed)
            try:
                return function(*inputs)
            except Exception as error:
                raise FailedError(error_line(error)) from error


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
    sizes = config.src_vocab_size or config.vocab_size, config.vocab_size
    both = tuple(
        in_vocabulary(ids[:, : config.max_len], size, pad)
        for ids, size in zip(running_example()[:2], sizes)
    )
    return both if hasattr(model, "encode") else both[1:]


def unknown_id(pad: int | None) -> int:
    """Give the id that unknown words have in `example`."""
    return UNK if pad != UNK else PAD


def in_vocabulary(ids: Tensor, vocab_size: int, pad: int | None) -> Tensor:
    """Let padding become the model's, and words that a vocabulary does not
    have others; the four specials stay."""
    if pad is not None:
        ones, others = ids == PAD, ids == pad
        ids = ids.masked_fill(ones, pad).masked_fill(others, PAD)
    words = 4 + (ids - 4) % max(vocab_size - 4, 1)
    return words.where(ids >= 4, ids).clamp(max=vocab_size - 1)

"""Subjects: a model and its inputs, ready to be asked."""

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar

import torch
from torch import Tensor, nn, no_grad

from tformer_lite.model.modes import evaluating
from tformer_lite.text.datasets import running_example
from tformer_lite.text.tokenizers import PAD, UNK
from tformer_lite.tracing.record.tensors import tensors

T = TypeVar("T")
SIDES = {0: ("input",), 1: ("source", "target")}


class NotJudgedError(Exception):
    """A check has nothing to judge; the message says why."""


class FailedError(Exception):
    """The model could not be run; the message says how it failed."""


class Subject:
    """A model, what it reads, and what was found out about it.

    It reads a source and a target, or one sequence: ids (B, T) or vectors
    (B, T, C). Models of this module bring the running example's. What else
    it is given, such as masks and numbers of positions, is handed on as it
    is: `inputs` are the sequences, and `given` is all.
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
        self.given = inputs or example(model, pad)
        self.inputs = tuple(self.given[i] for i in sequences(self.given))
        self.last = len(self.inputs) - 1  # the output has its rows
        numbered = tuple(f"input {i}" for i in range(len(self.inputs)))
        self.sides = SIDES.get(self.last, numbered)
        self.ids, self.found = (pad, unknown), dict[tuple, Any]()

    @cached_property
    def real(self) -> list[Tensor]:
        """Which positions of each input are not the id `pad`: (B, T)."""
        return [~is_id(x, self.ids[0]) for x in self.inputs]

    @cached_property
    def unknown(self) -> list[Tensor]:
        """Which positions of each input are the id `unknown`: (B, T)."""
        return [is_id(x, self.ids[1]) for x in self.inputs]

    def asked(self, given: tuple, model: Callable | None = None) -> "Subject":
        """Make a subject of other inputs, or of another model."""
        return Subject(model or self.model, given, *self.ids, self.causal)

    def whole(self, inputs: tuple) -> tuple:
        """Put sequences where they stand among all that was given."""
        given = list(self.given)
        for i, x in zip(sequences(self.given), inputs):
            given[i] = x
        return tuple(given)

    def run(self, *inputs: Tensor, seed: int = 0) -> Tensor:
        """Run the model in evaluation, with random numbers of its own:
        -> (B, T, ...). Raises FailedError for whatever goes wrong."""
        inputs = inputs or self.inputs
        made = self.call(self.model, self.whole(inputs), seed)
        return output(made, inputs[-1])

    def call(self, ask: Callable[..., T], inputs: tuple, seed: int = 0) -> T:
        """Call something that runs the model, without gradients; and a
        module, in evaluation."""
        m = self.model
        quiet = evaluating(m) if isinstance(m, nn.Module) else no_grad()
        with torch.random.fork_rng(devices=[]), quiet:
            torch.manual_seed(seed)
            try:
                return ask(*inputs)
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


def sequences(given: tuple) -> list[int]:
    """Tell which inputs are sequences: ids or vectors, and no masks, kinds
    of tokens, or numbers of positions. All of them, where none is."""
    found = [i for i, x in enumerate(given) if is_sequence(x)]
    return found if len(given) > 1 and found else [*range(len(given))]


def is_sequence(x: Any) -> bool:
    """Whether an input is ids (B, T) or vectors (B, T, C)."""
    if not isinstance(x, Tensor) or x.ndim not in (2, 3) or not x.numel():
        return False
    if x.is_floating_point():
        return x.ndim == 3 and bool(x.isfinite().all() and x.max() > 0)
    counted = x.shape[1] > 1 and bool((x.diff(dim=1).abs() <= 1).all())
    return x.ndim == 2 and x.dtype != torch.bool and not counted


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


def in_vocabulary(ids: Tensor, vocab_size: int, pad: int | None) -> Tensor:
    """Let padding become the model's, and words that a vocabulary does not
    have others; the four specials stay."""
    if pad is not None:
        ones, others = ids == PAD, ids == pad
        ids = ids.masked_fill(ones, pad).masked_fill(others, PAD)
    words = 4 + (ids - 4) % max(vocab_size - 4, 1)
    return words.where(ids >= 4, ids).clamp(max=vocab_size - 1)

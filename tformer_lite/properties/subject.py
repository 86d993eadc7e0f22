"""Subjects: a model and its inputs, ready to be asked."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn

from tformer_lite.model.modes import evaluating
from tformer_lite.properties.example import example, unknown_id
from tformer_lite.tracing.record.tensors import tensors


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

    def __init__(self, model, inputs=(), pad=None, unknown=None, causal=True):
        self.model, self.causal = model, causal
        self.config = getattr(model, "config", None)
        own = getattr(self.config, "pad", getattr(model, "pad", None))
        self.pad = own if pad is None else pad
        self.inputs = inputs or example(model, self.pad)
        ours = unknown_id(self.pad) if hasattr(self.config, "pad") else None
        self.unknown = ours if unknown is None else unknown
        self.found: dict = {}

    @property
    def target(self) -> Tensor:
        """The sequence that the output's rows belong to."""
        return self.inputs[-1]

    def side(self, which: int) -> str:
        """Say which of two inputs one is."""
        names = ("input",), ("source", "target")
        return names[len(self.inputs) - 1][which]

    def once(self, key: tuple, make: Callable):
        """Find something out, and remember it."""
        if key not in self.found:
            self.found[key] = make()
        return self.found[key]

    def is_real(self, x: Tensor) -> Tensor:
        """Which positions are no padding: (B, T)."""
        if x.is_floating_point() or self.pad is None:
            return torch.ones(x.shape[:2], dtype=torch.bool)
        return x != self.pad

    def run(self, *inputs: Tensor, seed: int = 0) -> Tensor:
        """Run the model in evaluation, with random numbers of its own:
        -> (B, T, ...). Raises FailedError for whatever goes wrong."""
        return output(self.ran(self.model, inputs or self.inputs, seed))

    def ran(self, call: Callable, inputs: tuple, seed: int = 0):
        """Call something that runs the model, quietly."""
        with torch.random.fork_rng(devices=[]), quiet(self.model):
            torch.manual_seed(seed)
            try:
                return call(*inputs)
            except Exception as error:
                raise FailedError(told(error)) from error


def quiet(model: Callable) -> AbstractContextManager:
    """Run without gradients; and a module, in evaluation."""
    module = isinstance(model, nn.Module)
    return evaluating(model) if module else torch.no_grad()


def output(result) -> Tensor:
    """Find the tensor in what a model gave: its `logits`, or the first."""
    found = tensors(getattr(result, "logits", result))
    if not found:
        raise FailedError(f"It gave {type(result).__name__}, and no tensor.")
    return found[0]


def told(error: Exception) -> str:
    """Say in one line what went wrong."""
    first = str(error).split("\n")[0]
    return f"{type(error).__name__}: {first[:150]}"

"""Subjects: a model and its inputs, ready to be asked."""

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor, nn

from tformer_lite.modes import evaluating
from tformer_lite.properties.example import example, unknown_id
from tformer_lite.tracing.marks import tensors

FAINT = 1e-5  # of the outputs' size: what moves less has not moved


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
        if unknown is None and hasattr(self.config, "pad"):
            unknown = unknown_id(self.pad)
        self.unknown = unknown
        self.found: dict = {}

    @property
    def target(self) -> Tensor:
        """The sequence that the output's rows belong to."""
        return self.inputs[-1]

    def side(self, which: int) -> str:
        """Say which of two inputs one is."""
        both = len(self.inputs) == 2
        return ("source", "target")[which] if both else "input"

    def once(self, key: tuple, make: Callable):
        """Find something out, and remember it."""
        if key not in self.found:
            self.found[key] = make()
        return self.found[key]

    def has(self, token: int | None) -> bool:
        """Whether an id is among the inputs."""
        ids = [x for x in self.inputs if not x.is_floating_point()]
        return token is not None and any((x == token).any() for x in ids)

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
        module = isinstance(self.model, nn.Module)
        quiet = evaluating(self.model) if module else torch.no_grad()
        with torch.random.fork_rng(devices=[]), quiet:
            torch.manual_seed(seed)
            try:
                return call(*inputs)
            except Exception as error:
                raise FailedError(told(error)) from error

    @cached_property
    def base(self) -> Tensor:
        """What the model gives, undisturbed: (B, T, ...)."""
        base = self.run()
        if base.shape[:2] != self.target.shape[:2]:
            raise NotJudgedError(
                f"The output {tuple(base.shape)} has no row for each "
                f"position of the input {tuple(self.target.shape)}."
            )
        if not base.isfinite().all():
            raise NotJudgedError("The outputs are not finite: see `finite`.")
        return base

    def distance(self, after: Tensor) -> Tensor:
        """How far each output row is from where it was, as a share of the
        outputs' size: (B, T). What is `FAINT` counts as 0."""
        moved = (after - self.base).abs().flatten(2).amax(-1)
        moved = (moved / self.base.std()).nan_to_num(torch.inf)
        return moved.where(moved > FAINT, 0)


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

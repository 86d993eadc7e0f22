"""Looking: a run in which each tensor is searched for NaN and infinity."""

from contextlib import suppress
from math import inf, isinf
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.record.tensors import (
    Values,
    dispatches,
    storage,
    tensors,
)

# What gives memory that nobody has written to: any numbers may be in it.
RAW = {"empty", "empty_like", "new_empty", "empty_strided", "resize"}
# What writes over all that a tensor holds, and reads none of it.
FILLS = {"fill", "zero", "copy", "normal", "uniform", "random", "bernoulli"}
POWERS = {"exp", "exp2", "expm1"}  # of -infinity they are not infinite


class Look(NamedTuple):
    """What a tensor holds: how many numbers, how many of them NaN, and the
    lowest and the highest of the others."""

    size: int
    nan: int
    lowest: float
    highest: float
    dtype: torch.dtype

    @property
    def infinite(self) -> bool:
        """Whether there is infinity, of either sign."""
        return isinf(self.lowest) or isinf(self.highest)


def look(tensor: Tensor) -> Look | None:
    """Look at a tensor's numbers; None where none can be NaN, or be seen."""
    plain = torch._C.DisableTorchFunction()
    with suppress(Exception), plain, torch.no_grad():
        floats = tensor.is_floating_point() or tensor.is_complex()
        if not floats or not tensor.numel() or dispatches(tensor):
            return None
        x = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        ends, nan = x.aminmax(), 0
        if ends.min.isnan():
            missing = x.isnan()
            nan = int(missing.sum())
            x = x[~missing]
            if not len(x):
                return Look(nan, nan, inf, -inf, tensor.dtype)
            ends = x.aminmax()
        least, most = ends.min.item(), ends.max.item()
        return Look(tensor.numel(), nan, least, most, tensor.dtype)
    return None


class NonFinite(NamedTuple):
    """A call that makes NaN, or infinity: its step, what it makes, and what
    it reads, by the tensors' ids; and the tensor that brought NaN with it,
    which no call has made."""

    step: int
    made: Look
    reads: list[tuple[int, Look | None]]
    brought: Tensor | None = None


class NonFiniteSearch(Values):
    """Look at what each step reads and makes, and keep none of it.

    `nan` is the first that makes NaN, or reads some that no call has made;
    `infinite` are those that make infinity where there was none, and none
    was asked for by a constant.
    """

    def __init__(self, steps: list[Step]):
        super().__init__()
        self.steps = steps
        self.nan: NonFinite | None = None
        self.infinite: list[NonFinite] = []
        self.before: dict[int, Look | None] = {}
        self.raw: set[int] = set()

    def save(self, targets: list[Tensor]) -> None:
        """Look at what is about to be written."""
        self.before = {id(x): look(x) for x in targets}

    def keep(self, step: int, made: list, args: tuple, kwargs: Any) -> None:
        """Look at what a step made, and if that is amiss, at what it read."""
        if self.steps[step].name.strip("_") in RAW:
            self.raw |= set(map(storage, made))
        elif self.nan is None:
            for found in map(look, made):
                if found and (found.nan or found.infinite):
                    self.judge(step, found, args, kwargs)
                    break

    def judge(self, step: int, made: Look, args: tuple, kwargs: Any) -> None:
        """Note a call that makes NaN or infinity, if it is the first to."""
        given = tensors((*args, *kwargs.values()))
        seen = {id(x): look(x) for x in given} | self.before
        reads = [(id(x), seen[id(x)]) for x in given]
        name = self.steps[step].name.strip("_")
        over = self.before if name in FILLS else {}
        if made.nan:
            pairs = [(x, seen[id(x)]) for x in given if id(x) not in over]
            bad = [x for x, old in pairs if old and old.nan]
            known = [x for x in bad if storage(x) not in self.raw]
            if known or not bad:
                self.nan = NonFinite(step, made, reads, *known[:1])
        elif given and not any(map(is_infinite, tree_leaves((args, kwargs)))):
            old = any(x.infinite for _, x in reads if x)
            if not old or (name in POWERS and made.highest == inf):
                self.infinite.append(NonFinite(step, made, reads))


def is_infinite(value: object) -> bool:
    """Whether a number is infinity."""
    return isinstance(value, float) and isinf(value)

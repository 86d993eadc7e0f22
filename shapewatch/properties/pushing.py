"""Pushes: random vectors that are added to positions while a model runs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from shapewatch.tracing.record.tensors import (
    name_of,
    storage,
    tensors,
    writes,
)

LOOKUPS = {"embedding", "__getitem__"}
TELLING = {"__get__", "size", "dim", "numel", "is_floating_point"}
TELLING |= {"zeros_like", "ones_like", "new_zeros", "new_ones"}
LOUDNESS = 2.0  # how large a push is, as a multiple of the vectors' size
Tensors = Sequence[Tensor]
Places = list[int] | slice


@contextmanager
def nudged(
    inputs: Tensors, positions: Places, *which: int
) -> Iterator["Nudge"]:
    """Add random vectors while a model runs. Vectors ask for no mode: under
    one, PyTorch leaves its fast paths, which may give something else."""
    nudge = Nudge(inputs, positions, *which)
    with nudge if nudge.ids else nullcontext():
        yield nudge


class Nudge(TorchFunctionMode):
    """Add random vectors to positions of some inputs: to vectors at once,
    and to ids (B, S) inside the model, where they become vectors.

    The ids stay, and with them every mask that is made of them. The vectors
    are random because a norm would take the same shift of all channels out
    again. `inputs` are for the model to read, and `lookups` counts the
    embeddings of `ids` that were seen.
    """

    def __init__(self, inputs: Tensors, positions: Places, *which: int):
        super().__init__()
        self.positions, self.lookups = positions, 0
        self.ids, self.inputs = [], list(inputs)
        for i in which:
            if inputs[i].is_floating_point():
                self.inputs[i] = self.pushed(inputs[i])
            else:
                self.ids.append(inputs[i])

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        lookup = getattr(function, "__name__", "") in LOOKUPS
        if lookup and result.is_floating_point() and self.are_in(args):
            self.lookups += 1
            result = self.pushed(result)
        return result

    def pushed(self, x: Tensor) -> Tensor:
        """Add the random vectors to x: (B, S, C) -> (B, S, C)."""
        return with_noise(x, self.positions)

    def are_in(self, args: tuple) -> bool:
        """Whether a lookup is one of ids that are watched."""
        given = [x for x in args if isinstance(x, Tensor)]
        whole = [x for x in given if not x.is_floating_point()]
        pairs = ((x, ids) for x in whole for ids in self.ids)
        return any(x.shape == ids.shape and x.equal(ids) for x, ids in pairs)


class Reading(Nudge):
    """Push nothing, and list the `others` among the functions that are given
    ids: all but those that look them up, tell their shape, or view them."""

    def __init__(self, inputs: Tensors, *which: int):
        super().__init__(inputs, [], *which)
        self.others: list[str] = []
        self.places = [*map(storage, self.ids)]

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name, count = name_of(function), self.lookups
        result = super().__torch_function__(function, types, args, kwargs)
        if name in TELLING or self.lookups > count:
            return result
        view = any(storage(x) in self.places for x in tensors(result))
        if writes(name) or not view:
            given = map(storage, tensors([args, kwargs]))
            self.others += [name for x in given if x in self.places]
        return result


def with_noise(x: Tensor, positions: Places) -> Tensor:
    """Add random vectors to positions of x: (B, S, C) -> (B, S, C)."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(x.shape, generator=generator).to(x)[:, positions]
    moved = x.clone()
    moved[:, positions] += noise * x.detach().std() * LOUDNESS
    return moved


class CopiesNudge(Nudge):
    """Push other `places` in each copy of a batch, (k*B, S, ...), just as in
    a batch that is alone."""

    def __init__(self, inputs: Tensors, places: Sequence[Places], *which: int):
        self.places = places
        super().__init__(inputs, [], *which)

    def pushed(self, x: Tensor) -> Tensor:
        """Add the random vectors to each copy."""
        copies = zip(x.chunk(len(self.places)), self.places)
        return torch.cat([with_noise(*one) for one in copies])

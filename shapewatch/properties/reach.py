"""Reach: nudge each position of an input, and see which outputs move, and
in which module something moves first."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.properties.copies import Run, alone, moved
from shapewatch.properties.distances import (
    FAINT,
    distance,
    rounding,
    undisturbed,
)
from shapewatch.properties.few import few_outputs
from shapewatch.properties.pushing import (
    Nudge,
    Places,
    Tensors,
    nudged,
    with_noise,
)
from shapewatch.properties.subject import Subject, once
from shapewatch.tracing.record.models import fast_path_off
from shapewatch.tracing.record.shared import following
from shapewatch.tracing.record.tensors import tensors

__all__ = [
    "FAINT",
    "Nudge",
    "asked",
    "calls",
    "culprit",
    "differ_at",
    "distance",
    "hears",
    "nudged",
    "reach",
    "rounding",
    "spread",
    "tried",
    "undisturbed",
    "watch",
    "with_noise",
]
Call = tuple[str, nn.Module, Tensors, Tensors]


def reach(subject: Subject, which: int) -> Tensor:
    """How far each output row moves for each position of an input, 0 for
    the source and `subject.last` for the target: (B, T, S); NaN for the
    positions that were not `asked`."""
    return pushed_alone(few_outputs(subject), which)


@once
def pushed_alone(subject: Subject, which: int) -> Tensor:
    """The same, by pushing one position after the other."""
    places = asked(subject, which)
    runs = [Run(subject.inputs, [s], (which,)) for s in places]
    columns = torch.stack(moved(subject, runs), -1)
    matrix = columns.new_full(
        (*columns.shape[:2], subject.inputs[which].shape[1]), torch.nan
    )
    matrix[:, :, places] = columns
    return matrix


def hears(subject: Subject, which: int, places: Places) -> Tensor:
    """Which outputs move when positions of an input are pushed at once."""
    few = few_outputs(subject)
    after = alone(few, Run(few.inputs, places, (which,)))
    return distance(few, after, FAINT, which) > 0


@once
def asked(subject: Subject, which: int) -> list[int]:
    """Which positions of an input are pushed: at most `subject.positions`,
    spread evenly, and as many with padding, and with unknown words."""
    length, count = subject.inputs[which].shape[1], subject.positions
    some = {*spread(range(length), count)}
    for marked in (~subject.real[which], subject.unknown[which]):
        some |= {*spread(marked.any(0).nonzero()[:, 0].tolist(), count)}
    return sorted(some)


def spread(places: Sequence[int], count: int) -> list[int]:
    """Choose so many places, the first and the last among them."""
    if len(places) <= count:
        return [*places]
    step = (len(places) - 1) / (count - 1)
    return [places[round(i * step)] for i in range(count)]


def tried(subject: Subject, which: int) -> str:
    """Say how many positions were asked for, unless all were."""
    count, every = len(asked(subject, which)), subject.inputs[which].shape[1]
    return "" if count == every else f" ({count} of {every} positions asked.)"


def culprit(subject: Subject, which: int, b: int, s: int, quiet: list) -> str:
    """Name the first module that moves at positions that should be `quiet`
    when position `s` of an input does, though what it was given did not."""
    runs = []
    for positions in ([], [s]):
        with nudged(subject.inputs, positions, which) as nudge:
            runs.append(calls(subject, *nudge.inputs))
    for (path, _, given, gave), (*_, given_now, gave_now) in zip(*runs):
        moves = differ_at(gave, gave_now, b, quiet)
        if path and moves and not differ_at(given, given_now, b, quiet):
            return f", first in {path}"
    return ""


def differ_at(before: Tensors, after: Tensors, b: int, quiet: list) -> bool:
    """Whether the quiet positions of a row differ in any tensor."""
    return any(
        (x - y)[b, quiet].abs().max() > FAINT * x.std().nan_to_num(1.0)
        for x, y in zip(before, after)
        if x.shape == y.shape and x.ndim > 2
        if len(x) > b and x.shape[1] > max(quiet)
    )


def calls(
    subject: Subject, *inputs: Tensor, of: Callable[[Any], bool] = callable
) -> list[Call]:
    """List what each module of a run, or some `of` them, is given and gives,
    innermost first: copies of the vectors, (B, T, C) or flat."""
    found: list[Call] = []

    def copies(value: Any) -> list[Tensor]:
        vectors = [x for x in tensors(value) if x.is_floating_point()]
        whole = (x for x in vectors if not x.is_nested and x.ndim > 1)
        return [x.detach().clone() for x in whole]

    def hook(path: str, part: nn.Module, *given: Any) -> None:
        if of(part):
            both = copies(given[:-1]), copies(given[-1])
            found.append((path, part, *both))

    with watch(subject.model, hook):
        subject.run(*inputs)
    return found


@contextmanager
def watch(model: Callable, hook: Callable) -> Iterator[None]:
    """Call `hook(path, module, args, kwargs, result)` after each module of
    this thread; what it gives, unless None, becomes the result."""
    with fast_path_off(), following(Watch(model, hook)):
        yield


class Watch:
    """Be there when modules of a model run; nothing is hooked to them."""

    def __init__(self, model: Callable, hook: Callable):
        parts = getattr(model, "named_modules", dict)
        self.paths = {id(part): path for path, part in parts()}
        self.hook = hook

    def run(
        self, call: Callable, part: nn.Module, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a module, and then the hook."""
        result, path = call(part, *args, **kwargs), self.paths.get(id(part))
        if path is None:
            return result
        other = self.hook(path, part, args, kwargs, result)
        return result if other is None else other

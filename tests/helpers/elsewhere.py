"""Whether the names of a trace are true: the model again at other sizes."""

from collections.abc import Iterator

import torch
from torch import Tensor

from shapewatch.tracing import Axis, Trace, trace
from shapewatch.tracing.axes.sizes import plain_sizes, run_sizes
from shapewatch.tracing.record.recorder import Step
from tests.helpers.foreign import ELSEWHERE, Foreign, Sizes
from tests.helpers.zoo import value

Wrong = tuple[str, int, int, str]


def all_tensors(result: object) -> list[Tensor]:
    """The tensors in what a model gives, in order."""
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if not isinstance(result, (tuple, list)):
        return []
    return [tensor for part in result for tensor in all_tensors(part)]


def to_the_bit(result: object) -> list[tuple]:
    """What a model gives, to the last bit: NaN is itself."""
    found = all_tensors(result)
    return [(x.dtype, *x.shape, x.numpy().tobytes()) for x in found]


def named_trace(model: Foreign, mode: str) -> Trace:
    """A trace with names: by `axes`, as most would, or with `build`."""
    with torch.no_grad():
        if mode == "build":
            return trace(build=model.build, dims=model.dims)
        ours, inputs = model.build(**plain_sizes(model.dims))
        return trace(ours, *inputs, dims=model.dims, axes=model.axes)


def unused_sizes(model: Foreign, seen: Trace, free: set[str]) -> list[Sizes]:
    """Twice sizes that no run of a trace has: of those that vary."""
    own, found = plain_sizes(model.dims), []
    for nth in range(2):
        sizes = dict(own)
        for name in sorted(free & own.keys()):
            chosen = free_sizes(model, seen, name)
            sizes[name] = chosen[nth % len(chosen)]
        found.append(run_sizes(model.dims | sizes))
    return found


def free_sizes(model: Foreign, seen: Trace, name: str) -> list[int]:
    """Sizes that no run has for a dimension; heads and pictures as even as
    the traced ones, since models ask for it."""
    own = plain_sizes(model.dims)[name]
    step = min(own & -own, 8) if name in "HDX" else 1
    among = model.elsewhere.get(name, ELSEWHERE[name])
    used = {run.sizes[name] for run in seen.runs}
    return [n for n in among if n % step == 0 and n not in used]


def elsewhere(model: Foreign, seen: Trace, mode: str) -> list[tuple]:
    """Traces at two sets of other sizes, each with its sizes. A model that
    refuses larger pictures has a larger batch alone."""
    free = set(plain_sizes(model.dims))
    if mode == "build":
        return [run_at(model, s) for s in unused_sizes(model, seen, free)]
    named = set(" ".join(model.axes).split())
    ours, _ = model.build(**plain_sizes(model.dims))
    try:
        chosen = unused_sizes(model, seen, named & free)
        return [run_at(model, sizes, ours) for sizes in chosen]
    except Exception:
        chosen = unused_sizes(model, seen, {"B"})
        return [run_at(model, sizes, ours) for sizes in chosen]


def run_at(model: Foreign, sizes: Sizes, ours=None) -> tuple[Trace, Sizes]:
    """A trace without names, and its sizes."""
    plain = {name: sizes[name] for name in plain_sizes(model.dims)}
    other, inputs = model.build(**plain)
    with torch.no_grad():
        return trace(ours or other, *inputs), sizes


def pairs(seen: Trace, there: Trace) -> Iterator[tuple[Axis, int, Step]]:
    """Each axis of a trace, its size in another, and the call."""
    first, other = seen.run, there.run
    same = zip(seen.axes, first.steps, other.shapes_of(first))
    for sides, step, its in same:
        for shapes, found in zip(sides, its or ()):
            for shape, sizes in zip(shapes, found):
                if len(shape) == len(sizes):
                    for axis, n in zip(shape, sizes):
                        yield axis, n, step


def wrong_names(seen: Trace, there: Trace, sizes: Sizes) -> list[Wrong]:
    """The proved names that are not true of a run at other sizes."""
    return [
        (axis.name, axis.size, size, f"{step.visit.path}: {step.line}")
        for axis, size, step in pairs(seen, there)
        if axis.proof == "proved" and value(axis.name, sizes) != size
    ]


def share_proved(seen: Trace) -> float:
    """Which part of all axes is proved."""
    axes = [
        axis
        for sides in seen.axes
        for shapes in sides
        for shape in shapes
        for axis in shape
    ]
    return sum(axis.proof == "proved" for axis in axes) / len(axes)

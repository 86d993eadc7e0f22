"""Statistics: how low, how high and how far apart kept values are."""

from fnmatch import fnmatchcase
from itertools import chain
from math import inf, nan
from typing import NamedTuple

import torch
from torch import Tensor

from shapewatch.tracing.axes.names import Shape
from shapewatch.tracing.calls import Calls, is_called
from shapewatch.tracing.tables import Sheet, ellipsize

FINITE = "mean and deviation are those of the finite numbers"


class Statistic(NamedTuple):
    """What a call made: its "path:variable", how the call is written, the
    named shape, and its numbers; NaN shows in the minimum and maximum."""

    value: str
    call: str
    shape: Shape
    minimum: float
    mean: float
    maximum: float
    deviation: float


def value_statistics(calls: Calls, pattern: str = "*:*") -> Sheet[Statistic]:
    """List the values that were kept, a row each; several of one call have a
    row each as well.

    `pattern` has "path:variable", as for `keep`, or a module's path alone,
    for all calls in it and within it. * stands for anything.

    Raises KeyError where nothing that was kept has such a name.
    """
    rows, kept = list[Statistic](), calls.run.values.kept
    for i in sorted(kept):
        row, names = calls.table.rows[i], calls.names[i]
        path = f"{calls.steps[i].visit.path}."
        if fnmatchcase(path, f"{pattern}.*") or any(
            is_called(name, pattern) for name in chain(*names)
        ):
            call, name = ellipsize(row.expression), next(iter(names[0]))
            for shape, tensor in zip(row.outputs, kept[i]):
                numbers = tensor_numbers(tensor)
                rows.append(Statistic(name, call, shape, *numbers))
    if not kept:
        raise KeyError("no value was kept: trace with keep=True to keep all.")
    if not rows:
        known = dict.fromkeys(next(iter(calls.names[i][0])) for i in kept)
        raise KeyError(
            f"no kept value is called {pattern!r}: there are "
            f"{', '.join(known)}. Trace with keep=True to keep all."
        )
    infinite = any(not abs(x) < inf for r in rows for x in r[3::2])
    return Sheet(rows, [FINITE] if infinite else [])


def tensor_numbers(tensor: Tensor) -> tuple[float, float, float, float]:
    """Give the minimum, mean, maximum and standard deviation of a tensor."""
    if not tensor.numel() or tensor.is_meta:
        return nan, nan, nan, nan
    with torch.no_grad():
        x = tensor.detach().abs() if tensor.is_complex() else tensor.detach()
        x = x.to_dense() if x.layout is not torch.strided else x
        x = x.double()
        known = x[x.isfinite()]
        mean = known.mean().item() if len(known) else nan
        spread = known.std(correction=0).item() if len(known) else nan
        return x.min().item(), mean, x.max().item(), spread

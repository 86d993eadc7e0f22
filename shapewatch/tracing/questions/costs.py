"""Costs: what each module of a model has to learn, and to compute."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from shapewatch.tracing.record.models import (
    ModelCall,
    fast_path_off,
    model_call,
)
from shapewatch.tracing.record.shared import eagerly
from shapewatch.tracing.record.state import aside
from shapewatch.tracing.record.tensors import name_of
from shapewatch.tracing.record.visits import Visits
from shapewatch.tracing.tables import Sheet

FLOPS_NOTE = (
    "FLOPs are those of matrix products, convolutions and attention; a "
    "multiply-add is 2. Everything else counts 0."
)
aten = torch.ops.aten


class Size(NamedTuple):
    """How many parameters a module has; each counts once, whatever its
    names."""

    module: str
    kind: str
    parameters: int


class Cost(NamedTuple):
    """How many floating-point operations a module takes in one run."""

    module: str
    kind: str
    parameters: int
    flops: int
    multiply_adds: int


def sizes_of(root: nn.Module, name: str) -> list[Size]:
    """List the size of each module, the whole last; `name` is that of what
    runs it, where the whole is only what holds several."""
    first, *others = root.named_modules()
    rows = []
    for path, module in [*others, first]:
        count = sum(x.numel() for x in module.parameters())
        kind = type(module)
        label = name if kind is nn.Module else kind.__name__
        rows.append(Size(path, label, count))
    return rows


def flops(model: Callable, *inputs: Any, **options: Any) -> Sheet[Cost]:
    """Count the floating-point operations of each module in one run.

    PyTorch's FlopCounterMode counts: a matrix product (n, k) @ (k, m) has
    n * m * k multiply-adds, and twice as many FLOPs. What a module does that
    is made during the run counts in the total alone.
    """
    return flops_of(model_call(model, inputs, options))


def flops_of(call: ModelCall) -> Sheet[Cost]:
    """Count the floating-point operations of each module in one call."""
    counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
    counter.mod_tracker = ModuleTracker(call.root)  # type: ignore[assignment]
    with aside(call), eagerly(), fast_path_off(), counter:
        call.run()
    counts = counter.get_flop_counts()
    rows = []
    for path, kind, learned in sizes_of(call.root, name_of(call.model)):
        n = sum(counts.get(path, {}).values())
        rows.append(Cost(path, kind, learned, n, n // 2))
    return Sheet(rows, [FLOPS_NOTE])


class ModuleTracker(Visits):
    """The module under way, told as FlopCounterMode asks for it."""

    @property
    def parents(self) -> list[str]:
        """Where to count a call: in the module, and in those around it."""
        path, around = self.now.path, [""]
        while path:
            around.append(path)
            path = path.rpartition(".")[0]
        return around


# What FlopCounterMode leaves out, given the shapes of a call's arguments.
FORMULAS: dict[Any, Callable[..., int]] = {
    aten._scaled_dot_product_flash_attention_for_cpu: (
        lambda q, k, v, *_, **__: sdpa_flop_count(q, k, v)
    ),
    aten.mv: lambda matrix, row, **_: 2 * prod(matrix),
    aten.dot: lambda row, column, **_: 2 * prod(row),
    aten.addmv: lambda _, matrix, row, **__: 2 * prod(matrix),
    aten.mkldnn_rnn_layer: lambda x, inner, back, *_, **__: (
        2 * prod(x[:-1]) * (prod(inner) + prod(back))
    ),
}

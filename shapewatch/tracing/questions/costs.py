"""Costs: what each module of a model has to learn, and to compute."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import torch
from torch import nn
from torch._ops import HigherOrderOperator
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from shapewatch.tracing.questions.compare import paths_around
from shapewatch.tracing.record.models import root_module
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
    """How many parameters a module has, and how many of them are frozen."""

    module: str
    kind: str
    parameters: int
    frozen: int


class Cost(NamedTuple):
    """How many floating-point operations a module takes in one run."""

    module: str
    kind: str
    parameters: int
    flops: int
    multiply_adds: int


def parameters(model: Callable) -> Sheet[Size]:
    """Count the parameters of each module: all, and the frozen ones. Of a
    method or a function: those of the model that it runs.

    A parameter with several names counts once. Buffers do not count.
    """
    return Sheet(sizes_of(model), shared_notes(root_module(model)))


def sizes_of(model: Callable) -> list[Size]:
    """List the size of each module, the whole last."""
    whole, *others = root_module(model).named_modules()
    rows = []
    for path, module in [*others, whole]:
        learned = list(module.parameters())
        every = sum(p.numel() for p in learned)
        frozen = sum(p.numel() for p in learned if not p.requires_grad)
        kind = type(module)
        name = name_of(model) if kind is nn.Module else kind.__name__
        rows.append(Size(path, name, every, frozen))
    return rows


def shared_notes(model: nn.Module) -> list[str]:
    """Say which parameters have several names."""
    names = defaultdict(list)
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names[parameter].append(name)
    return [
        f"one parameter, counted once: {', '.join(alike)}"
        for alike in names.values()
        if len(alike) > 1
    ]


class ModuleTracker(Visits):
    """The module under way, told as FlopCounterMode asks for it."""

    @property
    def parents(self) -> list[str]:
        """Where to count a call: in the module, and in those around it."""
        return paths_around(self.now.path)


def flops(model: Callable, *inputs: Any, **options: Any) -> Sheet[Cost]:
    """Count the floating-point operations of each module in one run.

    PyTorch's FlopCounterMode counts: a matrix product (n, k) @ (k, m) has
    n * m * k multiply-adds, and twice as many FLOPs. What a module does that
    is made during the run counts in the total alone.
    """
    counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
    call = partial(model, *inputs, **options)
    counter.mod_tracker = ModuleTracker(root_module(call))  # type: ignore[assignment]
    whole = WholeCalls()
    with aside(model, inputs, options), eagerly(), whole, counter:
        call()
    counts = counter.get_flop_counts()
    rows = []
    for path, kind, learned, _ in sizes_of(call):
        n = sum(counts.get(path, {}).values())
        rows.append(Cost(path, kind, learned, n, n // 2))
    return Sheet(rows, [FLOPS_NOTE, *whole.notes])


class WholeCalls(TorchFunctionMode):
    """Let PyTorch's layers run call by call, and calls that are given
    functions, which its counter refuses, uncounted."""

    def __init__(self):
        super().__init__()
        self.notes: dict[str, None] = {}

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = name_of(function)
        if not isinstance(function, HigherOrderOperator) or name == "cond":
            return function(*args, **kwargs or {})
        with _disable_current_modes():
            made = function(*args, **kwargs or {})
        self.notes[f"Not counted: what {name} does."] = None
        return made


# What FlopCounterMode leaves out, given the shapes of a call's arguments.
FORMULAS: dict[Any, Callable[..., int]] = {
    aten._scaled_dot_product_flash_attention_for_cpu: (
        lambda q, k, v, *_, **__: sdpa_flop_count(q, k, v)
    ),
    aten.mv: lambda matrix, row, **_: 2 * prod(matrix),
    aten.dot: lambda row, column, **_: 2 * prod(row),
    aten.addmv: lambda _, matrix, row, **__: 2 * prod(matrix),
    aten.mkldnn_rnn_layer: lambda x, own, back, *_, **__: (
        2 * prod(x[:-1]) * (prod(own) + prod(back))
    ),
}

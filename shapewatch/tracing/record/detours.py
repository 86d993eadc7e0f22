"""Detours: where a traced run goes another way than an untraced one."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.overrides import BaseTorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from shapewatch.tracing.record.aside import aside
from shapewatch.tracing.record.behind import root_module
from shapewatch.tracing.record.visits import Visits, modules_of

FUSIBLE = nn.MultiheadAttention, nn.TransformerEncoderLayer
SCRIPT_TYPES = torch.jit.ScriptModule, torch.jit.ScriptFunction
FUSED_KERNELS = (
    "_native_multi_head_attention",
    "_transformer_encoder_layer_fwd",
)


def traceable(model: Callable | None) -> Callable:
    """Give a model; TypeError for what cannot be traced."""
    if isinstance(model, torch.export.ExportedProgram):
        raise TypeError(
            "an ExportedProgram is not a model that runs: trace its .module()"
        )
    if not callable(model):
        raise TypeError(f"give a model: {type(model).__name__} has no call")
    for part in modules_in(model):
        if isinstance(part, SCRIPT_TYPES):
            raise TypeError(
                f"a {type(part).__name__} runs out of Python's sight: trace "
                "what it was made from."
            )
    return model


def modules_in(model: Callable) -> list[Callable]:
    """List a model's modules; of a function, itself."""
    if not isinstance(model, nn.Module):
        return [model]
    return list(modules_of(model))


def fast_path_off() -> AbstractContextManager:
    """Let PyTorch's layers of this thread run call by call: they do while
    anything looks at torch functions."""
    return BaseTorchFunctionMode()


def detour_notes(model: Callable, inputs: tuple, options: dict) -> list[str]:
    """Say what an untraced run does in another way."""
    call = partial(model, *inputs, **options)
    whole = root_module(call)
    notes, found = [], [model, *modules_in(whole)]
    if any(map(is_compiled, found)):
        notes.append("compiled code ran as it is written, line by line")
    fusible = [part for part in found if isinstance(part, FUSIBLE)]
    if all(part.training for part in fusible):
        return notes
    if fused := fused_modules(whole, call):
        notes.append(
            f"untraced, PyTorch runs {', '.join(fused)} as one fused call "
            "each; numbers can differ in their last digits"
        )
    return notes


def is_compiled(part: Callable) -> bool:
    """Whether torch.compile made or changed a module or a function."""
    if isinstance(part, nn.Module):  # it looks long for what it lacks
        was_function = "_torchdynamo_orig_callable" in vars(part)
    else:
        was_function = hasattr(part, "_torchdynamo_orig_callable")
    return (
        was_function
        or getattr(part, "_compiled_call_impl", None) is not None
        or type(part).__name__ == "OptimizedModule"
    )


def fused_modules(whole: nn.Module, call: partial) -> list[str]:
    """List the modules of a model that an untraced run fuses, by another
    run."""
    with (
        suppress(Exception),  # it ran once: so much for this note
        aside(call),
        Visits(whole) as visits,
        FusedCalls(visits) as fused,
    ):
        call()
    return list(dict.fromkeys(fused.paths))


class FusedCalls(TorchDispatchMode):
    """Note in which modules PyTorch's fused functions run."""

    def __init__(self, visits: Visits):
        super().__init__()
        self.visits = visits
        self.paths: list[str] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function.overloadpacket.__name__ in FUSED_KERNELS:
            self.paths.append(self.visits.now.path or self.visits.now.kind)
        return function(*args, **kwargs or {})

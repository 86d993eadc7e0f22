"""The tools: each is given a model and inputs, and makes a run to time.

What a tool was given is said in its function's docstring, which is printed
below the table.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from io import StringIO
from typing import NamedTuple

from torch import nn

from tformer_lite import trace


def ours(model: nn.Module, inputs: tuple) -> Callable:
    """trace(model, *inputs): one run, and no dims to name."""
    return partial(trace, model, *inputs)


def torchlens(model: nn.Module, inputs: tuple) -> Callable:
    """trace(model, inputs) with CaptureOptions(layers_to_save="none"):
    no activation is saved (before version 2, log_forward_pass)."""
    from torchlens import trace
    from torchlens.options import CaptureOptions

    shapes = CaptureOptions(layers_to_save="none")
    return partial(trace, model, inputs, capture=shapes)


def torchlens_record(model: nn.Module, inputs: tuple) -> Callable:
    """record(model, inputs) with default_op=CaptureSpec(save_out=False):
    every call, no activation, and no graph until it is asked for."""
    from torchlens import record
    from torchlens.fastlog import CaptureSpec

    shapes = CaptureSpec(save_out=False)
    return partial(record, model, inputs, default_op=shapes)


def torchinfo(model: nn.Module, inputs: tuple) -> Callable:
    """summary(model, input_data=inputs, verbose=0): modules, no calls
    within them."""
    from torchinfo import summary

    return partial(summary, model, input_data=inputs, verbose=0)


def snooped_model(model: nn.Module, inputs: tuple) -> Callable:
    """snoop(StringIO())(model.forward): the lines of that one function,
    which are one to three."""
    from torchsnooper import snoop

    return lambda: snoop(StringIO())(model.forward)(*inputs)


def snooped_modules(model: nn.Module, inputs: tuple) -> Callable:
    """The same for the forward of every module, in a copy of the model:
    what it takes to see about what the others see."""
    from torchsnooper import snoop

    copy, written = deepcopy(model), StringIO()
    for module in copy.modules():
        module.forward = snoop(written)(module.forward)
    return partial(copy, *inputs)


class Tool(NamedTuple):
    """The package that a tool comes in, and how it is used."""

    package: str | None
    use: Callable[[nn.Module, tuple], Callable]


TOOLS = {
    "ours": Tool(None, ours),
    "TorchLens trace": Tool("torchlens", torchlens),
    "TorchLens record": Tool("torchlens", torchlens_record),
    "torchinfo": Tool("torchinfo", torchinfo),
    "TorchSnooper, model": Tool("TorchSnooper", snooped_model),
    "TorchSnooper, modules": Tool("TorchSnooper", snooped_modules),
}

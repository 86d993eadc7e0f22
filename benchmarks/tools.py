"""The tools: each is given a model and inputs, and makes a run to time.

What a tool was given and what it then knows is said in its function's
docstring, which is printed on the page.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from io import StringIO

from torch import nn

from tformer_lite import trace


def ours(model: nn.Module, inputs: tuple) -> Callable:
    """`trace(model, *inputs)`: one run, and no dims to name. It records
    every call of PyTorch's functions with the shapes of what goes in and
    comes out, the module that it happens in, and the line of source."""
    return partial(trace, model, *inputs)


def torchlens(model: nn.Module, inputs: tuple) -> Callable:
    """`trace(model, inputs, capture=CaptureOptions(layers_to_save="none"))`.
    It records every call and works out the whole graph, with much more about
    each call than we keep; no activation is saved."""
    from torchlens import trace
    from torchlens.options import CaptureOptions

    shapes = CaptureOptions(layers_to_save="none")
    return partial(trace, model, inputs, capture=shapes)


def torchlens_record(model: nn.Module, inputs: tuple) -> Callable:
    """`record(model, inputs, default_op=CaptureSpec(save_out=False))`, its
    quick way. It records every call, no activation, and no graph until it is
    asked for: the nearest to what we do."""
    from torchlens import record
    from torchlens.fastlog import CaptureSpec

    shapes = CaptureSpec(save_out=False)
    return partial(record, model, inputs, default_op=shapes)


def torchinfo(model: nn.Module, inputs: tuple) -> Callable:
    """`summary(model, input_data=inputs, verbose=0)`. It records modules,
    their output shapes, parameters and multiply-adds, and no calls within
    them: less than we do."""
    from torchinfo import summary

    return partial(summary, model, input_data=inputs, verbose=0)


def snooped_model(model: nn.Module, inputs: tuple) -> Callable:
    """`snoop(StringIO())(model.forward)`. It writes down the lines of that
    one function, which are one to three, with the shapes of its variables:
    far less than we do."""
    from torchsnooper import snoop

    return lambda: snoop(StringIO())(model.forward)(*inputs)


def snooped_modules(model: nn.Module, inputs: tuple) -> Callable:
    """The same for the `forward` of every module, in a copy of the model:
    what it takes to see about what the others see."""
    from torchsnooper import snoop

    copy, written = deepcopy(model), StringIO()
    for module in copy.modules():
        module.forward = snoop(written)(module.forward)
    return partial(copy, *inputs)


TOOLS = {
    "ours: a trace": ours,
    "TorchLens, trace": torchlens,
    "TorchLens, record": torchlens_record,
    "torchinfo": torchinfo,
    "TorchSnooper, the model": snooped_model,
    "TorchSnooper, all modules": snooped_modules,
}

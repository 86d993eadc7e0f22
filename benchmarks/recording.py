"""What recording costs, for three models of rising size: tools that look at
a run, against a plain one. And what it costs to name every axis of the
running example, and to check it: no other tool does either.

What a tool was given and what it then knows is said in its function's
docstring, which is printed on the page.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from io import StringIO

import torch
from torch import nn

from benchmarks.rounds import row, rows_in_turns, seconds_of
from gallery import bugs, plant_and_report
from tformer_lite import (
    Config,
    DecoderOnly,
    EncoderDecoder,
    paper_base,
    report,
    running_example,
    tiny_translator,
    trace,
)

# GPT-2's sizes (Radford et al., 2019, table 2): 124 million parameters, and
# 39 million for a head of its own.
GPT2_SIZES = Config(
    vocab_size=50257,
    max_len=1024,
    d_model=768,
    n_heads=12,
    n_layers=12,
    d_ff=3072,
    positions="learned",
    activation="gelu_tanh",
)
DIMS = {"B": 2, "S": 8, "T": 8, "H": 3, "D": 4, "C": "H*D"}


def running() -> tuple[nn.Module, tuple]:
    """Translate the book's two pairs with the tiny model."""
    example = running_example()
    model = EncoderDecoder(tiny_translator)
    return model.eval(), (example.src, example.tgt)


def paper() -> tuple[nn.Module, tuple]:
    """Translate 200 ids with the paper's base model: 44 million."""
    ids = torch.randint(2, 100, (1, 200))
    return EncoderDecoder(paper_base).eval(), (ids, ids)


def gpt2() -> tuple[nn.Module, tuple]:
    """Read 128 ids with a decoder of GPT-2's sizes."""
    ids = torch.randint(0, 50257, (1, 128))
    return DecoderOnly(GPT2_SIZES).eval(), (ids,)


MODELS = {
    "running example": running,
    "paper_base, 200 ids": paper,
    "GPT-2's sizes, 128 ids": gpt2,
}


def ours(model: nn.Module, inputs: tuple) -> Callable:
    """`trace(model, *inputs)`: one run, without names for the axes. It
    records every call of a PyTorch function with the shapes of its inputs
    and outputs, its module, and its line of source."""
    return partial(trace, model, *inputs)


def torchlens(model: nn.Module, inputs: tuple) -> Callable:
    """`trace(model, inputs, capture=CaptureOptions(layers_to_save="none"))`.
    It records every call and works out the whole graph, with far more detail
    about each call than ours; it saves no activations."""
    from torchlens import trace
    from torchlens.options import CaptureOptions

    shapes = CaptureOptions(layers_to_save="none")
    return partial(trace, model, inputs, capture=shapes)


def torchlens_record(model: nn.Module, inputs: tuple) -> Callable:
    """`record(model, inputs, default_op=CaptureSpec(save_out=False))`, its
    fast mode. It records every call, saves no activations, and builds the
    graph only on request, so it is the most similar to ours."""
    from torchlens import record
    from torchlens.fastlog import CaptureSpec

    shapes = CaptureSpec(save_out=False)
    return partial(record, model, inputs, default_op=shapes)


def torchinfo(model: nn.Module, inputs: tuple) -> Callable:
    """`summary(model, input_data=inputs, verbose=0)`. It records modules,
    their output shapes, parameters and multiply-adds, but no calls within
    them, so it records less than ours."""
    from torchinfo import summary

    return partial(summary, model, input_data=inputs, verbose=0)


def snooped_model(model: nn.Module, inputs: tuple) -> Callable:
    """`snoop(StringIO())(model.forward)`. It writes down the one to three
    lines of that function with the shapes of its variables, so it records
    far less than ours."""
    from torchsnooper import snoop

    return lambda: snoop(StringIO())(model.forward)(*inputs)


def snooped_modules(model: nn.Module, inputs: tuple) -> Callable:
    """The same for the `forward` of every module, in a copy of the model.
    Its record is then roughly as complete as those of the other tools."""
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


def tool_rows(model: str, tool: str) -> list[dict]:
    """Let a tool and a plain run take turns; the plain run has a row beside
    the first tool alone."""
    net, inputs = MODELS[model]()
    runs = {"a plain run": partial(net, *inputs)}
    runs[tool] = TOOLS[tool](net, inputs)
    rows = rows_in_turns(runs)
    return rows if tool == next(iter(TOOLS)) else rows[1:]


def build(B: int, S: int, T: int, H: int, D: int) -> tuple:
    """Make the tiny translator at any sizes, and ids for it."""
    sizes = {"d_model": H * D, "n_heads": H, "d_ff": 4 * H * D}
    model = EncoderDecoder(replace(tiny_translator, max_len=16, **sizes))
    ids = [torch.randint(2, 1024, (B, n)) for n in (S, T)]
    return model.eval(), ids


def example_rows() -> list[dict]:
    """Run the running example plainly, traced, named, and checked."""
    model, ids = build(2, 8, 8, 3, 4)
    runs = {
        "a plain run": partial(model, *ids),
        "ours: a trace": partial(trace, model, *ids),
        "ours: all axes named, as text": lambda: str(
            trace(build=build, dims=DIMS)
        ),
        "ours: the report of all checks": partial(report, model, *ids),
    }
    return rows_in_turns(runs)


def gallery_rows() -> list[dict]:
    """Ask all questions of all models of the gallery, once."""
    seconds = [seconds_of(partial(plant_and_report, list(bugs())))]
    return [row("ours: the table of what finds what", seconds, seconds)]

"""How large the residual stream is, and what each sublayer adds to it."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tformer_lite.model.layers import PostNorm
from tformer_lite.model.models import Stack


@dataclass
class Sum:
    """What a sublayer adds to the stream in a block: its name, whether a
    norm stands before it or after the sum, and the size of the stream
    before, of what is added, of the sum, and of what goes on."""

    block: int
    name: str
    norm: str
    before: float
    added: float
    total: float
    after: float


@dataclass
class Stream:
    """The sums of a stack in order, and its size behind the final norm."""

    name: str
    sums: list[Sum] = field(default_factory=list)
    final: float | None = None


class Gauge:
    """Hooks on a stack, which note its stream while it runs."""

    def __init__(self, name: str):
        self.stream, self.block, self.sublayer = Stream(name), 0, "sublayer"
        self.added = torch.zeros(())

    def hooks(self, stack: Stack) -> Iterator[Any]:
        """Hang on to a stack; each hook can be taken off again."""
        for block in dict.fromkeys(stack.blocks):
            yield block.register_forward_pre_hook(self.enter)
            for name, part in block.named_children():
                if name not in ("norms", "dropout"):
                    begin = partial(self.begin, name.replace("_", "-"))
                    yield part.register_forward_pre_hook(begin)
            for residual in block.get_submodule("residuals").children():
                added = residual.get_submodule("dropout")
                yield added.register_forward_hook(self.add)
                yield residual.register_forward_hook(self.sum)
        if not isinstance(stack.norm, nn.Identity):
            yield stack.norm.register_forward_hook(self.leave)

    def enter(self, *_: Any) -> None:
        """A block begins."""
        self.block += 1

    def begin(self, name: str, *_: Any) -> None:
        """A sublayer begins."""
        self.sublayer = name

    def add(self, module: nn.Module, given: Any, added: Tensor) -> None:
        """What a sublayer adds is ready."""
        self.added = added

    def sum(self, module: nn.Module, given: Any, after: Tensor) -> None:
        """It has been added."""
        norm = "" if isinstance(module.norm, nn.Identity) else "pre"
        norm = "post" if norm and isinstance(module, PostNorm) else norm
        flow = given[0], self.added, given[0] + self.added, after
        place = self.block, self.sublayer, norm
        self.stream.sums.append(Sum(*place, *map(size, flow)))

    def leave(self, module: nn.Module, given: Any, after: Tensor) -> None:
        """The final norm is through."""
        self.stream.final = size(after)


def size(x: Tensor) -> float:
    """The root mean square of all numbers: (B, T, C) -> a number."""
    return x.detach().double().square().mean().sqrt().item()


def measured(model: nn.Module, *inputs: Any, **options: Any) -> list[Stream]:
    """Run a model, and measure the stream of each of its stacks.

    Raises ValueError when it has none, or when none of them ran.
    """
    parts = model.named_modules()
    stacks = {name: part for name, part in parts if isinstance(part, Stack)}
    gauges = [Gauge(name) for name in stacks]
    with ExitStack() as hung, torch.no_grad():
        for gauge, stack in zip(gauges, stacks.values()):
            for hook in gauge.hooks(stack):
                hung.callback(hook.remove)
        model(*inputs, **options)
    streams = [gauge.stream for gauge in gauges if gauge.stream.sums]
    if not streams:
        raise ValueError(
            f"{type(model).__name__} ran no Stack of blocks with residual "
            "connections: give an EncoderDecoder, a DecoderOnly or a Stack."
        )
    return streams

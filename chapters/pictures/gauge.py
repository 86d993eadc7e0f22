"""How large the residual stream is, and what each sublayer adds to it."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tformer_lite.model.models import PostBlock, PostCrossBlock, Stack


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
        self.before = self.added = torch.zeros(())

    def hooks(self, stack: Stack) -> Iterator[Any]:
        """Hang on to a stack; each hook can be taken off again."""
        for block in dict.fromkeys(stack.blocks):
            yield block.register_forward_pre_hook(self.enter)
            for name, part in block.named_children():
                if name not in ("norms", "dropout"):
                    begin = partial(self.begin, name.replace("_", "-"))
                    yield part.register_forward_pre_hook(begin)
            dropout = block.get_submodule("dropout")
            if isinstance(block, PostBlock | PostCrossBlock):
                yield dropout.register_forward_hook(self.add)
                for norm in block.get_submodule("norms").children():
                    yield norm.register_forward_hook(self.normalise)
            else:
                still = isinstance(block.get_submodule("norms.0"), nn.Identity)
                add = partial(self.sum, "" if still else "pre")
                yield dropout.register_forward_hook(add)
        if not isinstance(stack.norm, nn.Identity):
            yield stack.norm.register_forward_hook(self.leave)

    def enter(self, block: nn.Module, given: Any) -> None:
        """A block begins."""
        self.block, self.before = self.block + 1, given[0]

    def begin(self, name: str, *_: Any) -> None:
        """A sublayer begins."""
        self.sublayer = name

    def add(self, module: nn.Module, given: Any, added: Tensor) -> None:
        """What a sublayer adds is ready."""
        self.added = added

    def sum(self, norm: str, module: Any, given: Any, added: Tensor) -> None:
        """What a sublayer adds is ready, and its sum is not normalised."""
        self.added = added
        self.note(self.before + added, norm)

    def normalise(self, norm: nn.Module, given: Any, after: Tensor) -> None:
        """The sum has been normalised, unless its norm does nothing."""
        self.note(after, "" if isinstance(norm, nn.Identity) else "post")

    def note(self, after: Tensor, norm: str) -> None:
        """A sublayer is through."""
        flow = self.before, self.added, self.before + self.added, after
        place = self.block, self.sublayer, norm
        self.stream.sums.append(Sum(*place, *map(size, flow)))
        self.before = after

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

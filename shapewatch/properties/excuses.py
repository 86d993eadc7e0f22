"""Excuses: why parameters of a right model may get no gradient."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.properties.distances import judged_by_position
from shapewatch.properties.gradients import gradients, learnt, nodes
from shapewatch.properties.inputs import defaults
from shapewatch.properties.reach import calls, undisturbed
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
)
from shapewatch.properties.variants import reweighted
from shapewatch.tracing.record.shared import following

PICKS = "SliceBackward", "SelectBackward", "Split"  # and SplitWithSizes
SEEDS = 3  # how many random weights are tried


def others_alive(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient with some random weights."""
    alive: set[str] = set()
    for seed in range(SEEDS):
        other = reweighted(subject, seed)
        model: Any = other.model
        reached = gradients(other)
        alive |= {n for n, p in model.named_parameters() if reached.get(p)}
    return alive


def more_alive(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient where the model is given one
    more of its optional inputs, such as kinds of tokens."""
    alive: set[str] = set()
    part, tried = unwrapped(subject.model), [*values(subject)]
    for name in optional(part):
        for value in tried:
            with following(More(part, name, value)):
                alive |= reached(subject)
    return alive


def unwrapped(model: Any) -> nn.Module:
    """Find the module that has optional inputs: the model, or the only part
    of what wraps it."""
    parts = [*model.children()]
    own = [*model.parameters(recurse=False)]
    if len(parts) == 1 and not own and not [*optional(model)]:
        return unwrapped(parts[0])
    return model


def optional(part: nn.Module) -> Iterator[str]:
    """Name the inputs of a module that are None by default."""
    yield from (name for name, x in defaults(part).items() if x is None)


def values(subject: Subject) -> Iterator[Tensor]:
    """Make what an optional input may be: a mark (B, T) on the first
    position, for each of the inputs; one position (B, T, T) for each; or
    vectors (B, T, C), as wide as any that modules give."""
    for x in subject.inputs:
        marks = torch.zeros(x.shape[:2], dtype=torch.long)
        marks[:, :1] = 1
        yield marks
    b, t = subject.inputs[-1].shape[:2]
    yield torch.eye(t).expand(b, t, t)
    gave = (x for *_, made in calls(subject) for x in made[:1])
    for c in {x.shape[-1] for x in gave if x.ndim == 3}:
        yield torch.ones(b, t, c).cumsum(1)


class More:
    """Give a module one more input by name, unless it has it."""

    def __init__(self, part: nn.Module, name: str, value: Tensor):
        self.part, self.more = part, {name: value}

    def run(
        self, call: Callable, part: nn.Module, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a module."""
        more = self.more if part is self.part else {}
        return call(part, *args, **{**more, **kwargs})


def reached(subject: Subject, change: Callable = list) -> set[str]:
    """Name the parameters that get a gradient; none, where it fails."""
    model: Any = subject.model
    ask = partial(learnt, model, change=change)
    try:
        found = subject.call(ask, subject.given)
    except FailedError:
        return set()
    return {n for n, p in model.named_parameters() if found.get(p)}


def partly_alive(subject: Subject) -> set[str]:
    """Name the parameters that would get a gradient if all positions were
    read, of a model that reads some; and that others like them do get: the
    last block may do something for the positions that nobody reads."""
    with suppress(NotJudgedError):
        judged_by_position(subject)
        undisturbed(subject)
        return set()
    # The output has no row for each position.
    opened = reached(subject, open_picks)
    like = {kind(name) for name in reached(subject)}
    return {name for name in opened if kind(name) in like}


def open_picks(outputs: list[Tensor]) -> None:
    """Let a gradient flow into all positions where some were picked."""
    for node in nodes(outputs):
        if picks_positions(node):
            node.register_hook(everywhere)


def picks_positions(node: Any) -> bool:
    """Whether a step gave some of what stood along axis 1: a slice, one, or
    those of a list."""
    name, listed = node.name(), [*getattr(node, "_saved_indices", [])]
    if name.startswith("IndexBackward"):
        return len(listed) > 1 and listed[1] is not None
    return name.startswith(PICKS) and node._saved_dim == 1


def everywhere(given: tuple, _: tuple) -> tuple:
    """Draw a gradient for all that was there to pick from."""
    return tuple(x if x is None else torch.randn_like(x) for x in given)


def kind(name: str) -> str:
    """Give a parameter's name in any block."""
    return re.sub(r"\d+", "#", name, count=1)


EXCUSES = {
    others_alive: "With random weights they do: some are 0 or small.",
    more_alive: "They do where another input is given, which is optional.",
    partly_alive: "Only some positions are read, and these do without them.",
}

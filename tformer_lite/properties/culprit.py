"""Culprits: in which module something goes wrong first."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tformer_lite.properties.reach import FAINT, nudge
from tformer_lite.properties.subject import Subject
from tformer_lite.tracing.record.tensors import tensors

Call = tuple[str, list[Tensor], list[Tensor]]


@contextmanager
def watch(model: Callable, hook: Callable) -> Iterator[None]:
    """Call `hook(path, module, args, kwargs, result)` after each module's
    forward; what it gives, unless None, becomes the result."""
    parts = model.named_modules() if isinstance(model, nn.Module) else ()
    with ExitStack() as hooks:
        for path, part in parts:
            watcher = partial(hook, path)
            handle = part.register_forward_hook(watcher, with_kwargs=True)
            hooks.callback(handle.remove)
        yield


@contextmanager
def calls(model: Callable) -> Iterator[list[Call]]:
    """Collect what each module is given and gives, innermost first."""
    found: list[Call] = []

    def hook(path: str, *call: Any) -> None:
        _, args, kwargs, gave = call
        found.append((path, copies((args, kwargs)), copies(gave)))

    with watch(model, hook):
        yield found


def copies(value: Any) -> list[Tensor]:
    """Copy the vectors in a value: (B, T, C)."""
    found = [x for x in tensors(value) if x.is_floating_point()]
    return [x.detach().clone() for x in found if x.ndim >= 3]


def culprit(
    subject: Subject, which: int, row: int, s: int, quiet: list[int]
) -> str:
    """Name the first module whose output moves at positions that should be
    `quiet` when position `s` of an input does, though what it was given
    did not move there; "" when there is none."""
    runs = []
    for positions in ([], [s]):
        context, inputs = nudge(subject.inputs, which, positions)
        with calls(subject.model) as found, context:
            subject.run(*inputs)
        runs.append(found)

    def moves(before: list[Tensor], after: list[Tensor]) -> bool:
        return any(differ_at(x, y, row, quiet) for x, y in zip(before, after))

    for (path, given, gave), (_, given_now, gave_now) in zip(*runs):
        if path and moves(gave, gave_now) and not moves(given, given_now):
            return f", first in {path}"
    return ""


def differ_at(x: Tensor, y: Tensor, row: int, quiet: list[int]) -> bool:
    """Whether the quiet positions of a row differ."""
    if x.shape != y.shape or len(x) <= row or x.shape[1] <= max(quiet):
        return False
    change = (x - y)[row, quiet].abs().max()
    return bool(change > FAINT * torch.nan_to_num(x.std(), 1.0))

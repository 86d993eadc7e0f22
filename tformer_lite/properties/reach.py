"""Reach: nudge each position of an input, and see which outputs move, and
in which module something moves first."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tformer_lite.properties.subject import NotJudgedError, Subject
from tformer_lite.tracing import Trace, trace
from tformer_lite.tracing.record.tensors import tensors

LOOKUPS = {"embedding", "__getitem__", "index_select"}
LOUDNESS = 2.0  # how large a push is, as a multiple of the vectors' size
FAINT = 1e-5  # of the outputs' size: what moves less has not moved
Nudged = tuple[AbstractContextManager, tuple[Tensor, ...]]
Call = tuple[str, nn.Module, list[Tensor], list[Tensor]]


def reach(subject: Subject, which: int) -> Tensor:
    """How far each output row moves for each input position: (B, T, S).

    `which` is 0 for the source, -1 for the target.
    """
    which %= len(subject.inputs)

    def moves() -> Tensor:
        columns = []
        for s in range(subject.inputs[which].shape[1]):
            context, inputs = nudge(subject.inputs, which, [s])
            with context:
                after = subject.run(*inputs)
            if isinstance(context, Nudge) and not context.lookups:
                says = "The ids are never looked up in an embedding."
                raise NotJudgedError(says)
            columns.append(distance(subject, after))
        return torch.stack(columns, -1)

    return subject.once(("reach", which), moves)


def distance(subject: Subject, after: Tensor) -> Tensor:
    """How far each output row is from where it was, as a share of the
    outputs' size: (B, T). What is `FAINT` counts as 0."""
    before = undisturbed(subject)
    moves = (after - before).abs().flatten(2).amax(-1)
    moves = (moves / before.std()).nan_to_num(torch.inf)
    return moves.where(moves > FAINT, 0)


def undisturbed(subject: Subject) -> Tensor:
    """Give the model's outputs, (B, T, ...); NotJudgedError unless they are
    numbers, a row for each position."""
    outputs, shape = subject.once(("run",), subject.run), subject.target.shape
    if outputs.shape[:2] != shape[:2]:
        raise NotJudgedError(
            f"The output {tuple(outputs.shape)} has no row for each position "
            f"of the input {tuple(shape)}."
        )
    if not outputs.isfinite().all():
        raise NotJudgedError("The outputs are not finite: see `finite`.")
    return outputs


def nudge(inputs: tuple, which: int, positions: list[int]) -> Nudged:
    """Push positions of an input: a context to run in, and the inputs."""
    given = inputs[which]
    if not given.is_floating_point():
        return Nudge(given, positions), inputs
    pushed = with_noise(given, positions)
    rest = [pushed if i == which else x for i, x in enumerate(inputs)]
    return ExitStack(), tuple(rest)  # a context that does nothing


def nudged_trace(subject: Subject, *which: int) -> Trace:
    """Trace a run with every value kept, and with all positions of some
    inputs pushed."""
    inputs = subject.inputs
    with ExitStack() as stack:
        for i in which:
            places = list(range(inputs[i].shape[1]))
            context, inputs = nudge(inputs, i, places)
            stack.enter_context(context)
        return subject.call(partial(trace, subject.model, keep=True), inputs)


class Nudge(TorchFunctionMode):
    """Add random vectors to some positions of an input (B, S), inside the
    model: where its ids become vectors.

    The ids stay, and with them every mask that is made of them. The vectors
    are random because a norm would take the same shift of all channels out
    again. `lookups` counts the embeddings that were seen.
    """

    def __init__(self, ids: Tensor, positions: list[int]):
        super().__init__()
        self.ids, self.positions, self.lookups = ids, positions, 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        lookup = getattr(function, "__name__", "") in LOOKUPS
        if lookup and result.is_floating_point() and self.are_in(args):
            self.lookups += 1
            result = with_noise(result, self.positions)
        return result

    def are_in(self, args: tuple) -> bool:
        """Whether a lookup is one of the ids that are watched."""
        given = [x for x in args if isinstance(x, Tensor)]
        like = [x for x in given if x.shape == self.ids.shape]
        whole = [x for x in like if not x.is_floating_point()]
        return any(torch.equal(x, self.ids) for x in whole)


def with_noise(x: Tensor, positions: list[int]) -> Tensor:
    """Add random vectors to positions of x: (B, S, C) -> (B, S, C)."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(x.shape, generator=generator).to(x)
    moved = torch.zeros_like(x)
    moved[:, positions] = noise[:, positions] * x.detach().std() * LOUDNESS
    return x + moved


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
    for (path, _, given, gave), (*_, given_now, gave_now) in zip(*runs):
        moves = differ_at(gave, gave_now, row, quiet)
        if path and moves and not differ_at(given, given_now, row, quiet):
            return f", first in {path}"
    return ""


def differ_at(
    before: list[Tensor], after: list[Tensor], row: int, quiet: list[int]
) -> bool:
    """Whether the quiet positions of a row differ in any tensor."""
    return any(
        (x - y)[row, quiet].abs().max() > FAINT * x.std().nan_to_num(1.0)
        for x, y in zip(before, after)
        if x.shape == y.shape and len(x) > row and x.shape[1] > max(quiet)
    )


@contextmanager
def calls(model: Callable) -> Iterator[list[Call]]:
    """Collect what each module is given and gives, innermost first: copies
    of the vectors (B, T, C)."""
    found: list[Call] = []

    def copies(value: Any) -> list[Tensor]:
        vectors = [x for x in tensors(value) if x.is_floating_point()]
        return [x.detach().clone() for x in vectors if x.ndim >= 3]

    def hook(path: str, part: nn.Module, *given: Any) -> None:
        found.append((path, part, copies(given[:-1]), copies(given[-1])))

    with watch(model, hook):
        yield found


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

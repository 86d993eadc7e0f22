"""Reach: nudge each position of an input, and see which outputs move, and
in which module something moves first."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tformer_lite.properties.subject import NotJudgedError, Subject, once
from tformer_lite.tracing.record.detours import unfused
from tformer_lite.tracing.record.shared import following
from tformer_lite.tracing.record.tensors import tensors

LOOKUPS = {"embedding", "__getitem__"}
LOUDNESS = 2.0  # how large a push is, as a multiple of the vectors' size
FAINT = 1e-5  # of the outputs' size: what moves less has not moved
Tensors = Sequence[Tensor]
Places = list[int] | slice
Call = tuple[str, nn.Module, Tensors, Tensors]


@once
def reach(subject: Subject, which: int) -> Tensor:
    """How far each output row moves for each position of an input, 0 for
    the source and `subject.last` for the target: (B, T, S)."""
    columns = []
    for s in range(subject.inputs[which].shape[1]):
        with nudged(subject.inputs, [s], which) as nudge:
            after = subject.run(*nudge.inputs)
        unseen = nudge.ids and not nudge.lookups
        if unseen and not unread(subject, which):
            says = "The ids are never looked up in an embedding."
            raise NotJudgedError(says)
        columns.append(distance(subject, after, FAINT, which))
    return torch.stack(columns, -1)


def unread(subject: Subject, which: int) -> bool:
    """Whether other ids in another order change no output at all."""
    inputs = list(subject.inputs)
    inputs[which] = inputs[which].roll(1, 1).flip(0)
    return subject.run(*inputs).equal(undisturbed(subject))


def distance(
    subject: Subject, after: Tensor, faint: float = FAINT, *pushed: int
) -> Tensor:
    """How far each output row is from where it was, as a share of the
    outputs' size: (B, T). What is `faint` counts as 0, and so does what is
    no number in either. `pushed` says of which inputs vectors were."""
    before = undisturbed(subject, *pushed)
    size = before[before.isfinite()].std()
    moves = (after - before).abs().flatten(2).amax(-1) / size
    moves = moves.nan_to_num(torch.inf)
    nobody = ~subject.real[-1] & ~before.flatten(2).isfinite().all(-1)
    return moves.where((moves > faint) & ~nobody, 0)


def rounding(subject: Subject) -> float:
    """How far outputs may be apart that were summed up in another order, as
    a share of their size."""
    before = undisturbed(subject)[subject.real[-1]]
    model, types = subject.model, [before.dtype]
    if isinstance(model, nn.Module):
        types += [p.dtype for p in model.parameters()]
    last = max(torch.finfo(x).eps for x in types if x.is_floating_point)
    noise = 8 * last * before.abs().max() / before.std()
    return max(10 * FAINT, noise.nan_to_num(0.0).item())


@once
def undisturbed(subject: Subject, *pushed: int) -> Tensor:
    """Give the model's outputs, (B, T, ...), on the path that PyTorch takes
    when vectors of these inputs are pushed; NotJudgedError unless they are
    numbers, a row for each position. Padding may be none."""
    with nudged(subject.inputs, [], *pushed) as nudge:
        outputs, shape = subject.run(*nudge.inputs), subject.inputs[-1].shape
    if outputs.ndim < 3 or outputs.shape[:2] != shape[:2]:
        raise NotJudgedError(
            f"The output {tuple(outputs.shape)} has no row for each position "
            f"of the input {tuple(shape)}."
        )
    if not outputs[subject.real[-1]].isfinite().all():
        raise NotJudgedError("The outputs are not finite: see `finite`.")
    return outputs


@contextmanager
def nudged(
    inputs: Tensors, positions: Places, *which: int
) -> Iterator["Nudge"]:
    """Add random vectors while a model runs. Vectors ask for no mode: under
    one, PyTorch leaves its fast paths, which may give something else."""
    nudge = Nudge(inputs, positions, *which)
    with nudge if nudge.ids else nullcontext():
        yield nudge


class Nudge(TorchFunctionMode):
    """Add random vectors to positions of some inputs: to vectors at once,
    and to ids (B, S) inside the model, where they become vectors.

    The ids stay, and with them every mask that is made of them. The vectors
    are random because a norm would take the same shift of all channels out
    again. `inputs` are for the model to read, and `lookups` counts the
    embeddings of `ids` that were seen.
    """

    def __init__(self, inputs: Tensors, positions: Places, *which: int):
        super().__init__()
        self.positions, self.lookups = positions, 0
        self.ids, self.inputs = [], list(inputs)
        for i in which:
            if inputs[i].is_floating_point():
                self.inputs[i] = with_noise(inputs[i], positions)
            else:
                self.ids.append(inputs[i])

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        lookup = getattr(function, "__name__", "") in LOOKUPS
        if lookup and result.is_floating_point() and self.are_in(args):
            self.lookups += 1
            result = with_noise(result, self.positions)
        return result

    def are_in(self, args: tuple) -> bool:
        """Whether a lookup is one of ids that are watched."""
        given = [x for x in args if isinstance(x, Tensor)]
        whole = [x for x in given if not x.is_floating_point()]
        pairs = ((x, ids) for x in whole for ids in self.ids)
        return any(x.shape == ids.shape and x.equal(ids) for x, ids in pairs)


def with_noise(x: Tensor, positions: Places) -> Tensor:
    """Add random vectors to positions of x: (B, S, C) -> (B, S, C)."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(x.shape, generator=generator).to(x)[:, positions]
    moved = x.clone()
    moved[:, positions] += noise * x.detach().std() * LOUDNESS
    return moved


def culprit(subject: Subject, which: int, b: int, s: int, quiet: list) -> str:
    """Name the first module that moves at positions that should be `quiet`
    when position `s` of an input does, though what it was given did not."""
    runs = []
    for positions in ([], [s]):
        with nudged(subject.inputs, positions, which) as nudge:
            runs.append(calls(subject, *nudge.inputs))
    for (path, _, given, gave), (*_, given_now, gave_now) in zip(*runs):
        moves = differ_at(gave, gave_now, b, quiet)
        if path and moves and not differ_at(given, given_now, b, quiet):
            return f", first in {path}"
    return ""


def differ_at(before: Tensors, after: Tensors, b: int, quiet: list) -> bool:
    """Whether the quiet positions of a row differ in any tensor."""
    return any(
        (x - y)[b, quiet].abs().max() > FAINT * x.std().nan_to_num(1.0)
        for x, y in zip(before, after)
        if x.shape == y.shape and x.ndim > 2
        if len(x) > b and x.shape[1] > max(quiet)
    )


def calls(subject: Subject, *inputs: Tensor) -> list[Call]:
    """List what each module of a run is given and gives, innermost first:
    copies of the vectors, (B, T, C) or flat."""
    found: list[Call] = []

    def copies(value: Any) -> list[Tensor]:
        vectors = [x for x in tensors(value) if x.is_floating_point()]
        whole = (x for x in vectors if not x.is_nested and x.ndim > 1)
        return [x.detach().clone() for x in whole]

    def hook(path: str, part: nn.Module, *given: Any) -> None:
        found.append((path, part, copies(given[:-1]), copies(given[-1])))

    with watch(subject.model, hook):
        subject.run(*inputs)
    return found


@contextmanager
def watch(model: Callable, hook: Callable) -> Iterator[None]:
    """Call `hook(path, module, args, kwargs, result)` after each module of
    this thread; what it gives, unless None, becomes the result."""
    with unfused(), following(Watch(model, hook)):
        yield


class Watch:
    """Be there when modules of a model run; nothing is hooked to them."""

    def __init__(self, model: Callable, hook: Callable):
        parts = getattr(model, "named_modules", dict)
        self.paths = {id(part): path for path, part in parts()}
        self.hook = hook

    def run(
        self, call: Callable, part: nn.Module, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a module, and then the hook."""
        result, path = call(part, *args, **kwargs), self.paths.get(id(part))
        if path is None:
            return result
        other = self.hook(path, part, args, kwargs, result)
        return result if other is None else other

"""Perturbation: random vectors are added to positions of an input, and it is
seen which outputs move, how far, and in which module first."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from shapewatch.properties.outputs import FailedError
from shapewatch.properties.subject import (
    NO_POSITIONS,
    NotJudgedError,
    Subject,
    once,
    with_model,
)
from shapewatch.properties.versions import in_double
from shapewatch.tracing.record.models import fast_path_off
from shapewatch.tracing.record.shared import following
from shapewatch.tracing.record.tensors import tensors

LOOKUPS = {"embedding", "__getitem__"}
FUSED = nn.MultiheadAttention, nn.TransformerEncoderLayer  # have fast paths
NOISE_SIZE = 2.0  # how large a push is, as a multiple of the vectors' size
Tensors = Sequence[Tensor]
Places = list[int] | slice


@contextmanager
def with_noise_added(
    inputs: Tensors, positions: Places, *which: int
) -> Iterator["AddNoise"]:
    """Add random vectors while a model runs. Vectors ask for no mode: under
    one, PyTorch leaves its fast paths, which may give something else."""
    nudge = AddNoise(inputs, positions, *which)
    with nudge if nudge.ids else nullcontext():
        yield nudge


class AddNoise(TorchFunctionMode):
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
            if inputs[i].ndim < 2:
                raise NotJudgedError(NO_POSITIONS)
            if inputs[i].is_floating_point():
                self.inputs[i] = self.pushed(inputs[i])
            else:
                self.ids.append(inputs[i])

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        lookup = getattr(function, "__name__", "") in LOOKUPS
        if lookup and result.is_floating_point() and self.are_in(args):
            self.lookups += 1
            result = self.pushed(result)
        return result

    def pushed(self, x: Tensor) -> Tensor:
        """Add the random vectors to x: (B, S, C) -> (B, S, C)."""
        return with_noise(x, self.positions)

    def are_in(self, args: tuple) -> bool:
        """Whether a lookup is one of ids that are watched."""
        given = [x for x in args if isinstance(x, Tensor)]
        numbers = [x for x in given if not x.is_floating_point()]
        pairs = ((x, ids) for x in numbers for ids in self.ids)
        return any(x.shape == ids.shape and x.equal(ids) for x, ids in pairs)


def with_noise(x: Tensor, positions: Places) -> Tensor:
    """Add random vectors to positions of x: (B, S, C) -> (B, S, C)."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(x.shape, generator=generator).to(x)[:, positions]
    moved = x.clone()
    moved[:, positions] += noise * x.detach().std() * NOISE_SIZE
    return moved


HALF = 1e-4  # steps above this are those of 16 bits and fewer
NOT_FINITE = "The outputs are not finite: see `finite`."
FAINT = 1e-5  # of the outputs' size: what moves less has not moved


def distance(
    subject: Subject, after: Tensor, faint: float = FAINT, *pushed: int
) -> Tensor:
    """How far each output row is from where it was, as a share of the
    outputs' size: (B, T). What is `faint` counts as 0, in half precision what
    its steps may come to, and so does what is no number in either. `pushed`
    says of which inputs vectors were."""
    before = baseline_output(subject, *pushed)
    far = (after - before).abs().flatten(2).amax(-1)
    moves = (far / output_spread(subject, *pushed)).nan_to_num(torch.inf)
    nobody = ~subject.real[-1] & ~before.flatten(2).isfinite().all(-1)
    step = coarsest(subject, *pushed)
    least = max(faint, 8 * step if step > HALF else 0)
    return moves.where((far != 0) & ~nobody & (moves > least), 0)


@once
def output_spread(subject: Subject, *pushed: int) -> Tensor:
    """How far the outputs' numbers are from each other."""
    before = raw_output(subject, *pushed)
    return before[before.isfinite()].std()


@once
def rounding_tolerance(subject: Subject) -> float:
    """How far outputs may round apart, as a share of their size."""
    before, real = raw_output(subject), subject.real[-1]
    before = before[real] if before.shape[:2] == real.shape else before
    before = before[before.isfinite()]
    noise = 8 * coarsest(subject) * before.abs().max() / before.std()
    return max(10 * FAINT, noise.nan_to_num(0.0).item())


@once
def coarsest(subject: Subject, *pushed: int) -> float:
    """How far the numbers next to 1 are from it, where a model is coarsest."""
    model, types = subject.model, [raw_output(subject, *pushed).dtype]
    if isinstance(model, nn.Module):
        types += [p.dtype for p in model.parameters()]
    floats = (torch.finfo(x).eps for x in types if x.is_floating_point)
    return max(floats, default=0.0)


@once
def raw_output(subject: Subject, *pushed: int) -> Tensor:
    """Run as it is, on the path of pushed vectors: whatever it gives."""
    if pushed and isinstance(subject.model, nn.Module):
        parts = subject.model.modules()
        if not any(isinstance(part, FUSED) for part in parts):
            return raw_output(subject)
    with with_noise_added(subject.inputs, [], *pushed) as nudge:
        return subject.run(*nudge.inputs)


def gives_one_row(subject: Subject) -> bool:
    """Whether a model gives one output for a whole sequence."""
    raw_output(subject)
    return subject.pools


def judged_by_position(subject: Subject) -> None:
    """Raise NotJudgedError for a model that gives one output for all, or
    reads nothing that has positions."""
    if subject.real and gives_one_row(subject):
        raise NotJudgedError(
            "There is one output for a whole sequence, not one for each "
            "position."
        )


@once
def baseline_output(subject: Subject, *pushed: int) -> Tensor:
    """Give the model's outputs, (B, T, ...), on the path that PyTorch takes
    when vectors of these inputs are pushed; NotJudgedError unless they are
    numbers, a row for each position. Padding may be none."""
    outputs, shape = raw_output(subject, *pushed), subject.inputs[-1].shape
    if outputs.ndim < 3 or outputs.shape[:2] != shape[:2]:
        raise NotJudgedError(
            f"The output {tuple(outputs.shape)} has no row for each position "
            f"of the input {tuple(shape)}."
        )
    if not outputs[subject.real[-1]].isfinite().all():
        raise NotJudgedError(NOT_FINITE)
    return outputs


@once
def most_exact(subject: Subject) -> Subject:
    """Ask the same in double precision, if it runs so."""
    with suppress(NotJudgedError, FailedError):
        double = in_double(subject)
        baseline_output(double)
        return double
    return subject


def first(wrong: Tensor) -> list[int]:
    """Give the first place at which something is True."""
    return wrong.nonzero()[0].tolist()


def another_batch(subject: Subject, which: int, rows: Tensor) -> Subject:
    """Ask the same of other rows of one input, and the first of all else."""
    given = [*with_rows(subject, lambda x: torch.cat([x[:1]] * len(rows)))]
    given[subject.places[which]] = rows
    return with_model(subject, subject.model, tuple(given))


def with_rows(subject: Subject, change: Callable[[Tensor], Tensor]) -> tuple:
    """Change all that is given and has a row for each; the rest stays."""
    count, words = len(subject.inputs[-1]), {*map(id, subject.inputs)}

    def changed(x: Tensor) -> Tensor:
        square = x.shape[:2] == (count, count) and id(x) not in words
        return change(x) if x.shape[:1] == (count,) and not square else x

    return tree_map_only(Tensor, changed, subject.given)


ModuleCall = tuple[str, nn.Module, Tensors, Tensors]


@once
def reach(subject: Subject, which: int, faint: float = FAINT) -> Tensor:
    """How far each output row moves for each position of an input, 0 for
    the source and `subject.last` for the target: (B, T, S); NaN for the
    positions that were left out. They are pushed one after the other."""
    x = subject.inputs[which]
    matrix = torch.full((*subject.inputs[-1].shape[:2], x.shape[1]), torch.nan)
    for s in sampled_positions(subject, which):
        after = pushed_output(subject, which, [s])
        matrix[:, :, s] = distance(subject, after, faint, which)
    return matrix


def pushed_output(subject: Subject, which: int, places: Places) -> Tensor:
    """Give the outputs with positions of an input pushed, (B, T, ...);
    NotJudgedError when ids are never seen to become vectors."""
    with with_noise_added(subject.inputs, places, which) as nudge:
        outputs = subject.run(*nudge.inputs)
    if nudge.ids and not nudge.lookups and not ignores_ids(subject, which):
        raise NotJudgedError("The ids are never looked up in an embedding.")
    return outputs


def ignores_ids(subject: Subject, which: int) -> bool:
    """Whether other ids in another order change no output at all."""
    inputs = list(subject.inputs)
    inputs[which] = inputs[which].roll(1, 1).flip(0)
    return subject.run(*inputs).equal(baseline_output(subject))


def depends_on(subject: Subject, which: int, places: Places) -> Tensor:
    """Which outputs move when positions of an input are pushed at once."""
    after = pushed_output(subject, which, places)
    return distance(subject, after, FAINT, which) > 0


@once
def sampled_positions(subject: Subject, which: int) -> list[int]:
    """Which positions of an input are pushed: at most `subject.positions`,
    spread evenly, and as many with padding, and with unknown words."""
    length, count = subject.inputs[which].shape[1], subject.positions
    some = {*evenly_spaced(range(length), count)}
    for marked in (~subject.real[which], subject.unknown[which]):
        some |= {*evenly_spaced(marked.any(0).nonzero()[:, 0].tolist(), count)}
    return sorted(some)


def evenly_spaced(places: Sequence[int], count: int) -> list[int]:
    """Choose so many places, the first and the last among them."""
    if len(places) <= count:
        return [*places]
    step = (len(places) - 1) / (count - 1)
    return [places[round(i * step)] for i in range(count)]


def sampled_text(subject: Subject, which: int) -> str:
    """Say how many positions were asked for, unless all were."""
    count = len(sampled_positions(subject, which))
    every = subject.inputs[which].shape[1]
    return "" if count == every else f" ({count} of {every} positions tested.)"


def first_cause(
    subject: Subject, which: int, b: int, s: int, quiet: list
) -> str:
    """Name the first module that moves at `quiet` positions; or ""."""
    runs = []
    for positions in ([], [s]):
        with with_noise_added(subject.inputs, positions, which) as nudge:
            runs.append(module_calls(subject, *nudge.inputs))
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


def module_calls(
    subject: Subject, *inputs: Tensor, of: Callable[[Any], bool] = callable
) -> list[ModuleCall]:
    """List what each module of a run, or some `of` them, is given and gives,
    innermost first: copies of the vectors, (B, T, C) or flat."""
    calls: list[ModuleCall] = []

    def copies(value: Any) -> list[Tensor]:
        vectors = [x for x in tensors(value) if x.is_floating_point()]
        matrices = (x for x in vectors if not x.is_nested and x.ndim > 1)
        return [x.detach().clone() for x in matrices]

    def hook(path: str, part: nn.Module, *given: Any) -> None:
        if of(part):
            both = copies(given[:-1]), copies(given[-1])
            calls.append((path, part, *both))

    with watch_modules(subject.model, hook):
        subject.run(*inputs)
    return calls


@contextmanager
def watch_modules(model: Callable, hook: Callable) -> Iterator[None]:
    """Call `hook(path, module, args, kwargs, result)` after each module of
    this thread; what it gives, unless None, becomes the result."""
    with fast_path_off(), following(ModuleWatch(model, hook)):
        yield


class ModuleWatch:
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

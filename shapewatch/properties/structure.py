"""Structure: norms, residual connections, and activations between matrices."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity
from torch.utils._pytree import tree_map_only

from shapewatch.properties.attention import flow_of
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.perturbation import (
    ModuleCall,
    Places,
    are_close,
    module_calls,
    watch_modules,
    with_noise_added,
)
from shapewatch.properties.subject import NotJudgedError, Subject, once
from shapewatch.tracing.questions.attention import (
    FUSED_CALL,
    MOVES,
    PRODUCTS,
    SCALES,
    SUMS,
    Flow,
)
from shapewatch.tracing.record.tensors import tensors

LINEAR = PRODUCTS | {"linear", "addmm"}
PASSES = MOVES | SCALES | SUMS | {"to", "float", "type_as", "dropout"}


class Matrix(NamedTuple):
    """A matrix that a step multiplies by: which it is, its module, the
    channels before and after, and which tensor of its is multiplied."""

    at: int
    path: str
    before: int
    after: int
    data: int


@check
def activations(subject: Subject) -> Verdict:
    """See whether an activation stands between two matrices, where there are
    more channels than before and after.

    Vaswani et al. (2017), equation 2. Where there are fewer, as in LoRA, two
    matrices are meant as one of low rank.
    """
    flow = flow_of(subject)
    found = {i: x for i in range(len(flow.steps)) if (x := matrix(flow, i))}
    if not found:
        raise NotJudgedError("Nothing is multiplied by a matrix.")
    sizes = torch.tensor([[x.before, x.after] for x in found.values()])
    for one, other in in_a_row(flow, found):
        if one.after > max(one.before, other.after):
            says = (
                f"In {' and '.join(dict.fromkeys((one.path, other.path)))}, "
                "two matrices follow each other: "
                f"{one.before} channels become {one.after}, and then "
                f"{other.after}, with nothing between that is not linear. "
                "They are as good as one: is an activation missing?"
            )
            return False, says, sizes
    if path := collapsed_linears(flow, found):
        says = (
            f"In {path}, two linear maps are multiplied, and neither has an "
            "activation: a gate has one, as silu(gate) * up; without, it is "
            "the bilinear layer of Shazeer (2020)."
        )
        return False, says, sizes, UNUSUAL
    says = "Where layers widen, an activation follows, or a product."
    return True, says, sizes


def matrix(flow: Flow, i: int) -> Matrix | None:
    """Find the matrix of a step; None where no weights are multiplied."""
    step, every = flow.steps[i], flow.steps[i].reads
    if flow.names[i] not in LINEAR or not step.makes:
        return None
    large = {n: x.shape for n, x in enumerate(every) if len(x.shape) > 1}
    own = [n for n, x in large.items() if len(x) == 2 and is_given(flow, i, n)]
    data = [n for n in large if n not in own]
    if len(own) != 1 or len(data) != 1:
        return None
    before, after = large[data[0]][-1], step.makes[0].shape[-1]
    if sorted(large[own[0]]) != sorted((before, after)):
        return None
    return Matrix(i, module_of_step(flow, i), before, after, data[0])


def is_given(flow: Flow, i: int, n: int) -> bool:
    """Whether no step has made what a step reads, but for moving it."""
    j = flow.sources[i][n]
    while j is not None and flow.names[j] in MOVES:
        j = flow.sources[j][0]
    return j is None


def in_a_row(
    flow: Flow, found: dict[int, Matrix]
) -> Iterator[tuple[Matrix, Matrix]]:
    """Find pairs of matrices with nothing between that is not linear."""
    for i, one in found.items():
        for j in makers(flow, flow.sources[i][one.data], found):
            if found[j].after == one.before and is_only_multiplied(
                flow, j, found
            ):
                yield found[j], one


def is_only_multiplied(flow: Flow, j: int, found: dict[int, Matrix]) -> bool:
    """Whether matrices alone read what a step made, by moves, scales and
    sums: a residual stream is read by norms and by others, too."""
    readers = [i for i, made in enumerate(flow.sources) if j in made]
    return all(
        i in found
        or (flow.names[i] in PASSES and is_only_multiplied(flow, i, found))
        for i in readers
    )


def collapsed_linears(flow: Flow, found: dict[int, Matrix]) -> str:
    """Name the module that multiplies two linear maps of one thing; or ""."""
    for one in found.values():
        j = flow.sources[one.at][one.data]
        while j is not None and flow.names[j] in MOVES | {"dropout"}:
            j = flow.sources[j][0]
        if j is None or flow.names[j] not in SCALES:
            continue
        read = [
            {flow.sources[x][found[x].data] for x in makers(flow, made, found)}
            for made in flow.sources[j]
        ]
        if len(read) == 2 and read[0] == read[1] != set():
            return module_of_step(flow, j)
    return ""


def makers(flow: Flow, j: int | None, found: dict[int, Matrix]) -> list[int]:
    """List the matrices that made something by moves, scales and sums."""
    if j is None or j in found:
        return [] if j is None else [j]
    made = [x for x in flow.sources[j] if x is not None]
    if len(made) != 1 and flow.names[j] not in SUMS:
        return []
    if flow.names[j] not in PASSES:
        return []
    parts = [makers(flow, x, found) for x in made]
    return [i for part in parts for i in part] if all(parts) else []


SUM_NAMES = {"add", "radd", "iadd"}
MATRICES = LINEAR | {FUSED_CALL, "conv1d", "conv2d", "addbmm", "bilinear"}
Sets = list[set[int]]
Sums = dict[int, tuple[int, int]]  # of two results: their steps, by its own
SAME = {"contiguous", "clone", "to", "float", "type_as", "dropout"}


class ResidualSum(NamedTuple):
    """A residual sum: its step, what was there before, and what a branch
    made of that."""

    at: int
    skip: int
    branch: int


def wrong_sum(subject: Subject) -> tuple[str, str] | None:
    """Say what a sum leaves out or adds twice, and of which level that is."""
    flow = flow_of(subject)
    found = sums(flow)
    every = step_origins(flow.sources)
    around = residuals(flow, found, every)
    if (at := double_addition(flow, found)) is not None:
        itself = len({*found[at]}) < 2
        says = (
            f"In {module_of_step(flow, at)}, a sum has the same term twice, "
            f"such as {'x + x' if itself else 'x + f(x) + x'}: is that meant?"
            " A residual connection adds what went into a sublayer, once."
        )
        return says, BROKEN if itself and around else UNUSUAL
    if stale := stale_sum(flow, every, around):
        return stale
    if path := attention_without_residual(flow, every, around):
        says = (
            f"What {path} mixes is added to nothing that was there before it, "
            "as other results are. Is a residual connection missing?"
        )
        return says, UNUSUAL
    return None


def sums(flow: Flow) -> Sums:
    """Find the sums of two results, each (..., T, C)."""
    found: Sums = {}
    for i, made in enumerate(flow.sources):
        if flow.names[i] in SUM_NAMES and len(made) == 2:
            one, other = made
            shapes = {x.shape for x in flow.steps[i].reads}
            whole = len(shapes) == 1 and len(shapes.pop()) > 1
            if one is not None and other is not None and whole:
                found[i] = one, other
    return found


def double_addition(flow: Flow, found: Sums) -> int | None:
    """Find a sum of sums that has a term twice, of its own module."""

    def terms(j: int, path: str) -> Counter[int]:
        """Count the terms of a sum, as far as its module adds them."""
        while flow.names[j] in SAME and flow.sources[j][0] is not None:
            j = flow.sources[j][0] or 0
        count = Counter([j])
        if j in found and flow.steps[j].visit.path == path:
            for part in found[j]:
                count += terms(part, path)
        return count

    every = ((at, terms(at, flow.steps[at].visit.path)) for at in found)
    return next((at for at, n in every if max(n.values()) > 1), None)


def residuals(flow: Flow, found: Sums, every: Sets) -> list[ResidualSum]:
    """Find the sums of what was there and of what a branch made of it."""
    direct = direct_origins(flow)
    scored = {i for one in flow.attentions() for i, _ in one.way}
    return [
        ResidualSum(at, skip, branch)
        for at, parts in found.items()
        if at not in scored
        for skip, branch in (parts, parts[::-1])
        if skip in every[branch] and skip not in direct[branch]
    ]


def stale_sum(
    flow: Flow, every: Sets, around: list[ResidualSum]
) -> tuple[str, str] | None:
    """Say where a residual connection starts too early: in a few of many
    blocks that is meant, as Zamba2 has attention beside its stream."""
    found = [*stale_sums(flow, every, around)]
    for at, later in found:
        says = (
            f"In {module_of_step(flow, later)}, a residual connection starts "
            f"too early: what {module_of_step(flow, at)} has added is read by "
            "the next sublayer, and left out of the sum. Add to the newest "
            "sum."
        )
        return says, UNUSUAL if 3 * len(found) < len(around) else BROKEN
    return None


def stale_sums(
    flow: Flow, every: Sets, around: list[ResidualSum]
) -> Iterator[tuple[int, int]]:
    """Find sums whose result a later branch reads, and no later sum has as a
    term; and the sum that starts from what was there before, instead."""
    direct = direct_origins(flow)
    for at, own, _ in around:
        later = [
            one
            for one in around
            if at in every[one.branch] and at not in direct[one.branch]
        ]
        kept = any(at in direct[one.skip] for one in later)
        stale = [one.at for one in later if one.skip in direct[own]]
        if stale and not kept:
            yield at, stale[0]


def attention_without_residual(
    flow: Flow, every: Sets, around: list[ResidualSum]
) -> str:
    """Name an attention that is added to nothing, as others are; or ""."""
    mixed = [one.mixed for one in flow.attentions()]
    right = [
        any(x in every[one.branch] and one.skip in every[x] for one in around)
        for x in mixed
    ]
    odd = [x for x, fine in zip(mixed, right) if not fine]
    most = odd and 2 * len(odd) >= len(mixed)  # one may pool, at the end
    return module_of_step(flow, odd[0]) if most and around else ""


def direct_origins(flow: Flow) -> Sets:
    """List for each step those that had a part in it without a matrix."""
    pairs = zip(flow.names, flow.sources)
    return step_origins([[] if x in MATRICES else made for x, made in pairs])


def step_origins(sources: list[list[int | None]]) -> Sets:
    """List for each step all those that had a part in it, and itself."""
    found: Sets = []
    for i, made in enumerate(sources):
        found.append({i}.union(*(found[j] for j in made if j is not None)))
    return found


def module_of_step(flow: Flow, at: int) -> str:
    """Name the module of a step."""
    return flow.steps[at].visit.path or "the model"


NORM_HINT = (
    "Look at the axis of its mean and variance, and at the square root."
)
# Their statistics are meant to run over other axes than the last.
OTHERS = nn.modules.batchnorm._NormBase, nn.GroupNorm
NO_NORM = re.compile("No(n|ne)?(?=[A-Z_])")  # as NoNorm, which scales only
EPSILONS = "eps", "epsilon", "variance_epsilon", "layer_norm_eps"
OFFSET_NAMES, GAINS = ("bias", "beta"), ("weight", "gamma")


class Gains(NamedTuple):
    """What a norm does after normalising an axis: gains and offsets (C)."""

    gain: Tensor
    offset: Tensor
    axis: int

    def undone(self, x: Tensor) -> Tensor:
        """Take them out of what a norm gave; a gain of 0 gave nothing."""
        x = (x.movedim(self.axis, -1) - self.offset) / self.gain
        return x.where(self.gain != 0, 0).movedim(-1, self.axis)


@check
def norm_statistics(subject: Subject) -> Verdict:
    """See whether each norm gives each position a mean square of 1, apart
    from its own gains and offsets.

    Ba et al. (2016), equation 4. Norms are known by the name of their class.
    Rows that hardly vary are not judged: what keeps a norm from dividing by 0
    counts there. A norm that falls short is asked alone, with rows of all
    sizes: there may be gains that are not called weight.
    """
    seen, unusual = [], ""
    for path, part, given, gave in norm_calls(subject):
        if not gave or gave[0].ndim < 3:
            continue
        x, gains = without_gains(part, gave[0]), norms_alone(subject)[path]
        seen.append(squares := x.square().mean(-1))
        least = 0.9 * (1 - 1 / x.shape[-1])  # an unbiased norm's is below 1
        wrong = ~((squares > least) & (squares < 1.1))
        if given and given[0].shape == x.shape:
            wrong &= ~are_faint(part, given[0])
        if not wrong.any() or (gains and is_own(part, gains)):
            continue
        b, t, *_ = wrong.nonzero()[0].tolist()
        size = squares[wrong][0].item()
        says = f"After {path}, position {t} of sequence {b} has a mean square "
        says += f"of {size:.2f}, not 1."
        if not gains:
            return False, f"{says} {NORM_HINT}", squares
        unusual = unusual or f"{says} It has gains that are no parameter."
    if not seen:
        raise NotJudgedError("No module's class has the name of a norm.")
    if unusual:
        return False, unusual, seen[0], UNUSUAL
    says = "After each norm, each position has a mean square of 1."
    return True, says, seen[0]


def are_faint(norm: nn.Module, x: Tensor) -> Tensor:
    """Tell which rows vary so little that a norm's epsilon counts: (...)."""
    named = (getattr(norm, name, None) for name in EPSILONS)
    known = next((x for x in named if isinstance(x, float)), 1e-5)
    return x.float().var(-1, unbiased=False) < 20 * known


@once
def norm_calls(subject: Subject) -> list[ModuleCall]:
    """List what each norm of a run is given and gives."""
    return module_calls(subject, of=is_norm)


def is_norm(part: nn.Module) -> bool:
    """Whether a module is a norm of positions, and does not only hold one."""
    kind = type(part)
    if isinstance(part, OTHERS) or NO_NORM.match(kind.__name__):
        return False
    if kind.__module__.startswith("torch.nn.utils"):
        return False
    inner = [type(p).__name__.lower() for p in part.modules()]
    return "norm" in inner[0] and not any("norm" in x for x in inner[1:])


def without_gains(norm: nn.Module, x: Tensor) -> Tensor:
    """Take a norm's own offsets and gains, by name, out of what it gave."""
    for name in OFFSET_NAMES + GAINS:
        own = getattr(norm, name, None)
        if isinstance(own, Tensor) and has_channels(own, x):
            x = x - own.detach() if name in OFFSET_NAMES else x / own.detach()
    return x


def has_channels(own: Tensor, x: Tensor) -> bool:
    """Whether a gain or an offset has all channels of x (..., C)."""
    pairs = [*zip(own.shape[::-1], x.shape[::-1])]
    same = all(n in (1, m) for n, m in pairs) and own.ndim <= x.ndim
    return same and own.shape[-1:] == x.shape[-1:]


@once
def norms_alone(subject: Subject) -> dict[str, Gains | None]:
    """Ask each norm alone for its gains, by path; None if it has none."""
    found = norm_calls(subject)

    def ask() -> dict[str, Gains | None]:
        return {
            path: gains_of(part, given[0]) if given else None
            for path, part, given, _ in found
        }

    return subject.call(ask, ())


def gains_of(norm: nn.Module, like: Tensor) -> Gains | None:
    """Find the gains of a norm: of rows with mean 0 and mean square 1, and of
    several sizes, it makes gain * row + offset. None where it does not."""
    own = {len(p) for p in norm.parameters(recurse=False) if p.ndim == 1}
    last = like.ndim == 3 and like.shape[-1] in own
    axis = 1 if like.shape[1] in own and not last else -1
    rows = standard_rows(like.movedim(axis, -1))
    sizes = torch.arange(rows[..., 0].numel()).view(rows[..., :1].shape) % 3
    loud = (rows * 10.0**sizes).movedim(-1, axis).to(like)
    try:
        made = [norm(x) for x in (loud, -loud)]
        one, other = (x.movedim(axis, -1) for x in made)
        odd, even = (one - other) / 2, (one + other) / 2
        whole = (x.flatten(0, -2) for x in (odd / rows, even))
        gain, offset = (x.median(0).values for x in whole)
        right = torch.allclose(gain * rows + offset, one, 0.02, 0.02)
    except Exception:  # it is of another kind
        return None
    return Gains(gain, offset, axis) if right else None


def standard_rows(like: Tensor) -> Tensor:
    """Draw rows with mean 0 and mean square 1: (..., C)."""
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(like.shape, generator=draw).to(like)
    rows = rows - rows.mean(-1, keepdim=True)
    return rows / rows.square().mean(-1, keepdim=True).sqrt()


def is_own(norm: nn.Module, gains: Gains) -> bool:
    """Whether gains are the norm's own parameters, or those and 1, or 1."""
    own = [p.detach() for p in norm.parameters(recurse=False)]
    names = [1.0 + 0 * gains.gain, *own, *(1 + p for p in own)]
    return any(
        torch.allclose(gains.gain, x.expand_as(gains.gain), 0.05, 1e-3)
        for x in names
        if x.ndim == 0 or x.shape in ((1,), gains.gain.shape)
    )


RESIDUAL_HINT = (
    "input on. Look at the residual connections: each adds a sublayer's "
    "result to what went in, once."
)
BlockRun = tuple[str, Tensor, Tensor, Tensor]
ALL: Places = slice(None)


@check
def identity(subject: Subject) -> Verdict:
    """See whether a block whose sublayers give 0 hands its input on; or, in
    post-norm, the norm of its input.

    He et al. (2016), section 3.1; Xiong et al. (2020), figure 1. Blocks are
    the elements of a list of modules that have norms and linear layers. One
    that mixes positions without a layer, as FNet does, is not judged.
    """
    runs = list(silent_runs(subject))
    right = [run for run in runs if hands_on(*run[1:])]
    others = [run for run in runs if not hands_on(*run[1:])]
    wrong = [run for run in others if not added_outside(subject, run)]
    if any(run[3].any() and not parallel(run[3], run[1]) for run in wrong):
        raise NotJudgedError("A block does something without its layers.")
    if any(has_projection(subject, run) for run in wrong):
        raise NotJudgedError("A block adds a projection of its input.")
    if wrong:
        path, x, _, after = wrong[0]
        says = f"With all its layers giving 0, {path} does not hand its "
        says += RESIDUAL_HINT
        if len(wrong) == 1 and right and parallel(after, x):
            return False, f"{says} The others do.", (after - x)[0], UNUSUAL
        return False, says, (after - x)[0]
    if found := wrong_sum(subject):
        return False, found[0], torch.zeros(1, 1), found[1]
    if not runs:
        raise NotJudgedError("There is no list of blocks with norms inside.")
    _, x, _, after = (right + others)[0]
    says = "With its layers giving 0, a block hands on its input, or its norm."
    if not right:
        says = "Where a block gives 0, its input goes on outside of it."
    return True, says, (after - x)[0]


def hands_on(x: Tensor, first: Tensor, after: Tensor) -> bool:
    """Whether a block gave its input, also made smaller, as a sum of two is
    to keep its variance; or the norm of it, in post-norm."""
    read = any(are_close(y, x) for y in (first, first.transpose(0, 1)))
    share = ((after * x).sum() / x.square().sum()).item()
    kept = 0.49 < share < 1 and are_close(after, share * x)
    return are_close(after, x) or kept or (read and is_normed(after, x))


def added_outside(subject: Subject, run: BlockRun) -> bool:
    """Whether a block without its layers gives 0, and, were it to give 0,
    outputs would still depend on what it reads: by another way."""
    path, *_, after = run
    if after.any():
        return False
    block = dict(blocks(subject.model))[path]
    for which in reversed(range(subject.last + 1)):
        both = (without_block(subject, block, y, which) for y in ([], ALL))
        given, gave = zip(*both)
        if not given[0].equal(given[1]):
            return not gave[0].equal(gave[1])
    return False


def without_block(
    subject: Subject, block: nn.Module, places: Places, which: int
) -> tuple[Tensor, Tensor]:
    """Run with a block giving 0, and places of an input pushed: what the
    block read first, and the outputs."""
    given: list[Tensor] = []

    def silence(_: str, part: nn.Module, *call: Any) -> Any:
        if part is not block:
            return None
        given.extend(y for y in tensors(call[:-1]) if y.is_floating_point())
        return tree_map_only(Tensor, torch.zeros_like, call[-1])

    pushed = with_noise_added(subject.inputs, places, which)
    with pushed as nudge, watch_modules(subject.model, silence):
        gave = subject.run(*nudge.inputs)
    return given[0], gave


def has_projection(subject: Subject, run: BlockRun) -> bool:
    """Whether a block without its layers gives 0, and with one of them not
    the same at all positions: that is on the way of the residual."""
    path, *_, after = run
    layers = filter(is_layer, dict(blocks(subject.model))[path].modules())
    return not after.any() and any(
        at == path and gave and not are_close(gave[0], gave[0].roll(1, 1))
        for layer in layers
        for at, _, _, gave in silent_calls(subject, [], layer)
    )


def silent_runs(subject: Subject) -> Iterator[BlockRun]:
    """Run with all layers in blocks giving 0, and norms without gains: each
    block's path, its input, what its first layer read, and its output."""
    inside = {path: [*x.modules()][1:] for path, x in blocks(subject.model)}
    firsts: dict[str, Tensor] = {}  # of the blocks that still run
    for path, part, given, gave in silent_calls(subject, []):
        if path in firsts:
            first, made = firsts.pop(path), gave[:1]
            alike = [x for x in given for y in made if x.shape == y.shape]
            if alike:  # it read vectors of this shape, and not ids alone
                near = (x for x in alike if are_close(x, made[0]))
                yield path, next(near, alike[0]), first, made[0]
        if is_layer(part):
            around = (p for p, inner in inside.items() if part in inner)
            firsts = {p: x for p in around for x in given[:1]} | firsts


def silent_calls(
    subject: Subject, positions: list[int], kept: nn.Module | None = None
) -> list[ModuleCall]:
    """List the calls of a run in which layers in blocks give 0, but one."""
    model, alone = subject.model, norms_alone(subject)
    parts = {part for _, x in blocks(model) for part in [*x.modules()][1:]}

    def silence(path: str, part: nn.Module, *given: Any) -> Any:
        if part in parts and is_layer(part) and part is not kept:
            return tree_map_only(Tensor, torch.zeros_like, given[-1])
        whole = isinstance(given[-1], Tensor)
        if part not in parts or not is_norm(part) or not whole:
            return given[-1]
        gains = alone.get(path)
        made = gains and gains.undone(given[-1])
        return without_gains(part, given[-1]) if made is None else made

    pushed = with_noise_added(subject.inputs, positions, subject.last)
    with pushed as nudge, watch_modules(model, silence):
        return module_calls(subject, *nudge.inputs)


def blocks(model: Callable) -> Iterator[tuple[str, nn.Module]]:
    """Find blocks and their paths: modules in a list, with norms and several
    layers inside that have no norm of their own."""
    if not isinstance(model, nn.Module):
        says = "Blocks are looked for in modules, not in functions."
        raise NotJudgedError(says)
    for path, parts in model.named_modules():
        listed = isinstance(parts, (nn.ModuleList, nn.Sequential))
        if listed and not path.rpartition(".")[2].isdigit():
            for name, part in parts.named_children():
                inner = list(part.modules())
                layers = [x for x in inner if is_layer(x)]
                deep = (x for layer in layers for x in layer.modules())
                whole = len(layers) > 1 and not any(map(is_norm, deep))
                if whole and any(map(is_norm, inner)):
                    yield f"{path}.{name}".strip("."), part


def is_layer(part: nn.Module) -> bool:
    """Whether a module has a matrix of its own."""
    return any(p.ndim > 1 for p in part.parameters(recurse=False))


def is_normed(after: Tensor, x: Tensor) -> bool:
    """Whether one tensor is the other, normalised. Rows of 0 are padding."""
    rows = x.square().sum(-1) > 0
    if not rows.any():
        return True
    after, x = after[rows].double(), x[rows].double()
    size = after.square().mean(-1)
    return parallel(after, x) and bool(size.min() > 0.5 and size.max() < 1.1)


def parallel(after: Tensor, x: Tensor) -> bool:
    """Whether rows have the directions of others, centred or not."""
    after, x = after.double(), x.double()
    centred = x - x.mean(-1, keepdim=True)
    alike = [cosine_similarity(after, y, -1).min() for y in (centred, x)]
    return bool(max(alike) > 0.999)

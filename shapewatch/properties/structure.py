"""Structure: blocks that hand on what they got."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity
from torch.utils._pytree import tree_map_only

from shapewatch.properties.agreement import close
from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.norms import (
    is_norm,
    norms_alone,
    without_gains,
)
from shapewatch.properties.reach import (
    Call,
    calls,
    differ_at,
    nudged,
    watch,
)
from shapewatch.properties.residuals import wrong_sum
from shapewatch.properties.subject import NotJudgedError, Subject

ADDS = (
    "input on. Look at the residual connections: each adds a sublayer's "
    "result to what went in, once."
)
Run = tuple[str, Tensor, Tensor, Tensor]


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
    wrong = broken_blocks(runs)
    if any(mixes_silently(subject, run[0]) for run in wrong):
        says = "Without its layers, a block still hears other positions."
        raise NotJudgedError(says)
    if any(has_silent_layers(subject, run[0]) for run in wrong):
        raise NotJudgedError("A block reads weights of layers it never calls.")
    if wrong:
        path, x, _, after = wrong[0]
        says = f"With all its layers giving 0, {path} does not hand its {ADDS}"
        if len(wrong) == 1 and right and parallel(after, x):
            return False, f"{says} The others do.", (after - x)[0], UNUSUAL
        return False, says, (after - x)[0]
    if found := wrong_sum(subject):
        return False, found[0], torch.zeros(1, 1), found[1]
    if not right:
        raise NotJudgedError("There is no list of blocks with norms inside.")
    _, x, _, after = right[0]
    says = "With its layers giving 0, a block hands on its input, or its norm."
    return True, says, (after - x)[0]


def broken_blocks(runs: list[Run]) -> list[Run]:
    """Find the runs of blocks that do not hand on, where nothing outside of
    them does."""
    return [
        run
        for i, run in enumerate(runs)
        if not hands_on(*run[1:])
        and not added_outside(run, runs[:i], runs[i + 1 :])
    ]


def hands_on(x: Tensor, first: Tensor, after: Tensor) -> bool:
    """Whether a block gave its input; or the norm of it, in post-norm. Its
    layers may read it with the positions first: (T, B, C)."""
    read = any(close(y, x) for y in (first, first.transpose(0, 1)))
    return close(after, x) or (read and is_normed(after, x))


def added_outside(run: Run, before: list[Run], later: list[Run]) -> bool:
    """Whether a block gives 0, and what it read is read by a later one, or
    by one before it that gives 0, too: the sum is made outside."""
    _, x, _, after = run
    silent = [one for one in before if not one[3].any()]
    others = any(close(x, other[1]) for other in silent + later)
    return not after.any() and others


def mixes_silently(subject: Subject, path: str) -> bool:
    """Whether a block hears other positions though its layers give 0."""
    last = [subject.inputs[-1].shape[1] - 1]
    runs = [silent_calls(subject, positions) for positions in ([], last)]
    pairs = [pair for pair in zip(*runs) if pair[0][0] == path]
    return any(
        differ_at(one[3], other[3], 0, [*range(last[0])])
        and not differ_at(one[2], other[2], 0, [*range(last[0])])
        for one, other in pairs
    )


def has_silent_layers(subject: Subject, path: str) -> bool:
    """Whether some layers of a block are never called, nor is one around
    them: they give nothing, and their weights may be read all the same."""
    parts = [*dict(blocks(subject.model))[path].modules()]
    ran = {part for _, part, *_ in calls(subject, *subject.inputs)}
    heard = {x for y in parts if is_layer(y) and y in ran for x in y.modules()}
    return any(is_layer(x) and x not in heard for x in parts)


def silent_runs(subject: Subject) -> Iterator[Run]:
    """Run with all layers in blocks giving 0, and norms without gains: each
    block's path, its input, what its first layer read, and its output."""
    inside = {path: [*x.modules()][1:] for path, x in blocks(subject.model)}
    firsts: dict[str, Tensor] = {}  # of the blocks that still run
    for path, part, given, gave in silent_calls(subject, []):
        if path in firsts:
            first, alike = firsts.pop(path), like(given, gave)
            if alike:  # it read vectors of this shape, and not ids alone
                near = (x for x in alike if close(x, gave[0]))
                yield path, next(near, alike[0]), first, gave[0]
        if is_layer(part):
            around = (p for p, inner in inside.items() if part in inner)
            firsts = {p: x for p in around for x in given[:1]} | firsts


def like(given: Sequence[Tensor], gave: Sequence[Tensor]) -> list[Tensor]:
    """Which of the given tensors have the shape of the first result."""
    return [x for x in given for y in gave[:1] if x.shape == y.shape]


def silent_calls(subject: Subject, positions: list[int]) -> list[Call]:
    """List the calls of a run in which all layers in blocks give 0, and
    norms have no gains; with some positions pushed."""
    model, alone = subject.model, norms_alone(subject)
    parts = {part for _, x in blocks(model) for part in [*x.modules()][1:]}

    def silence(path: str, part: nn.Module, *given: Any) -> Any:
        if part in parts and is_layer(part):
            return tree_map_only(Tensor, torch.zeros_like, given[-1])
        whole = isinstance(given[-1], Tensor)
        if part not in parts or not is_norm(part) or not whole:
            return given[-1]
        gains = alone.get(path)
        made = gains and gains.undone(given[-1])
        return without_gains(part, given[-1]) if made is None else made

    pushed = nudged(subject.inputs, positions, subject.last)
    with pushed as nudge, watch(model, silence):
        return calls(subject, *nudge.inputs)


def blocks(model: Callable) -> Iterator[tuple[str, nn.Module]]:
    """Find the blocks and their paths: modules in a list, with norms and
    several layers inside. A list in a list is no list of blocks, and a layer
    with a norm of its own cannot be silenced."""
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

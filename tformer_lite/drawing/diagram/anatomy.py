"""Model anatomy: the parts of a traced encoder-decoder, and their shapes."""

from collections.abc import Iterator
from typing import NamedTuple

from tformer_lite.tracing.axes.names import Axis
from tformer_lite.tracing.questions.attention import (
    Flow,
    Found,
    attentions,
)
from tformer_lite.tracing.record.recorder import Step
from tformer_lite.tracing.traced import Trace

Shape = tuple[Axis, ...]
# What a side reads, its first module, and the sublayers of its blocks.
SIDES = {
    "encoder": (
        "source ids",
        "src_embedding",
        ("self_attention", "feed_forward"),
    ),
    "decoder": (
        "target ids",
        "tgt_embedding",
        ("self_attention", "cross_attention", "feed_forward"),
    ),
}
LABELS = {
    "self_attention": "self-attention",
    "cross_attention": "cross-attention",
    "feed_forward": "feed-forward",
}


class Part(NamedTuple):
    """A part of the model: its name, what its box says, its module's path,
    which of a block's sublayers it belongs to (None outside a block), its
    last step, and the shape that it gives."""

    name: str
    label: str
    path: str
    sublayer: int | None
    step: int
    shape: Shape


def column(seen: Trace, side: str) -> list[Part]:
    """Find the parts of one side, in the order in which they ran.

    A part that makes no torch call, such as no positions, is left out.
    """
    found = [input_ids(seen, side)]
    last = ends(seen)
    for name, label, path, sublayer in modules(side):
        step = last.get(f"{path}:" if name == "residual" else path)
        if step is not None:
            shape = seen.axes[step][1][0]
            found.append(Part(name, label, path, sublayer, step, shape))
    return sorted(found, key=lambda part: part.step)


def input_ids(seen: Trace, side: str) -> Part:
    """Find the ids that a side reads: what its first step reads."""
    label, path, _ = SIDES[side]
    for i, step in enumerate(seen.steps):
        if within(step.visit.path, path):
            return Part("ids", label, path, None, -1, seen.axes[i][0][0])
    raise ValueError(
        f"the trace has no {path!r}: trace an EncoderDecoder, such as "
        "EncoderDecoder(tiny_translator)."
    )


def modules(side: str) -> Iterator[tuple[str, str, str, int | None]]:
    """List a side's parts: name, label, module's path, and sublayer."""
    _, first, sublayers = SIDES[side]
    yield "embedding", "embedding", f"{first}.tokens", None
    yield "positions", "positions", f"{first}.positions", None
    block = f"{side}.blocks.0"
    for i, name in enumerate(sublayers):
        yield "norm", "norm", f"{block}.residuals.{i}.norm", i
        yield name, LABELS[name], f"{block}.{name}", i
        yield "residual", "residual sum", f"{block}.residuals.{i}", i
    yield "norm", "final norm", f"{side}.norm", None
    if side == "decoder":
        yield "head", "head", "head", None


def within(path: str, module: str) -> bool:
    """Whether a path is a module's, or that of one in it."""
    return f"{path}.".startswith(f"{module}.")


def ends(seen: Trace) -> dict[str, int]:
    """Find the last step of each module, and under "path:" the last that
    is its own, not that of a module in it."""
    found = {}
    for i, step in enumerate(seen.steps):
        path = step.visit.path
        found[f"{path}:"] = i
        while path:
            found[path] = i
            path = path.rpartition(".")[0]
    return found


def n_blocks(seen: Trace, side: str) -> int:
    """Count the blocks of a side that ran."""
    paths = (step.visit.path.split(".") for step in seen.steps)
    return len({p[2] for p in paths if p[:2] == [side, "blocks"] and p[2:]})


class Inside(NamedTuple):
    """The shapes inside one attention, each None where none was found.

    `projections` are name, what is read and what is made. `heads` are the
    queries, the transposed keys and the values, as they are multiplied.
    """

    projections: list[tuple[str, Shape, Shape]]
    heads: tuple[Shape | None, ...]
    scores: Shape | None = None
    mask: Shape | None = None
    masked: Shape | None = None
    weights: Shape | None = None
    mixed: Shape | None = None
    joined: Shape | None = None
    output: Shape | None = None


def inside(seen: Trace, path: str) -> Inside:
    """Find the shapes inside an attention, by following its data."""
    own = [i for i, s in enumerate(seen.steps) if within(s.visit.path, path)]
    steps, axes = ([each[i] for i in own] for each in (seen.steps, seen.axes))
    one = next(iter(attentions(Flow(steps))), None)
    if one is None:
        return Inside([], (None, None, None))
    linear = [i for i, step in enumerate(steps) if step.name == "linear"]
    first, mixed = one.product, one.mixed
    if one.fused:
        heads, shapes = axes[first][0][:3], {}
    else:
        heads = [*axes[first][0][:2], axes[mixed][0][-1]]
        shapes = middle(one, axes)
    if linear and linear[-1] > mixed:
        shapes["joined"] = axes[linear[-1]][0][0]
    shapes |= {"mixed": axes[mixed][1][0], "output": axes[-1][1][0]}
    made = [projection(steps[i], axes[i]) for i in linear if i < first]
    return Inside(made, tuple(heads), **shapes)


def middle(one: Found, axes: list) -> dict[str, Shape]:
    """Find the shapes from an attention's scores to its weights."""
    names = "scores", "masked", "weights"
    found = {name: axes[getattr(one, name)][1][0] for name in names}
    if one.masked != one.scores:
        found["mask"] = axes[one.masked][0][-1]
    return found


def projection(step: Step, axes: tuple) -> tuple[str, Shape, Shape]:
    """Name a projection by its module: what it reads, and what it makes."""
    return step.visit.path.split(".")[-1], axes[0][0], axes[1][0]

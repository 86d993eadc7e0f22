"""Model anatomy: the parts of a traced encoder-decoder, a tree, with the
shapes that they give; and in words, where in it a part is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tformer_lite.tracing import Trace
from tformer_lite.tracing.axes.names import Shape, shape_text
from tformer_lite.tracing.calls import Axes
from tformer_lite.tracing.questions.attention import Flow, Found

Named = dict[str, Shape]  # shapes, by the names of what has them
# What a side reads, its first module, and its kinds of attention.
SIDES = {
    "encoder": ("source ids", "src_embedding", ["self"]),
    "decoder": ("target ids", "tgt_embedding", ["self", "cross"]),
}
# What the parts of an attention give, after its heads: name, label, lanes.
INSIDE = {
    "scores": ("scores", "scores", 2),
    "masked": ("mask", "mask", 1),
    "weights": ("softmax", "softmax", 2),
    "mixed": ("", "weights @ v", 3),
    "joined": ("", "join heads", 3),
    "output": ("output", "output", 3),
}


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the model: its name, what its box says, how many lanes that
    takes, what it gives, which of a block's sublayers it belongs to (None
    outside a block), and what it reads that is not in the row above it.

    A side, and an attention that can be drawn larger, has `parts` inside
    it, in the order in which they ran; a side also has blocks.
    """

    name: str
    label: str
    lanes: int
    gives: Named
    sublayer: int | None = None
    reads: Shape = ()
    parts: Sequence["Part"] = ()
    n_blocks: int = 0


Parts = Sequence[Part]


def path_to(name: str, parts: Parts) -> Parts:
    """Find the first part of a name, after all that it is in."""
    for part in parts:
        if part.name == name:
            return [part]
        if path := path_to(name, part.parts):
            return [part, *path]
    return []


def steps_in(seen: Trace, module: str) -> list[int]:
    """Number the steps of a module, and of those in it."""
    paths = [f"{step.visit.path}." for step in seen.steps]
    return [i for i, p in enumerate(paths) if p.startswith(f"{module}.")]


def side_of(seen: Trace, name: str) -> Part:
    """Find the parts of one side, but for those that make no torch call, such
    as no positions. Raises ValueError for a model without sides."""
    label, first, _ = SIDES[name]
    if not (ran := steps_in(seen, first)):
        raise ValueError(
            f"the trace has no {first!r}: trace an EncoderDecoder, such as "
            "EncoderDecoder(tiny_translator)."
        )
    found = {-1: Part("ids", label, 1, {"": seen.axes[ran[0]][0][0]})}
    for part, label, path, sublayer in modules(name):
        ran = steps_in(seen, path)
        if part == "residual":  # the sum's own step, not its norm's
            ran = [i for i in ran if seen.steps[i].visit.path == path]
        if ran:
            gives = {"": seen.axes[ran[-1]][1][0]}
            parts = inside(seen, path) if part.endswith("attention") else ()
            found[ran[-1]] = Part(part, label, 1, gives, sublayer, parts=parts)
    parts = [found[i] for i in sorted(found)]
    inner = steps_in(seen, f"{name}.blocks")
    n = len({seen.steps[i].visit.path.split(".")[2] for i in inner})
    label, gives = f"{name} × {n}", parts[-1].gives
    return Part(name, label, 1, gives, parts=parts, n_blocks=n)


def modules(side: str) -> Iterator[tuple[str, str, str, int | None]]:
    """List a side's parts: name, label, module's path, and sublayer."""
    _, first, kinds = SIDES[side]
    yield "embedding", "embedding", f"{first}.tokens", None
    yield "positions", "positions", f"{first}.positions", None
    block, names = f"{side}.blocks.0", [f"{kind}_attention" for kind in kinds]
    for i, name in enumerate([*names, "feed_forward"]):
        yield "norm", "norm", f"{block}.residuals.{i}.norm", i
        yield name, name.replace("_", "-"), f"{block}.{name}", i
        yield "residual", "residual sum", f"{block}.residuals.{i}", i
    yield "norm", "final norm", f"{side}.norm", None
    if side == "decoder":
        yield "head", "head", "head", None


def inside(seen: Trace, path: str) -> list[Part]:
    """Find the parts of an attention by following its data: first, without
    a box, what the projections read. A shape that no step has is ()."""
    own = steps_in(seen, path)
    steps, axes = [seen.steps[i] for i in own], [seen.axes[i] for i in own]
    found = next(iter(Flow(steps).attentions()), None)
    product, mixed = (found.product, found.mixed) if found else (0, 0)
    linear = [i for i, step in enumerate(steps) if step.name == "linear"]
    names = {i: steps[i].visit.path.split(".")[-1] for i in linear}
    before = {names[i]: axes[i] for i in linear if i < product}
    shapes = shapes_inside(found, axes) if found else {}
    if linear and linear[-1] > mixed:
        shapes["joined"] = axes[linear[-1]][0][0]
    shapes["output"] = axes[-1][1][0]
    parts = projections(path, before)
    heads = "q k v" if "k" in shapes else "q kᵀ v"
    rows = {heads: ("heads", "split into heads", 3)} | INSIDE
    for given, row in rows.items():
        gives = {name: shapes.get(name, ()) for name in given.split()}
        reads = shapes.get("mask", ()) if given == "masked" else ()
        parts.append(Part(*row, gives, reads=reads))
    return parts


def shapes_inside(found: Found, axes: list[Axes]) -> Named:
    """Name the shapes of what an attention multiplies and makes; where one
    call does it all, of what that reads and gives."""
    (q, k, *_), (reads, makes) = axes[found.product][0], axes[found.mixed]
    if found.fused:
        return {"q": q, "k": k, "v": reads[2], "mixed": makes[0]}
    shapes = {"q": q, "kᵀ": k, "v": reads[-1], "mixed": makes[0]}
    for name in ("scores", "masked", "weights"):
        shapes[name] = axes[getattr(found, name)][1][0]
    if found.masked != found.scores:
        shapes["mask"] = axes[found.masked][0][-1]
    return shapes


def projections(path: str, calls: dict[str, Axes]) -> list[Part]:
    """Find what projections read and give, that of queries first."""
    other = "memory" if path.endswith("cross_attention") else "x"
    ins: Named = {}
    outs: Named = {}
    for name in sorted(calls, key=lambda name: name[0] != "q"):
        (x, *_), (outs[name], *_) = calls[name]
        ins["x" if name[0] == "q" else other] = x
    made = Part("projections", "projections", 3, outs)
    return [Part("", "", 0, ins), made]


def enlarged(path: Parts) -> dict[str, Part]:
    """Give the attention on a path that is drawn again, by its title."""
    titles = {f"inside the {path[0].name}'s {p.label}": p for p in path[1:2]}
    return {title: part for title, part in titles.items() if part.parts}


def description(sides: Parts, path: Parts) -> str:
    """Say where we are; then list the parts with their shapes."""
    part, shapes = path[-1], ", ".join(named_shapes(path[-1]))
    name = part.label if path[1:] else f"the {part.name}"
    blocks = [f"{s.n_blocks} block{'s' * (s.n_blocks > 1)}" for s in sides]
    words = [
        f"Where we are: {name}, {position(path)}.",
        *([f"It gives {shapes}."] if shapes else []),
        f"The map shows an encoder of {blocks[0]} and a decoder of "
        f"{blocks[1]}, and the shape of all that goes from part to part.",
    ]
    return "\n\n".join([" ".join(words), "\n".join(listing(sides, path))])


def position(path: Parts) -> str:
    """Say where the last part of a path is."""
    side, *found = path
    if not found:
        return "a stack of blocks that are built alike"
    if found[1:]:
        return next(iter(enlarged(path)))
    if found[0].sublayer is not None:
        return f"in the {side.name}'s block"
    after = found[0].name in ("norm", "head")
    return f"{'after' if after else 'before'} the {side.name}'s blocks"


def listing(sides: Parts, path: Parts) -> Iterator[str]:
    """List the parts in order, the last of the path with an arrow, and each
    shape on a line of its own. Parts without a name are only drawn."""
    wholes = {side.label: side for side in sides} | enlarged(path)
    for title, whole in wholes.items():
        yield f"{'→' if path == [whole] else ' '} {title}"
        for part in filter(lambda part: part.name, whole.parts):
            first, *others = named_shapes(part) or [""]
            mark = "→" if part is path[-1] else " "
            yield f"{mark}   {part.label:16} {first}".rstrip()
            yield from (" " * 21 + each for each in others)


def named_shapes(part: Part) -> list[str]:
    """Write what a part gives, named and measured: q (B, S) = (2, 8)."""
    return [
        f"{name} {shape_text(shape)} = {tuple(a.size for a in shape)}".strip()
        for name, shape in part.gives.items()
        if shape
    ]

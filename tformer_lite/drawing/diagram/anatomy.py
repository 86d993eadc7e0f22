"""Model anatomy: the parts of a traced encoder-decoder, a tree of boxes, and
the shapes that they give."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tformer_lite.tracing import Trace
from tformer_lite.tracing.axes.names import Shape
from tformer_lite.tracing.questions.attention import Flow, Found, attentions

Named = list[tuple[str, Shape]]  # shapes, with the names of what has them
# What a side reads, its first module, and its kinds of attention.
SIDES = {
    "encoder": ("source ids", "src_embedding", ["self"]),
    "decoder": ("target ids", "tgt_embedding", ["self", "cross"]),
}
# Inside an attention, after its heads: name, label, lanes, what it gives.
INSIDE: list[tuple[str, str, int, list[str]]] = [
    ("scores", "scores", 2, ["scores"]),
    ("mask", "mask", 1, ["masked"]),
    ("softmax", "softmax", 2, ["weights"]),
    ("", "weights @ v", 3, ["mixed"]),
    ("", "join heads", 3, ["joined"]),
    ("output", "output", 3, ["output"]),
]


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the model: its name, what its box says, what it gives, which
    of a block's sublayers it belongs to (None outside a block), and, when it
    is an attention that is drawn larger, the parts inside it: each takes so
    many of three `lanes`, and `reads` what is not in the row above it."""

    name: str
    label: str
    gives: Named
    sublayer: int | None = None
    lanes: int = 0
    reads: Shape = ()
    parts: Sequence["Part"] = ()


@dataclass(frozen=True, eq=False)
class Side(Part):
    """The encoder or the decoder: its parts in the order in which they ran,
    and how many blocks it has."""

    n_blocks: int = 0

    @property
    def block(self) -> range:
        """Where in the list the parts of its block are."""
        inner = [i for i, p in enumerate(self.parts) if p.sublayer is not None]
        return range(inner[0], inner[-1] + 1)


def path_to(name: str, parts: Sequence[Part]) -> list[Part]:
    """Find the first part of a name, after all that it is in."""
    for part in parts:
        if part.name == name:
            return [part]
        if path := path_to(name, part.parts):
            return [part, *path]
    return []


def side_of(seen: Trace, name: str) -> Side:
    """Find the parts of one side, and count its blocks.

    A part that makes no torch call, such as no positions, is left out.
    """
    paths = [step.visit.path for step in seen.steps]
    found = {-1: ids_of(seen, name, paths)}
    for part, label, path, sublayer in modules(name):
        ran = [i for i, p in enumerate(paths) if within(p, path)]
        if part == "residual":  # the sum's own step, not its norm's
            ran = [i for i in ran if paths[i] == path]
        if ran:
            gives = [("", seen.axes[ran[-1]][1][0])]
            parts = inside(seen, path) if part.endswith("attention") else ()
            found[ran[-1]] = Part(part, label, gives, sublayer, parts=parts)
    parts = [found[i] for i in sorted(found)]
    blocks = [p for p in paths if p.startswith(f"{name}.blocks.")]
    n_blocks = len({path.split(".")[2] for path in blocks})
    label, gives = f"{name} × {n_blocks}", parts[-1].gives
    return Side(name, label, gives, parts=parts, n_blocks=n_blocks)


def within(path: str, module: str) -> bool:
    """Whether a path is a module's, or that of one in it."""
    return f"{path}.".startswith(f"{module}.")


def ids_of(seen: Trace, side: str, paths: list[str]) -> Part:
    """Find the ids that a side reads: what its first step reads."""
    label, first, _ = SIDES[side]
    for path, (reads, _) in zip(paths, seen.axes):
        if within(path, first):
            return Part("ids", label, [("", reads[0])])
    raise ValueError(
        f"the trace has no {first!r}: trace an EncoderDecoder, such as "
        "EncoderDecoder(tiny_translator)."
    )


def modules(side: str) -> Iterator[tuple[str, str, str, int | None]]:
    """List a side's parts: name, label, module's path, and sublayer."""
    _, first, kinds = SIDES[side]
    attentions = [f"{kind}_attention" for kind in kinds]
    yield "embedding", "embedding", f"{first}.tokens", None
    yield "positions", "positions", f"{first}.positions", None
    block = f"{side}.blocks.0"
    for i, name in enumerate([*attentions, "feed_forward"]):
        yield "norm", "norm", f"{block}.residuals.{i}.norm", i
        yield name, name.replace("_", "-"), f"{block}.{name}", i
        yield "residual", "residual sum", f"{block}.residuals.{i}", i
    yield "norm", "final norm", f"{side}.norm", None
    if side == "decoder":
        yield "head", "head", "head", None


def inside(seen: Trace, path: str) -> list[Part]:
    """Find the parts of an attention, by following its data.

    The first, which has no name, gives what the projections read. A shape
    that the trace does not have is ().
    """
    own = [i for i, s in enumerate(seen.steps) if within(s.visit.path, path)]
    steps, axes = [seen.steps[i] for i in own], [seen.axes[i] for i in own]
    found = next(iter(attentions(Flow(steps))), None)
    product, mixed = (found.product, found.mixed) if found else (0, 0)
    linear = [i for i, step in enumerate(steps) if step.name == "linear"]
    before = [(steps[i], *axes[i]) for i in linear if i < product]
    shapes = shapes_inside(found, axes) if found else {}
    if linear and linear[-1] > mixed:
        shapes["joined"] = axes[linear[-1]][0][0]
    shapes["output"] = axes[-1][1][0]
    heads = ["q", "k" if "k" in shapes else "kᵀ", "v"]
    parts = projections(path, before)
    rows = [("heads", "split into heads", 3, heads), *INSIDE]
    for name, label, lanes, gives in rows:
        named = [(each, shapes.get(each, ())) for each in gives]
        reads = shapes.get("mask", ()) if name == "mask" else ()
        parts.append(Part(name, label, named, lanes=lanes, reads=reads))
    return parts


def shapes_inside(found: Found, axes: list) -> dict[str, Shape]:
    """Name the shapes of what an attention multiplies and makes; where one
    call does it all, of what that reads and gives."""
    (q, k, *_), mixing = axes[found.product][0], axes[found.mixed]
    if found.fused:
        return {"q": q, "k": k, "v": mixing[0][2], "mixed": mixing[1][0]}
    shapes = {"q": q, "kᵀ": k, "v": mixing[0][-1], "mixed": mixing[1][0]}
    for name in ("scores", "masked", "weights"):
        shapes[name] = axes[getattr(found, name)][1][0]
    if found.masked != found.scores:
        shapes["mask"] = axes[found.masked][0][-1]
    return shapes


def projections(path: str, calls: list[tuple]) -> list[Part]:
    """Find what an attention's projections read and make, that of queries
    first."""
    other = "memory" if path.endswith("cross_attention") else "x"
    ins: dict[str, Shape] = {}
    outs: dict[str, Shape] = {}
    named = [(step.visit.path.split(".")[-1], *axes) for step, *axes in calls]
    for name, reads, makes in sorted(named, key=lambda one: one[0][0] != "q"):
        ins.setdefault("x" if name[0] == "q" else other, reads[0])
        outs[name] = makes[0]
    names = "projections", "projections"
    made = Part(*names, list(outs.items()), lanes=3)
    return [Part("", "", list(ins.items())), made]

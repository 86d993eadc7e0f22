"""Model anatomy: the parts of a traced encoder-decoder, and their shapes."""

from collections.abc import Iterator

from tformer_lite.drawing.diagram.inside import inside, within
from tformer_lite.drawing.diagram.parts import Part, Side
from tformer_lite.tracing.traced import Trace

# What a side reads, its first module, and its kinds of attention.
SIDES = {
    "encoder": ("source ids", "src_embedding", ["self"]),
    "decoder": ("target ids", "tgt_embedding", ["self", "cross"]),
}


def side_of(seen: Trace, name: str) -> Side:
    """Find the parts of one side, and count its blocks.

    A part that makes no torch call, such as no positions, is left out.
    """
    paths = [step.visit.path for step in seen.steps]
    found = {-1: ids_of(seen, name, paths)}
    for part, label, path, sublayer in modules(name):
        step = last_step(paths, path, part)
        if step is not None:
            gives = [("", seen.axes[step][1][0])]
            parts = inside(seen, path) if part.endswith("attention") else ()
            found[step] = Part(part, label, gives, sublayer, parts=parts)
    parts = [found[i] for i in sorted(found)]
    blocks = [p for p in paths if p.startswith(f"{name}.blocks.")]
    n_blocks = len({path.split(".")[2] for path in blocks})
    label, gives = f"{name} × {n_blocks}", parts[-1].gives
    return Side(name, label, gives, parts=parts, n_blocks=n_blocks)


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


def last_step(paths: list[str], module: str, part: str) -> int | None:
    """Find the last step in a module; a sum's is its own, not its norm's."""
    found = [
        i
        for i, path in enumerate(paths)
        if path == module or (part != "residual" and within(path, module))
    ]
    return max(found, default=None)

"""Inside an attention: its parts, from projections to output."""

from tformer_lite.drawing.diagram.parts import Named, Part, Shape
from tformer_lite.tracing.questions.attention import Flow, Found, attentions
from tformer_lite.tracing.traced import Trace


def within(path: str, module: str) -> bool:
    """Whether a path is a module's, or that of one in it."""
    return f"{path}.".startswith(f"{module}.")


def inside(seen: Trace, path: str) -> list[Part]:
    """Find the parts of an attention, by following its data.

    The first, which has no name, gives what the projections read. A shape
    that the trace does not have is ().
    """
    own = [i for i, s in enumerate(seen.steps) if within(s.visit.path, path)]
    steps, axes = [seen.steps[i] for i in own], [seen.axes[i] for i in own]
    linear = [i for i, step in enumerate(steps) if step.name == "linear"]
    found = next(iter(attentions(Flow(steps))), None)
    product, mixed = (found.product, found.mixed) if found else (0, 0)
    before = [(steps[i], *axes[i]) for i in linear if i < product]
    joined = axes[linear[-1]][0][0] if linear and linear[-1] > mixed else ()
    return [
        *projections(path, before),
        *multiplied(shapes_inside(found, axes) if found else {}),
        Part("", "join heads", [("joined", joined)], lanes=3),
        Part("output", "output", [("output", axes[-1][1][0])], lanes=3),
    ]


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


def multiplied(shapes: dict[str, Shape]) -> list[Part]:
    """List the parts between the split and the join of the heads."""

    def named(*names: str) -> Named:
        return [(name, shapes.get(name, ())) for name in names]

    heads = named("q", "k" if "k" in shapes else "kᵀ", "v")
    mask = shapes.get("mask", ())
    return [
        Part("heads", "split into heads", heads, lanes=3),
        Part("scores", "scores", named("scores"), lanes=2),
        Part("mask", "mask", named("masked"), lanes=1, reads=mask),
        Part("softmax", "softmax", named("weights"), lanes=2),
        Part("", "weights @ v", named("mixed"), lanes=3),
    ]


def projections(path: str, calls: list[tuple]) -> list[Part]:
    """Find what an attention's projections read and make, that of queries
    first."""
    other = "memory" if path.endswith("cross_attention") else "x"
    ins: dict[str, Shape] = {}
    outs: dict[str, Shape] = {}
    named = [(step.visit.path.split(".")[-1], *axes) for step, *axes in calls]
    for name, reads, makes in sorted(
        named, key=lambda each: each[0][0] != "q"
    ):
        ins.setdefault("x" if name[0] == "q" else other, reads[0])
        outs[name] = makes[0]
    return [
        Part("", "", list(ins.items())),
        Part("projections", "projections", list(outs.items()), lanes=3),
    ]

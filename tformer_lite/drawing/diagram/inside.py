"""Inside an attention: its parts, from projections to output."""

from tformer_lite.drawing.diagram.parts import Named, Part, Shape
from tformer_lite.tracing.questions.attention import PRODUCTS, attentions
from tformer_lite.tracing.record.recorder import Step
from tformer_lite.tracing.traced import Trace

Axes = list[tuple[list[Shape], list[Shape]]]  # what a step reads, and makes


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
    product, scores, masked, weights, mixed = data_path(steps)

    def read(step: int | None, i: int) -> Shape:
        return () if step is None else axes[step][0][i]

    def made(name: str, step: int | None) -> Named:
        return [(name, () if step is None else axes[step][1][0])]

    key = "k" if scores is None else "kᵀ"  # one call for all reads k itself
    value = read(mixed, 2 if mixed == product else 1)
    heads = [("q", read(product, 0)), (key, read(product, 1)), ("v", value)]
    mask = read(None if masked == scores else masked, -1)
    whole = joined(steps, axes, mixed)
    return [
        *projections(path, steps[: product or 0], axes),
        Part("heads", "split into heads", heads, lanes=3),
        Part("scores", "scores", made("scores", scores), lanes=2),
        Part("mask", "mask", made("masked", masked), lanes=1, reads=mask),
        Part("softmax", "softmax", made("weights", weights), lanes=2),
        Part("", "weights @ v", made("mixed", mixed), lanes=3),
        Part("", "join heads", [("joined", whole)], lanes=3),
        Part("output", "output", made("output", -1), lanes=3),
    ]


def projections(path: str, steps: list[Step], axes: Axes) -> list[Part]:
    """Find what an attention's projections read and make, queries first."""
    other = "memory" if path.endswith("cross_attention") else "x"
    named = [
        (step.visit.path.split(".")[-1], *shapes)
        for step, shapes in zip(steps, axes)
        if step.name == "linear"
    ]
    named.sort(key=lambda each: each[0][0] != "q")
    ins: dict[str, Shape] = {}
    for name, reads, _ in named:
        ins.setdefault("x" if name[0] == "q" else other, reads[0])
    outs = [(name, makes[0]) for name, _, makes in named]
    return [
        Part("", "", list(ins.items())),
        Part("projections", "projections", outs, lanes=3),
    ]


def joined(steps: list[Step], axes: Axes, mixed: int | None) -> Shape:
    """Find what the output projection reads: the last after the values were
    mixed."""
    after = range(len(steps) if mixed is None else mixed + 1, len(steps))
    reads = [axes[i][0][0] for i in after if steps[i].name == "linear"]
    return reads[-1] if reads else ()


def data_path(steps: list[Step]) -> tuple[int | None, ...]:
    """Find the steps that multiply queries by keys, make the scores, mask
    them, make the weights, and multiply these by the values."""
    for found in attentions(steps):
        if found.scores is None or found.weights is None:  # one call did all
            return found.opaque, None, None, None, found.opaque
        every = [i for i, step in enumerate(steps) if step.name in PRODUCTS]
        product = max(i for i in every if i <= found.scores)
        mixed = min(i for i in every if i > found.weights)
        return product, found.scores, found.masked, found.weights, mixed
    return (None,) * 5

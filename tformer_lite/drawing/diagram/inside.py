"""Inside an attention: its parts, from projections to output."""

from tformer_lite.drawing.diagram.parts import Named, Part, Shape
from tformer_lite.tracing.questions.attention import PRODUCTS, attentions
from tformer_lite.tracing.record.recorder import Step
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
    product, scores, masked, weights, mixed = data_path(steps)

    def read(step: int | None, i: int) -> Shape:
        return () if step is None else axes[step][0][i]

    def made(name: str, step: int | None) -> Named:
        return [(name, () if step is None else axes[step][1][0])]

    linear = [i for i, step in enumerate(steps) if step.name == "linear"]
    joined = next((i for i in linear[-1:] if i > (mixed or i)), None)
    key = "kᵀ" if scores else "k"  # one call for all reads k itself
    value = read(mixed, 2 if mixed == product else 1)
    heads = [("q", read(product, 0)), (key, read(product, 1)), ("v", value)]
    mask = read(None if masked == scores else masked, -1)
    return [
        *projections(
            path, [(steps[i], *axes[i]) for i in linear if i < (product or 0)]
        ),
        Part("heads", "split into heads", heads, lanes=3),
        Part("scores", "scores", made("scores", scores), lanes=2),
        Part("mask", "mask", made("masked", masked), lanes=1, reads=mask),
        Part("softmax", "softmax", made("weights", weights), lanes=2),
        Part("", "weights @ v", made("mixed", mixed), lanes=3),
        Part("", "join heads", [("joined", read(joined, 0))], lanes=3),
        Part("output", "output", made("output", -1), lanes=3),
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
    return None, None, None, None, None

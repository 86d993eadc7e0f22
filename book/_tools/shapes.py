"""Record the shapes that the book's prose names: book/shapes.json."""

import json
import sys
from pathlib import Path

from shapewatch.tracing import Trace
from shapewatch.tracing.calls import module_shapes, names_of
from shapewatch.tracing.source.expressions import expression
from tformer_lite import running_trace

# What prose may say for a longer name. Plain names are those of
# cross-attention, where query and key positions are not the same.
LAYERS = {
    "": "decoder.blocks.0.cross_attention",
    "encoder ": "encoder.blocks.0.self_attention",
    "decoder ": "decoder.blocks.0.self_attention",
}
INSIDE = "q", "k", "v", "k.mT", "scores", "weights", "heads"
ALIASES = {
    "embedded": "src_embedding.tokens",
    "x": "tgt_embedding",
    "positions": "src_embedding.positions:self.table[:x.shape[1]]",
    "projected": "decoder.blocks.0.cross_attention.query",
    "padding mask": ":memory_mask",
    "causal mask": ":seen[None, None]",
    "decoder mask": ":mask & self.mask(tgt.shape[1], tgt.device)",
    "mean": "encoder.norm:x.mean(-1, keepdim=True)",
    "hidden": "encoder.blocks.0.feed_forward:hidden",
    "memory": "encoder",
    "logits": "head",
} | {
    f"{prefix}{name}": f"{path}:{name}"
    for prefix, path in LAYERS.items()
    for name in INSIDE
}
FILE = Path(__file__).parents[1] / "shapes.json"


def main() -> None:
    """Write the file anew, if what it says is not so any more."""
    text = json.dumps(recorded(running_trace()), separators=(",", ":")) + "\n"
    if not FILE.exists() or FILE.read_text() != text:
        print(f"recording {FILE.name}", flush=True)
        FILE.write_text(text)


def recorded(seen: Trace) -> dict:
    """Give the sizes by letter, shapes by name, and parameters by module."""
    shapes = by_module(seen) | by_line(seen)
    shapes |= {alias: shapes[name] for alias, name in ALIASES.items()}
    counts = {row.module: row.parameters for row in seen.parameters().rows}
    return {"sizes": seen.runs[0].sizes, "shapes": shapes, "counts": counts}


def by_module(seen: Trace) -> dict[str, list]:
    """Name what each module makes by the module's path."""
    made = {path: makes for path, _, makes in module_shapes(seen)}
    return {path: written(axes[0]) for path, axes in made.items() if axes}


def by_line(seen: Trace) -> dict[str, list]:
    """Name what each line makes "path:variable" and "path:expression",
    where all lines of that name make the same shape."""
    found: dict[str, list] = {}
    for step, (_, makes) in zip(seen.steps, seen.axes):
        name, got = names_of(step)
        call = f"{name.rpartition(':')[0]}:{expression(*step.place[0])}"
        for one in dict.fromkeys((name, call, got)):
            found.setdefault(one, []).append(written(makes[0]))
    return {
        name: shapes[0]
        for name, shapes in found.items()
        if name[-1] != ":" and all(shape == shapes[0] for shape in shapes)
    }


def written(axes) -> list[list]:
    """Write axes as pairs of a name and a size."""
    return [[str(axis), axis.size] for axis in axes]


if __name__ == "__main__":
    sys.exit(main())

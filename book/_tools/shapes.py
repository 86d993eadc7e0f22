"""Record what the book's prose names: shapes in book/shapes.json, exercises in
book/exercises.json. The book is built without torch, and these need it."""

import json
from pathlib import Path

from packages import BOOK

from classroom.exercise import KINDS, exercises
from shapewatch.tracing import Trace
from shapewatch.tracing.calls import module_shapes
from shapewatch.tracing.lines import names_of
from shapewatch.tracing.source.expressions import expression
from tformer_lite import running_trace

# What prose may say for a longer name. Plain names are those of
# cross-attention, where queries and keys are of two sequences.
ATTENTIONS = {
    "": "decoder.blocks.0.cross_attention",
    "encoder ": "encoder.blocks.0.self_attention",
    "decoder ": "decoder.blocks.0.self_attention",
}
INSIDE = "q", "k", "v", "k.mT", "scores", "weights", "heads"
ALIASES = {
    "ids": "src_embedding.tokens:ids < 0",
    "embedded": "src_embedding.tokens",
    "x": "tgt_embedding",
    "positions": "src_embedding.positions:self.table[:x.shape[1]]",
    "projected": "decoder.blocks.0.cross_attention.query",
    "padding mask": ":memory_mask",
    "causal mask": ":seen[None, None]",
    "decoder mask": ":mask & self.mask(tgt.shape[1], tgt.device)",
    "hidden": "encoder.blocks.0.feed_forward:hidden",
    "memory": "encoder",
    "logits": "head",
} | {
    f"{prefix}{name}": f"{path}:{name}"
    for prefix, path in ATTENTIONS.items()
    for name in INSIDE
}


def main() -> None:
    """Write the files anew, if what they say is not so any more."""
    shapes = json.dumps(shapes_data(running_trace()), separators=(",", ":"))
    listing = json.dumps(exercise_data(), indent=1, ensure_ascii=False)
    for name, text in ("shapes", shapes), ("exercises", listing):
        file = BOOK / f"{name}.json"
        if not file.exists() or file.read_text("utf8") != f"{text}\n":
            print(f"recording {file.name}", flush=True)
            file.write_text(f"{text}\n", "utf8")


def shapes_data(record: Trace) -> dict:
    """Give the sizes by letter, shapes by name, and parameters by module."""
    shapes = by_module(record) | by_line(record)
    shapes |= {alias: shapes[name] for alias, name in ALIASES.items()}
    counts = {row.module: row.parameters for row in record.parameters().rows}
    return {"sizes": record.sizes[0], "shapes": shapes, "counts": counts}


def by_module(record: Trace) -> dict[str, list]:
    """Name what each module makes by the module's path."""
    outputs = {path: makes for path, _, makes in module_shapes(record._calls)}
    return {
        path: axis_pairs(axes[0]) for path, axes in outputs.items() if axes
    }


def by_line(record: Trace) -> dict[str, list]:
    """Name what each line makes "path:variable" and "path:expression",
    where all lines of that name make the same shape."""
    shapes_of: dict[str, list] = {}
    for step, (_, makes) in zip(record.steps, record.axes):
        name, got = names_of(step)
        call = f"{name.rpartition(':')[0]}:{expression(*step.place[0])}"
        for label in dict.fromkeys((name, call, got)):
            shapes_of.setdefault(label, []).append(axis_pairs(makes[0]))
    return {
        name: shapes[0]
        for name, shapes in shapes_of.items()
        if name[-1] != ":" and all(shape == shapes[0] for shape in shapes)
    }


def axis_pairs(axes) -> list[list]:
    """Write axes as pairs of a name and a size."""
    return [[str(axis), axis.size] for axis in axes]


def exercise_data() -> dict[str, dict]:
    """Say of each exercise what a page shows."""
    return {
        name: {
            "chapter": each.chapter,
            "page": place(each.file),
            "title": each.title,
            "kind": KINDS[each.kind],
            "minutes": each.minutes,
            "level": each.level,
            "assignable": each.assignable,
            "teaches": each.teaches,
        }
        for name, each in exercises().items()
    }


def place(file: str) -> str:
    """Say where a page is in the book: chapters/exercises/07_masks."""
    return Path(file).relative_to(BOOK.parent).with_suffix("").as_posix()


if __name__ == "__main__":
    main()

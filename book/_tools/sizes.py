"""Write for a page what the presets need at any sizes, as formulas: every
shape of a run as the trace has proved it, and formulas for the parameters,
the work and the memory. `make sizes`.

Each formula is found at some sizes and tried at others. What has none, or a
wrong one, stops it.
"""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.resources import files
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import torch
from counting import Model, Needs, bert, build_preset, count_needs
from finding import (
    LAYERS,
    Finder,
    NoFormulaError,
    fold_blocks,
    probes,
    value,
    with_channels,
)
from traced_steps import frozen_part, is_within, steps_of, steps_once

from shapewatch.tracing import trace
from shapewatch.tracing.axes.sizes import Sizes, run_sizes
from tformer_lite.commands.options import AS_IN_SOURCE
from tformer_lite.example.running import running_dims
from tformer_lite.model import config as presets
from tformer_lite.model.config import Config

# In the order in which a reader meets them.
LETTERS = [*"BTSHDFV", "src_vocab_size", "max_len"]
SIZES_FILE = Path(__file__).parents[1] / "_static" / "sizes.json"
PRESET_NAMES = "tiny_translator", "char_lm", "paper_base", "building_blocks"
PRESETS = {
    name: getattr(presets, name) for name in (*PRESET_NAMES, "bert_window")
}


def own_sizes(name: str, config: Config) -> Sizes:
    """Give the sizes of a preset, and of the rows that its source reads: if
    it has none to be found, the running example's."""
    dims = running_dims(config)
    if name == "char_lm":
        dims |= {"B": AS_IN_SOURCE["batch_size"]}
        dims |= {"T": AS_IN_SOURCE["block_size"]}
        del dims["S"]
    if name == "paper_base":
        dims |= dict(zip("BST", (*printed_ids(), printed_ids()[1])))
    if config.src_vocab_size:
        dims["src_vocab_size"] = config.src_vocab_size
    if config.positions == "learned":
        dims["max_len"] = config.max_len
    sizes = run_sizes(dims)
    found = {n: sizes[n] for n in LETTERS if n in sizes}
    return found | {LAYERS: config.n_layers}


def printed_ids() -> tuple[int, int]:
    """Read which ids source 003 prints first: (B, T)."""
    texts = files("tformer_lite.example").joinpath("texts")
    lines = texts.joinpath("source_003.txt").read_text("utf8").splitlines()
    b, t = lines[1].split(" | ")[2].split()
    return int(b), int(t)


def limits(config: Config) -> dict[str, Sizes]:
    """Say how small and how large a size may be: a vocabulary has an id for
    padding, and BERT has as many positions as it has."""
    least = {"V": config.pad + 1}
    if config.src_vocab_size:
        least["src_vocab_size"] = config.pad + 1
    if config.src_embedding != "bert":
        return {"least": least}
    most = bert().config.max_position_embeddings
    return {"least": least, "most": {"S": most}}


def preset_data(name: str) -> dict[str, Any]:
    """Say all that a page needs to know of a preset."""
    config = PRESETS[name]
    own = own_sizes(name, config)
    runs = probes([size for size in own if size != LAYERS])
    models = [build_preset(config, **run, n_layers=3) for run in runs]
    frozen = frozen_part(models[0][0])
    counts = [
        without(frozen, count_needs(model, *ids)) for model, ids in models
    ]
    dims = {**with_channels(runs[0]), "C": "H*D"}
    dims.pop("max_len", None)  # no shape of a step has it
    seen = trace(build=partial(build_preset, config), dims=dims)
    found = {"sizes": own, **limits(config)}
    found["steps"] = steps_once(steps_of(seen, frozen))
    return found | formulas(Finder(runs), counts)


def without(frozen: str, found: Needs) -> Needs:
    """Make one line of the parameters that never learn."""
    learned, held = list[tuple[str, tuple[int, ...]]](), 0
    for name, shape in found.parameters:
        if frozen and is_within(name, frozen):
            held += prod(shape)
        else:
            learned.append((name, shape))
    line = [(frozen, (held,))] if held else []
    return found._replace(parameters=[*line, *learned])


def formulas(finder: Finder, counts: list[Needs]) -> dict[str, Any]:
    """Write what was counted with the letters, equal blocks once."""
    found = {}
    for what in "parameters", "activations", "cache":
        runs = [getattr(count, what) for count in counts]
        found[what] = fold_blocks(what, finder.lines(what, runs))
    return found


def total(lines: Iterable[Sequence[str]], sizes: Sizes) -> int:
    """Add up what some lines give at some sizes."""
    return sum(prod(value(text, sizes) for text in line[1:]) for line in lines)


def prove(name: str, found: dict[str, Any]) -> None:
    """Try formulas at sizes that they were not found at; NoFormulaError if
    one is wrong there."""
    for sizes in unseen(name):
        count = count_needs(
            *model_and_inputs(build_preset(PRESETS[name], **sizes))
        )
        held = sum(prod(shape) for _, shape in count.parameters)
        steps = [
            (x["path"], x["flops"], x["times"])
            for x in found["steps"]
            if "flops" in x
        ]
        real = {"parameters": held, "steps": count.flops}
        for what in "activations", "cache":
            real[what] = sum(n for _, n in getattr(count, what))
        lines = {**found, "steps": steps}
        said = {what: total(lines[what], sizes) for what in real}
        if said != real:
            raise NoFormulaError(f"{name} at {sizes}: {said}, not {real}.")


def model_and_inputs(model: Model) -> tuple[Any, ...]:
    """Lay a model and its inputs side by side."""
    return model[0], *model[1]


def unseen(name: str) -> list[Sizes]:
    """Choose sizes to try formulas at: the smallest, and some others."""
    random, own = Random(1), own_sizes(name, PRESETS[name])
    least = limits(PRESETS[name])["least"]
    ones = {size: least.get(size, 1) for size in own}
    some = [{size: random.randint(2, 19) for size in own} for _ in range(3)]
    ones |= {"D": 2}
    return [
        s | ({"max_len": 40} if "max_len" in own else {}) | {LAYERS: i}
        for i, s in enumerate([ones, *some], start=1)
    ]


def all_presets(names: Iterable[str] = tuple(PRESETS)) -> dict[str, Any]:
    """Describe presets, with all formulas tried."""
    found = {name: preset_data(name) for name in names}
    for name in found:
        prove(name, found[name])
    return found


def text_of(found: dict[str, Any]) -> str:
    """Write it as JSON."""
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    with torch.no_grad():
        SIZES_FILE.write_text(text_of(all_presets()), "utf8")

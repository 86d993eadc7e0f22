"""Write for a page what the presets need at any sizes, as formulas: every
shape of a run as the trace has proved it, and formulas for the parameters,
the work and the memory, which the tracer's own search finds. What has none
stops it. `make sizes`; tests/explorer/test_resizing.py tries the formulas at
other sizes.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch
from model_cards.costs import Formula, Line, PathShapes, parameter_shapes, work
from packages import BOOK
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from shapewatch.tracing import Axis, Trace, flops, trace
from shapewatch.tracing.axes.names import ShapeNamer, Shapes
from shapewatch.tracing.axes.sizes import Dims, Sizes, run_sizes
from shapewatch.tracing.record.visits import Visits
from tformer_lite import DecoderOnly, EncoderDecoder, cached
from tformer_lite.example.running import running_dims
from tformer_lite.model import config as presets
from tformer_lite.model.config import Config
from tformer_lite.training.options import AS_IN_SOURCE

# In the order in which a reader meets them.
LETTERS = [*"BTSHDFV", "src_vocab_size", "max_len"]
SIZES_FILE = BOOK / "_static" / "sizes.json"
PRESET_NAMES = "tiny_translator", "char_lm", "paper_base", "building_blocks"
PRESETS = {name: getattr(presets, name) for name in PRESET_NAMES}
BLOCK = re.compile(r"(encoder|decoder)\.blocks\.(\d+)(?=\.|$)")
BLOCKS = 3  # of the models that are measured
CHANNELS: Dims = {"C": "H*D"}
Lines = list[tuple[str, Any]]  # where something is, and what it is there
Model = tuple[nn.Module, tuple[Tensor, ...]]
Bytes = list[tuple[str, int]]  # the module that keeps them, and how many


class NoFormulaError(ValueError):
    """What was measured cannot be written with the letters."""


def probes(names: Sequence[str]) -> list[Sizes]:
    """Choose sizes to measure at: all names small, all other, and each other
    alone; the longest sentence is always long enough."""
    random = Random(0)
    more = {"max_len": 60}
    first = {n: random.randint(2, 6) + more.get(n, 0) for n in names}
    runs = [
        {n: random.randint(7, 15) + more.get(n, 0) for n in names}
        for _ in range(4)
    ]
    return [first, *runs, *(first | {n: first[n] + 1} for n in names)]


class Finder:
    """Finds formulas in what was measured at some sizes."""

    def __init__(self, runs: list[Sizes]):
        columns = [run_sizes({**run, **CHANNELS}) for run in runs]
        self.dims = ShapeNamer(columns, {**runs[0], **CHANNELS})

    def text(self, what: str, numbers: Sequence[Any]) -> str:
        """Write numbers, or the axes of shapes, with the letters: one a run;
        NoFormulaError if they cannot be."""
        shapes = [n if isinstance(n, tuple) else (n,) for n in numbers]
        return " ".join(proved_names(what, self.dims.shape(*shapes)))

    def lines(self, what: str, runs: Sequence[Lines]) -> Lines:
        """Write what each run has at the same places."""
        if len({tuple(path for path, _ in run) for run in runs}) > 1:
            raise NoFormulaError(f"{what}: other places at other sizes.")
        return [
            (path, self.text(f"{what} of {path}", [run[i][1] for run in runs]))
            for i, (path, _) in enumerate(runs[0])
        ]


def fold_blocks(lines: Lines) -> list[tuple[str, str, int]]:
    """List lines of equal blocks once, with how many there are of each: the
    first may have more than the others, or less, as what all of them read is
    kept once."""
    folded = ((BLOCK.sub(r"\1.blocks.*", path), text) for path, text in lines)
    return [(*line, times) for line, times in Counter(folded).items()]


def proved_names(what: str, shape: Sequence[Axis]) -> list[str]:
    """Name the axes of a shape; NoFormulaError if one is not proved."""
    for axis in shape:
        if axis.proof != "proved":
            raise NoFormulaError(f"{what}: no formula gives {axis}.")
    return [axis.name for axis in shape]


class Needs(NamedTuple):
    """What a model needs at some sizes."""

    parameters: PathShapes
    flops: int
    activations: Bytes
    cache: PathShapes


def build_preset(
    config: Config,
    B: int,
    T: int,
    H: int,
    D: int,
    F: int,
    V: int,
    S: int = 0,
    src_vocab_size: int = 0,
    max_len: int = 0,
    n_layers: int = 2,
) -> Model:
    """Build a preset at any sizes, and ids for it: (B, S), (B, T), or those
    of a model that has no source."""
    config = replace(config, d_model=H * D, n_heads=H, d_ff=F, vocab_size=V)
    words = src_vocab_size or config.src_vocab_size
    sizes = {"max_len": max_len or max(S, T), "n_layers": n_layers}
    config = replace(config, src_vocab_size=words, **sizes)
    kind = EncoderDecoder if S else DecoderOnly
    ids = tuple(torch.zeros(B, n).long() for n in (S, T) if n)
    return kind(config).eval(), ids


def count_needs(model: nn.Module, *ids: Tensor) -> Needs:
    """Count all four."""
    return Needs(
        parameter_shapes(model),
        flops(model, *ids)[""].flops,
        activations(model, *ids),
        kept_by_cache(model, *ids),
    )


def activations(model: nn.Module, *ids: Tensor) -> Bytes:
    """List what training keeps for the way back, each storage once, without
    the parameters."""
    kept: dict[int, tuple[str, int]] = {}

    def keep(x: Tensor) -> Tensor:
        storage = x.untyped_storage()
        place = visits.now.path, storage.nbytes()
        kept.setdefault(storage.data_ptr(), place)
        return x

    hooks = saved_tensors_hooks(keep, lambda x: x)
    with torch.enable_grad(), Visits(model) as visits, hooks:
        model.train()(*ids)
    for weight in model.eval().parameters():
        kept.pop(weight.untyped_storage().data_ptr(), None)
    return list(kept.values())


def kept_by_cache(model: nn.Module, *ids: Tensor) -> PathShapes:
    """List the keys and the values that writing keeps."""
    keeper = cached(model)
    keeper(*ids)
    tensors = (
        (f"{path}.{name}", vars(part).get(name))
        for path, part in keeper.named_modules()
        for name in ("keys", "values")
    )
    return [(n, tuple(x.shape)) for n, x in tensors if isinstance(x, Tensor)]


def steps_of(record: Trace) -> list[dict[str, Any]]:
    """List the steps of a run with their shapes and FLOPs, without the
    checks of the input."""
    return steps_once(
        described_step(step.visit.path, row.call, row.outputs, work(step, row))
        for step, row in zip(record.steps, record.calls().rows)
        if Path(step.code.co_filename).stem != "checks"
    )


def described_step(
    path: str, call: str, shapes: Shapes, done: list[tuple[str, ...]]
) -> dict[str, Any]:
    """Write a step: its module, its line, its shapes and its FLOPs."""
    texts = [proved_names(path, shape) for shape in shapes]
    data = {"path": path, "call": call, "shapes": texts}
    sums = Formula([Line(path, axes, 1) for axes in done]).text
    return data | ({"flops": sums} if done else {})


def steps_once(steps: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """List equal blocks once; of a run of two blocks a stack."""
    blocks: list[list] = [[], []]
    once = []
    for step in steps:
        number = BLOCK.match(step["path"])
        if number:
            step["path"] = BLOCK.sub(r"\1.blocks.*", step["path"])
            blocks[int(number[2])].append(step)
        if not number or number[2] == "0":
            once.append(step | {"times": BLOCKS if number else 1})
    if blocks[0] != blocks[1]:
        raise NoFormulaError("the steps of two blocks differ.")
    return once


def own_sizes(name: str, config: Config) -> Sizes:
    """Give the sizes of a preset, and of the rows that its source reads: if
    it has none to be found, the running example's."""
    dims = running_dims(config)
    if name == "char_lm":
        dims |= {"B": AS_IN_SOURCE["batch_size"]}
        dims |= {"T": AS_IN_SOURCE["block_size"]}
        del dims["S"]
    if name == "paper_base":
        dims |= {"B": 1, "S": 200, "T": 200}  # what source 003 prints first
    if config.src_vocab_size:
        dims["src_vocab_size"] = config.src_vocab_size
    if config.positions == "learned":
        dims["max_len"] = config.max_len
    sizes = run_sizes(dims)
    chosen = {n: sizes[n] for n in LETTERS if n in sizes}
    return chosen | {"n_layers": config.n_layers}


def least_sizes(config: Config) -> Sizes:
    """Say how small a size may be: a vocabulary has an id for padding."""
    names = ["V"] + ["src_vocab_size"] * bool(config.src_vocab_size)
    return dict.fromkeys(names, config.pad + 1)


def preset_data(name: str) -> dict[str, Any]:
    """Say all that a page needs to know of a preset."""
    config = PRESETS[name]
    chosen = own_sizes(name, config)
    runs = probes([size for size in chosen if size != "n_layers"])
    models = [build_preset(config, **run, n_layers=BLOCKS) for run in runs]
    counts = [count_needs(model, *ids) for model, ids in models]
    dims = {**runs[0], **CHANNELS}
    dims.pop("max_len", None)  # no shape of a step has it
    record = trace(build=partial(build_preset, config), dims=dims)
    data = {"dims": {**chosen, **CHANNELS}, "layers": BLOCKS}
    data |= {"least": least_sizes(config), "steps": steps_of(record)}
    return data | formulas(Finder(runs), counts)


def formulas(finder: Finder, counts: list[Needs]) -> dict[str, Any]:
    """Write what was counted with the letters, equal blocks once."""
    texts = {}
    for what in "parameters", "activations", "cache":
        runs = [getattr(count, what) for count in counts]
        texts[what] = fold_blocks(finder.lines(what, runs))
    return texts


def text_of(data: dict[str, Any]) -> str:
    """Write it as JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    with torch.no_grad():
        every = {name: preset_data(name) for name in PRESETS}
        SIZES_FILE.write_text(text_of(every), "utf8")
